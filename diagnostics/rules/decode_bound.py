"""Per-token time is over its target with nothing waiting (S13, S20).

A decode step reads the weights once and the cache of every running sequence, so its time grows with the
batch. When the batch is admitted at once and still decodes too slowly, the batch itself is too large for the
target. Needs a reference: an SLO for the time a token, or the replica's own time at light load.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.engines import flags
from diagnostics.execute import courses, fleet, peers, words
from diagnostics.execute.facts import Facts, Mask
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Time a token at a large batch by that at light load (recordings without complaint: 2 and less).
SLOWER = 3.0
# s; text slower than this flows slower than people read (about 8 words a second), whatever the ratio.
READING_SECONDS = 0.1
# Running by its own p95: light load and large batch.
LIGHT, HEAVY = 0.25, 0.75
MIN_HEAVY = 4.0
MIN_GAPS = 500.0
# requests waiting on average; above it a queue has formed.
MAX_WAITING = 0.5
# Mean gap by median gap from which single long gaps, and so prefill, make the mean.
PREFILL_MEAN = 3.0
# The median must come so near to an SLO of a tail, else the tail alone is late.
NEAR = 0.5
_SIGNALS = {"itl": "itl", "tpot": "tpot"}


class Late(Struct, frozen=True):
    """A replica that decodes too slowly: seconds a token, the reference, and what the reference is."""

    replica: int
    signal: str
    stat: Stat
    seconds: float
    limit: float
    light: float


def evaluate(facts: Facts) -> Outcome:
    """Hold the time a token against an SLO, or against the replica's own light load."""
    clear = _clear(facts)
    asked = {n: v for n, v in facts.options.slo.items() if n.partition("_")[0] in _SIGNALS}
    if asked:
        late = [
            found
            for i in np.flatnonzero(clear)
            for n, v in asked.items()
            if (found := _over(facts, int(i), n, v))
        ]
        return Fired((_draft(facts, late),)) if late else Passed()
    pairs = {int(i): _bands(facts, int(i)) for i in np.flatnonzero(clear & facts.is_range())}
    known = {i: pair for i, pair in pairs.items() if pair is not None}
    late = [
        Late(i, "itl", Stat.HIST_MEAN, heavy, SLOWER * light, light)
        for i, (light, heavy) in known.items()
        if heavy >= SLOWER * light and heavy >= READING_SECONDS
    ]
    if late:
        return Fired((_draft(facts, late),))
    if known:
        return Passed()
    return Unanswered(
        Reason.OPTION_NOT_GIVEN,
        ("slo",),
        "give --slo itl_p50=50ms, or a window that holds light load as well",
    )


def _clear(facts: Facts) -> Mask:
    """Replicas without a queue, without preemption, without long stalls, and not slower than their peers."""
    mean, median = facts.hist_mean("itl"), facts.column("itl", Stat.HIST_P50)
    with np.errstate(invalid="ignore", divide="ignore"):
        stalled = mean / median >= PREFILL_MEAN
    clear = (
        ~(facts.column("waiting", Stat.MEAN) >= MAX_WAITING) & ~(facts.increase("preemptions") > 0) & ~stalled
    )
    slow = peers.slowest(facts, fleet.comparable(facts))
    if slow is not None and slow.ratio >= peers.SAME_WORK:
        clear[slow.replica] = False
    return np.asarray(clear)


def _over(facts: Facts, i: int, name: str, limit: float) -> Late | None:
    """Replica i against one SLO, or None where it is kept or its tail alone is late."""
    metric, _, word = name.partition("_")
    stat = {"p50": Stat.HIST_P50, "p90": Stat.HIST_P90, "p99": Stat.HIST_P99}.get(word, Stat.HIST_MEAN)
    value = float(facts.column(metric, stat)[i])
    typical = float(facts.column(metric, Stat.HIST_P50)[i])
    if not value > limit or typical < NEAR * limit or not facts.column("running", Stat.P90)[i] >= 2:
        return None
    return Late(i, metric, stat, value, limit, float("nan"))


def _bands(facts: Facts, i: int) -> tuple[float, float] | None:
    """Seconds a token at light load and at a large batch, nothing waiting; None where either is missing."""
    course = courses.course(facts, i)
    top = float(np.quantile(course.running, 0.95)) if len(course.running) else 0.0
    if top < MIN_HEAVY or np.isnan(course.gap_count).all():
        return None
    free = ~(course.waiting > 0)
    light, few = course.token_seconds(course.between(0.5, max(1.0, LIGHT * top)) & free)
    heavy, many = course.token_seconds(course.between(HEAVY * top, np.inf) & free)
    return (light, heavy) if few >= MIN_GAPS and many >= MIN_GAPS else None


def _draft(facts: Facts, late: list[Late]) -> Draft:
    hit = tuple(dict.fromkeys(found.replica for found in late))
    worst = max(late, key=lambda found: found.seconds / found.limit)
    name = facts.entities[worst.replica].label
    own = not np.isnan(worst.light)
    running = float(facts.column("running", Stat.P90)[worst.replica])
    reference = (
        f"{words.seconds(worst.light)} at light load" if own else f"a target of {words.seconds(worst.limit)}"
    )
    flag = flags.flag_for(facts.engine, facts.version, "concurrency-cap")
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=(
            f"Tokens come slowly on {words.replicas(facts, hit)}: {words.seconds(worst.seconds)} a token "
            f"against {reference}, with nothing waiting"
        ),
        explanation=(
            f"Up to {words.number(running)} requests run at once, none waits and none is preempted, so the "
            "scheduler has nothing to answer for. Each step reads the weights and the cache of every running "
            "sequence, and takes longer with each of them."
        ),
        evidence=(
            Evidence(worst.signal, worst.stat.value, round(worst.seconds, 4), "s", ">=" if own else ">",
                     round(worst.limit, 4), name, Provenance.MEASURED),
            facts.evidence(worst.replica, Request("waiting", Stat.MEAN), "<", MAX_WAITING),
        ),
        chart=ChartHint(("itl", "running", "waiting"), {"itl": worst.limit}),
        impact=Impact("every stream is slow", round(worst.seconds / worst.limit * (SLOWER if own else 1.0),
                                    2), "x the reference", "time a token by its reference"),
        remedies=(
            Remedy("Spread the load over more replicas, or lower the concurrency of bulk traffic here.", "now",
                   expected="time a token falls with the batch",
                   risk="the others run larger batches", undo="route as before"),
            Remedy("Lower the concurrency cap to the batch that meets the target; the "
                   "rest then queues.", "next-rollout", True, facts.engine, flag, None, None,
                   "time a token is bounded", "a queue at peak", "set the cap back"),
            Remedy("Fewer bytes a step (8-bit weights or cache where the GPU has them), tensor parallelism "
                   "within a fast link, or GPUs with more bandwidth.", "capacity-plan",
                   expected="the floor of a step falls", risk="quality, or cost"),
        ),
        do_not=("Do not raise the concurrency cap or the token budget: both lengthen the step.",),
        refuted_by="A token takes just as long with one request running, or requests wait.",
        margin=min(1.0, worst.seconds / worst.limit - 1),
        weakest=max(facts.resolution[worst.replica], Resolution.PAIR),
        verify=(Request("itl", Stat.HIST_P50), Request("running", Stat.MEAN), Request("waiting", Stat.MAX)),
        because="against its own light load" if own else "against the target given",
    )  # fmt: skip


RULE = Rule(
    code="SCH011",
    slug="decode-bound",
    title="Per-token time is over its target with nothing waiting",
    family="scheduler",
    concepts=("S13", "S20"),
    needs=(Need(("itl", "tpot")), Need(("waiting",))),
    evaluate=evaluate,
    support=Support.REPORT,
    full=Resolution.PAIR,
    thresholds={"time a token by light load": (SLOWER, "ratio"), "time a token": (READING_SECONDS, "s"),
                "requests waiting": (MAX_WAITING, "requests"),},
)  # fmt: skip
