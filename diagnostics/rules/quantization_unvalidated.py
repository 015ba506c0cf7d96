"""A quantized deployment without both halves of its validation (S16).

Quality must be compared with the full-precision model on the real task, and serving at production
concurrency. The inputs show that the weights are quantized and hold neither half, which is a reminder and no
fault: the record may lie elsewhere.
"""

from __future__ import annotations

from diagnostics.execute import bench_quantized, deployment
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Resolution

# Halves of the validation that these inputs hold; both are needed.
HALVES = 2.0


def evaluate(facts: Facts) -> Outcome:
    """Remind where the weights are quantized; rules on benchmarks judge the results of a comparison."""
    told = bench_quantized.outcome(facts)
    if told is not None:
        return told
    looked = False
    for i in range(facts.size):
        asked = deployment.weights_format(facts, i)
        if asked is not None:
            return Fired((_draft(facts, i, asked),))
        looked = looked or deployment.has_whole_configuration(facts, i)
    return (
        Passed()
        if looked
        else Unanswered(
            Reason.NOT_CONFIGURED, ("quantization",), "give the launch command or the start-up log"
        )
    )


def _draft(facts: Facts, i: int, asked: deployment.Format) -> Draft:
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=Window(None, None),
        summary=f"Weights are quantized ({asked.name}), and no comparison with full precision is among the "
                "inputs",
        explanation="Quantization can cost quality on some tasks and speed at some batch sizes. Neither half "
                    "of the proof replaces the other: the same tasks on both models, and both models under "
                    "the load of production.",
        evidence=(
            Evidence("halves of the validation", asked.where, 0.0, "results", "<", HALVES,
                     facts.entities[i].label, asked.provenance),
        ),
        chart=ChartHint(("itl", "generation_tokens")),
        impact=Impact("quality and speed against full precision are not known", None, "",
                      "nothing measured here"),
        remedies=(
            Remedy("Keep the full-precision replica warm, if there is one, and collect prompts whose "
                   "answers were complained of.",
                   "now", expected="a way back and a first test set", risk="cost of one replica"),
            Remedy("Before the next rollout run both halves: evaluations of your task, and a load test at "
                   "production concurrency, each against full precision; then a "
                   "canary.", "next-rollout", expected="the trade is known",
                   risk="GPU time"),
        ),
        do_not=("Do not take the publisher's scores for your task.",
                "Do not blame speculation for a change of quality: its verification is lossless (S26)."),
        refuted_by="Both comparisons are on record for this checkpoint, engine release and concurrency.",
        margin=1.0,
        weakest=Resolution.SNAPSHOT,
        verify=(Request("running", Stat.MAX), Request("itl", Stat.HIST_MEAN)),
        because="only the absence of results in these inputs speaks for it",
        confidence_cap=0.4,
    )  # fmt: skip


RULE = Rule(
    code="QNT004",
    slug="quantization-unvalidated",
    title="A quantized deployment without both halves of its validation",
    family="quantization",
    concepts=("S16",),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"halves of the validation": (HALVES, "results")},
)
