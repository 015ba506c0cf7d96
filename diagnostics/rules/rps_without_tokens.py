"""Requests per second reported without tokens or lengths (S06, S22).

One request may make 40 tokens, another 2,000, so requests per second say nothing of the work done. Not this where output
tokens, or the lengths they follow from, are in the result or its command.
"""

from __future__ import annotations

from diagnostics.execute import bench, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.samples import Resolution

# Figures of tokens or lengths in a result; none is the fault itself.
FIGURES = 1.0


def evaluate(facts: Facts) -> Outcome:
    """Remark on runs that give a request rate and nothing of tokens."""
    if not facts.runs:
        return bench.nothing()
    runs = bench.measured(facts)
    bare = [(r, s) for r in runs for s in bench.levels(r) if s.rps is not None and not _figures(r, s)]
    return Fired((_draft(facts, bare, len(runs)),)) if bare else Passed()


def _figures(run: BenchRun, step: BenchStep) -> int:
    """How many figures tell the work of a request."""
    rates = (step.output_tps, step.total_tps, step.input_tps, step.output_tokens, step.input_tokens)
    lengths = (
        run.input_len_spec,
        run.output_len_spec,
        step.stat("output_len", "mean"),
        step.stat("input_len", "mean"),
    )
    return sum(v is not None for v in (*rates, *lengths))


def _draft(facts: Facts, bare: list[tuple[BenchRun, BenchStep]], total: int) -> Draft:
    run, step = bare[0]
    runs = list({id(r): r for r, _ in bare}.values())
    rate = step.rps or 0.0
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Only requests per second are known of {bench.several(runs, total)} ({words.number(rate)}), not how much work "
        "a request is",
        explanation="Capacity of a language model follows output tokens per second. The same request rate can be light or "
        "beyond reach, depending on prompt and answer lengths, which this result does not have.",
        evidence=(bench.evidence(run, step, "figures of tokens or lengths", "count", 0.0, "figures", "<", FIGURES),),
        chart=ChartHint(("generation_tokens", "prompt_tokens"), {}),
        impact=Impact("the result cannot be compared with any other", None, "", "no token count"),
        remedies=(
            Remedy("Repeat the run with a token-aware load generator and report output tokens per second with the length "
                   "distribution.", "now", suggested="vllm bench serve --save-result --save-detailed",
                   expected="a rate of work instead of calls", risk="none for the server"),
        ),
        do_not=("Do not compare this rate with that of another model, data set or length.",),
        refuted_by="All requests of both sides have the same known lengths.",
        margin=1.0,
        weakest=Resolution.RANGE,
        because="tokens and lengths are absent",
    )  # fmt: skip


RULE = Rule(
    code="BEN004",
    slug="rps-without-tokens",
    title="Requests per second reported without tokens or lengths",
    family="benchmark",
    concepts=("S06", "S22"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"figures of tokens or lengths": (FIGURES, "figures")},
)
