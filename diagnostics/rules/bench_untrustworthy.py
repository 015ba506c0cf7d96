"""Too short, failing, or limited by the client (S21, S22).

A percentile needs requests behind it, a rate needs time, and both need a client that sends what it was told to. Requests that
failed are missing from every latency. Not said of offline batches and single streams, whose length is chosen otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench, bench_knee, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.samples import Resolution

# Failed by sent; a healthy run has none. A hundredth already moves every percentile above p99.
FAILED_SHARE = 0.01
# Requests behind a p99: below, it is one or none of them.
MIN_FOR_P99 = 100
# Requests by concurrency: with fewer, start and end are most of the run.
ROUNDS = 10
# s; shorter runs are mostly ramp-up and tail.
MIN_SECONDS = 30.0
# s; a client that sends so late does not offer the rate it was told to.
LATE_SECONDS = 0.1
# First-token time of the first tenth of a run by that of the rest, and s: a start-up lies inside.
STARTUP_RATIO = 10.0
STARTUP_SECONDS = 2.0
OPENING_SHARE = 0.1
MIN_OPENING = 5
# Share of load levels with a weakness of size; the lightest level of a sweep is always small.
WEAK_SHARE = 0.5


# Output of a level by that of a lighter and of a heavier one, below which it is a broken point and no load level.
ODD_SHARE = 0.5


class Flaw(Struct, frozen=True):
    """One reason to distrust a level."""

    kind: str
    sentence: str
    evidence: Evidence


def evaluate(facts: Facts) -> Outcome:
    """Collect flaws of every level; small levels count only where they are most of a run."""
    if not facts.runs:
        return bench.nothing()
    runs = [r for r in bench.measured(facts) if r.steps]
    found = [(r, flaws) for r in runs if (flaws := _flaws(r))]
    return Fired((_draft(facts, found, len(runs)),)) if found else Passed()


def _flaws(run: BenchRun) -> list[Flaw]:
    levels, served = bench.levels(run), bench.served(run)
    broken = [f for s in run.steps if (f := _failed(run, s))]
    broken += [f for s in served for check in (_late, _startup) if (f := check(run, s))]
    checks: tuple[Callable[[BenchRun, BenchStep], Flaw | None], ...] = (_few, _rounds, _short)
    broken += _odd(run)
    small = [[f for check in (checks if s in served else checks[:1]) if (f := check(run, s))] for s in levels]
    weak = [fs for fs in small if fs]
    if levels and len(weak) >= WEAK_SHARE * len(levels):
        broken += [f for fs in weak for f in fs]
    return broken


def _failed(run: BenchRun, step: BenchStep) -> Flaw | None:
    failed, done = step.failed or 0, step.completed or 0
    if not failed or failed < FAILED_SHARE * (failed + done):
        return None
    share = failed / (failed + done)
    said = f"{words.number(failed)} of {words.number(failed + done)} requests failed"
    return Flaw(
        "failed",
        said,
        bench.evidence(run, step, "failed requests", "share", share, "ratio", ">=", FAILED_SHARE),
    )


def _late(run: BenchRun, step: BenchStep) -> Flaw | None:
    delay = step.schedule_delay_p99_s
    if delay is not None and delay >= LATE_SECONDS:
        number = bench.evidence(run, step, "delay of sending", "p99", delay, "s", ">=", LATE_SECONDS)
        return Flaw("late", f"the client sent up to {words.seconds(delay)} late", number)
    if step.client_limited:
        number = bench.evidence(run, step, "client-limited arrival", "flag", 1.0, "0/1", ">=", 1.0)
        return Flaw("late", "the client did not send at the rate it was told to", number)
    return None


def _startup(run: BenchRun, step: BenchStep) -> Flaw | None:
    """First tokens of the opening against the rest: a cold server inside the measurement."""
    rows = [r for r in bench.answered(step) if r.start_s is not None and r.ttft_s is not None]
    if len(rows) < MIN_FOR_P99:
        return None
    starts, ttft = bench.column(rows, "start_s"), bench.column(rows, "ttft_s")
    first = starts <= starts[0] + OPENING_SHARE * (starts[-1] - starts[0])
    if not MIN_OPENING <= first.sum() < len(rows) / 2:
        return None
    early, usual = float(np.median(ttft[first])), float(np.median(ttft[~first]))
    if early < STARTUP_SECONDS or early < STARTUP_RATIO * usual:
        return None
    said = f"first tokens took {words.seconds(early)} at the start and {words.seconds(usual)} later"
    number = bench.evidence(run, step, "ttft", "opening by rest", early / usual, "ratio", ">=", STARTUP_RATIO)
    return Flaw("start-up", said, number)


def _odd(run: BenchRun) -> list[Flaw]:
    """Levels of a closed loop that make far less than a lighter one although a heavier one makes more again."""
    levels = [x for x in bench_knee.closed_levels(run) if x.rate]
    found = []
    for i, level in enumerate(levels):
        around = [max((x.rate or 0.0 for x in side), default=0.0) for side in (levels[:i], levels[i + 1 :])]
        share = (level.rate or 0.0) / min(around) if min(around) else 1.0
        if share < ODD_SHARE:
            said = f"at {level.load:g} open requests it makes {words.percent(share)} of what lower and higher loads make"
            number = bench.evidence(run, level.step, "output by that of lighter and heavier load", "ratio", share, "ratio",
                                    "<", ODD_SHARE)  # fmt: skip
            found.append(Flaw("odd", said, number))
    return found


def _few(run: BenchRun, step: BenchStep) -> Flaw | None:
    claims = any(x.stat.startswith("p99") for x in step.stats if x.metric in ("ttft", "e2e", "tpot"))
    if not claims or step.completed is None or not 0 < step.completed < MIN_FOR_P99:
        return None
    number = bench.evidence(
        run, step, "requests behind a p99", "count", step.completed, "requests", "<", MIN_FOR_P99
    )
    return Flaw("few", f"a p99 rests on {words.number(step.completed)} requests", number)


def _rounds(run: BenchRun, step: BenchStep) -> Flaw | None:
    cap, done = step.concurrency_cap, step.completed
    if not cap or not done or step.load_mode != "closed" or done >= ROUNDS * cap:
        return None
    number = bench.evidence(run, step, "requests by concurrency", "ratio", done / cap, "ratio", "<", ROUNDS)
    return Flaw(
        "rounds", f"{words.number(done)} requests are {done / cap:.1f} rounds at concurrency {cap}", number
    )


def _short(run: BenchRun, step: BenchStep) -> Flaw | None:
    if step.duration_s is None or not 0 < step.duration_s < MIN_SECONDS:
        return None
    number = bench.evidence(run, step, "duration", "whole run", step.duration_s, "s", "<", MIN_SECONDS)
    return Flaw("short", f"it lasted {words.seconds(step.duration_s)}", number)


def _draft(facts: Facts, found: list[tuple[BenchRun, list[Flaw]]], total: int) -> Draft:
    flaws = [f for _, fs in found for f in fs]
    first = list({f.kind: f for f in reversed(flaws)}.values())[::-1]
    hard = any(f.kind in ("failed", "late", "start-up", "odd") for f in flaws)
    which = bench.several([r for r, _ in found], total)
    said = "; ".join(f.sentence for f in first[:3])
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE if hard else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Do not rely on {which}: {said}",
        explanation="Latencies are taken over the requests that ended well, so failures hide behind them. A p99 of less than a "
        "hundred requests is its slowest one, a short run is mostly its own start and end, and a client that sends late "
        "measures itself.",
        evidence=tuple(f.evidence for f in first[:6]),
        chart=ChartHint(("ttft", "running"), {}),
        impact=Impact("the figures may be off by any amount", None, "", f"{len(flaws)} weaknesses in {which}"),
        remedies=(
            Remedy("Repeat the run for at least a minute with ten requests or more per open connection and a warm-up before it; "
                   "look into failures first.", "now", flag="--num-prompts",
                   suggested="1000, with --num-warmups 50 (vllm bench serve)", expected="percentiles that hold when repeated",
                   risk="load on the server for longer"),
        ),
        do_not=("Do not compare this run with another one until both are long enough and free of failures.",),
        refuted_by="A repeat of the same run gives the same figures within a few percent.",
        margin=1.0 if hard else 0.5,
        weakest=Resolution.RANGE,
        because="the result's own counts",
    )  # fmt: skip


RULE = Rule(
    code="BEN005",
    slug="bench-untrustworthy",
    title="Too short, failing, or limited by the client",
    family="benchmark",
    concepts=("S21", "S22"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={
        "failed by sent": (FAILED_SHARE, "ratio"),
        "requests behind a p99": (MIN_FOR_P99, "requests"),
        "requests by concurrency": (ROUNDS, "ratio"),
        "duration": (MIN_SECONDS, "s"),
        "delay of sending": (LATE_SECONDS, "s"),
        "first tokens at the start by later ones": (STARTUP_RATIO, "ratio"),
        "output by that of lighter and heavier load": (ODD_SHARE, "ratio"),
    },
)
