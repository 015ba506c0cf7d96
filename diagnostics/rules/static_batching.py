"""The batch drains before new work is admitted (S01).

A static batch is formed, run to its longest answer and then replaced as a whole, so seats stand empty while
requests wait. Continuous batching fills a seat at the next step. Not this for bursts of traffic with nothing
waiting, nor where a full cache or a missing adapter keeps requests out.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import courses, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.regimes import KV_SPARE

# Requests at the top of a wave, below which "near zero" means nothing.
MIN_TOP = 4.0
# Running by its top: drained and full.
LOW, HIGH = 0.25, 0.75
# Waves seen, so that a chance dip is none.
MIN_WAVES = 3
# Share of the time in which requests wait beside at least half of the seats empty (continuous batching: about
# 0).
EMPTY_SHARE = 0.2
# Share of the falling scrapes at which requests wait: work is there and is not let in.
WAITING_SHARE = 0.8


class Waves(Struct, frozen=True):
    """Refills, top of running, share of time with empty seats beside a queue, that queue, idle seats."""

    count: int
    top: float
    empty: float
    waiting_low: float
    idle_seats: float


def evaluate(facts: Facts) -> Outcome:
    """Fire where running drains with requests waiting and refills together, again and again."""
    suspects = facts.is_range() & (facts.column("running", Stat.MAX) >= MIN_TOP)
    suspects &= facts.column("waiting", Stat.MAX) >= 1
    suspects &= facts.share(Regime.PREEMPTING, Regime.DOWN, Regime.KV_MEMORY) < words.MIN_STRETCH_SHARE
    found = {
        int(i): w for i in np.flatnonzero(suspects) if (w := waves(courses.course(facts, int(i)))) is not None
    }
    return Fired((_draft(facts, found),)) if found else Passed()


def waves(course: courses.Course) -> Waves | None:
    """The waves in a course; None where it is no sawtooth with requests waiting at its low points."""
    running, waiting = course.running, course.waiting
    top = float(np.quantile(running, 0.95))
    if top < MIN_TOP or np.isnan(waiting).all():
        return None
    held = waiting >= 1
    level = np.where(running >= HIGH * top, 1, np.where((running <= LOW * top) & held, -1, 0))
    marks = level[level != 0]
    count = int(((marks[1:] == 1) & (marks[:-1] == -1)).sum())
    half_empty = running <= top / 2
    falling = np.append(np.diff(running) < 0, False) & (running < HIGH * top)
    empty = float((half_empty & held).mean())
    spare = not np.nanmax(np.append(course.kv[half_empty & held], 0.0)) >= KV_SPARE
    closed = not falling.any() or float(held[falling].mean()) >= WAITING_SHARE
    if count < MIN_WAVES or empty < EMPTY_SHARE or not spare or not closed:
        return None
    low = half_empty & held
    return Waves(count, top, empty, float(waiting[low].mean()), float(1 - running[held].mean() / top))


def _draft(facts: Facts, found: dict[int, Waves]) -> Draft:
    hit = tuple(found)
    worst = max(hit, key=lambda i: found[i].empty)
    seen = found[worst]
    name = facts.entities[worst].label
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, seen.empty),
        summary=(
            f"The batch drains before new work comes in on {words.replicas(facts, hit)}: running fell from "
            f"about {words.number(seen.top)} to near zero and refilled {seen.count} times, with "
            f"{words.number(seen.waiting_low)} requests waiting at the low points"
        ),
        explanation=(
            f"In {words.percent(seen.empty)} of the time at least half of the seats were empty while "
            "requests waited, with room in the KV cache. An engine that batches continuously fills a seat at "
            "the next step. So something hands work over in batches: a wrapper around an offline call, a "
            "batcher in front, or a server without in-flight batching. Each seat waits for the longest "
            "answer of its batch."
        ),
        evidence=(
            Evidence("running", "refills after a drain", float(seen.count), "events", ">=", float(MIN_WAVES),
                     name, Provenance.MEASURED),
            Evidence("running", "share of time half empty with requests waiting", round(seen.empty, 3),
                     "ratio", ">=", EMPTY_SHARE, name, Provenance.MEASURED),
        ),
        chart=ChartHint(("running", "waiting", "kv_usage"), {"running": seen.top}),
        impact=Impact(f"{words.percent(seen.idle_seats)} of seat time is empty while requests wait",
                      round(seen.idle_seats, 2), "ratio", "mean running by its top, while requests wait"),
        remedies=(
            Remedy("Let clients send to the engine's own endpoint instead of the wrapper, or send the "
                   "next request whenever one ends.", "now",
                   expected="running stays near its top", risk="clients see errors one by one",
                   undo="send through the wrapper again"),
            Remedy("Serve with continuous batching: a server instead of an offline call, "
                   "in-flight batching in the model server, no batcher in front.", "next-rollout", True,
                   expected="seats refill at each step; throughput grows with the spread of answer lengths",
                   risk="timeouts and errors are now one a request", undo="the old service"),
        ),
        do_not=("Do not enlarge the batch: the longest answer of a larger batch is longer still.",),
        refuted_by="Nothing waits while running is low, or requests are let in while others still run.",
        margin=min(1.0, seen.empty / EMPTY_SHARE - 1),
        verify=(Request("running", Stat.MIN), Request("running", Stat.MAX), Request("waiting", Stat.MIN)),
        explains=("past-saturation-knee", "cap-throttled"),
        because="the same wave again and again, with requests waiting in each low",
    )  # fmt: skip


RULE = Rule(
    code="SCH007",
    slug="static-batching",
    title="The batch drains before new work is admitted",
    family="scheduler",
    concepts=("S01",),
    needs=(Need(("running",), at_least=Resolution.RANGE), Need(("waiting",), at_least=Resolution.RANGE)),
    evaluate=evaluate,
    support=Support.REPORT,
    thresholds={"refills after a drain": (float(MIN_WAVES), "events"), "time half empty with requests "
                "waiting": (EMPTY_SHARE, "ratio"),},
)  # fmt: skip
