"""Past the saturation knee: added load only waits (S13).

Beyond the knee more concurrency makes no more tokens; it waits in the scheduler's queue, and the wait lands in time to first
token. A symptom wherever its cause can be established. Not this while throughput still grows with load.
"""

from __future__ import annotations

import numpy as np

from diagnostics.execute import bench, bench_saturation, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.requests import Request, Stat
from diagnostics.signals.regimes import SATURATED

# ratio; the queue makes up most of the time to first token. Source: the meaning of the word.
QUEUE_SHARE = 0.5
# s; queues shorter than this are no trouble to anybody.
MIN_QUEUE_SECONDS = 0.5


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; a benchmark answers where that finds nothing or is not there."""
    return bench.either(facts, (Need(("waiting",)),), _from_metrics, bench_saturation.outcome)


def _from_metrics(facts: Facts) -> Outcome:
    """Fire where requests wait over a stretch and the wait dominates time to first token."""
    seconds = facts.seconds(*SATURATED)
    queue, total = facts.hist_mean("queue_time", "saturated"), facts.hist_mean("ttft", "saturated")
    waiting = facts.column("waiting", Stat.MEAN, "saturated")
    running = facts.column("running", Stat.MEAN, "saturated")
    hit = []
    for i in range(facts.size):
        if not words.matters(seconds[i], facts.courses[i].observed):
            continue
        known = not np.isnan(queue[i]) and total[i] > 0
        dominated = queue[i] >= max(QUEUE_SHARE * total[i], MIN_QUEUE_SECONDS)
        if dominated if known else waiting[i] >= running[i]:
            hit.append(i)
    return Fired((_draft(facts, tuple(hit)),)) if hit else Passed()


def _draft(facts: Facts, hit: tuple[int, ...]) -> Draft:
    worst = max(hit, key=lambda i: facts.courses[i].seconds(*SATURATED))
    window = facts.window(hit, *SATURATED)
    waiting = Request("waiting", Stat.MEAN, "saturated")
    queue = Request("queue_time", Stat.HIST_MEAN, "saturated")
    known = not np.isnan(facts.ask(queue)[worst])
    share = float(facts.ask(queue)[worst] / facts.hist_mean("ttft", "saturated")[worst]) if known else 0.5
    return Draft(
        severity=Severity.WARNING,
        role=Role.SYMPTOM,
        replicas=hit,
        window=window,
        summary=f"Added load only waits: {words.number(float(facts.ask(waiting)[worst]))} requests queue on average on "
        f"{words.replicas(facts, hit)} {words.held(window)}",
        explanation=(
            f"{words.queue_sentence(facts, worst, 'saturated')}"
            "Throughput is at what this server gives under its present limit, so every further request only lengthens the "
            "queue, and under open-loop load it never settles."
        ),
        evidence=(
            facts.evidence(worst, waiting, ">", 1.0),
            *((facts.evidence(worst, queue, ">=", MIN_QUEUE_SECONDS),) if known else ()),
        ),
        chart=ChartHint(("waiting", "generation_tokens", "queue_time", "ttft"), {}),
        impact=Impact(
            "time to first token is mostly waiting", None, "s", "mean queue time by mean time to first token"
        ),
        remedies=(
            Remedy(
                "Shed or route away load until the queue is gone.",
                "now",
                expected="time to first token falls to prefill alone",
                risk="shed requests fail fast",
                undo="restore the load",
            ),
            Remedy(
                "Then raise what limits it: see the cause, or add replicas for this load.",
                "capacity-plan",
                expected="the knee moves to a higher load",
            ),
        ),
        do_not=("Do not add client concurrency or retries: both only lengthen the queue.",),
        refuted_by="Tokens a second still grow when the load grows.",
        margin=(share - QUEUE_SHARE) / (1 - QUEUE_SHARE),
        verify=(queue, Request("ttft", Stat.HIST_MEAN), Request("waiting", Stat.MIN)),
        because="waiting dominates",
    )


RULE = Rule(
    code="SCH005",
    slug="past-saturation-knee",
    title="Past the saturation knee: added load only waits",
    family="scheduler",
    concepts=("S13",),
    needs=(),
    evaluate=evaluate,
    thresholds={
        "queue time by time to first token": (QUEUE_SHARE, "ratio"),
        "queue time": (MIN_QUEUE_SECONDS, "s"),
    },
)
