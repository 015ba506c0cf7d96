"""Where the knee of a sweep lies: the interval between two tested loads, and the highest load that meets the SLOs.

An open-loop level keeps up when it serves what was sent and its latency stays near that of light load. In a closed loop there
is no rate: the knee is where doubling the open requests no longer adds a tenth of output; where that leaves no more than one
load past it, a seventh.
"""

from __future__ import annotations

import math
import statistics

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench
from diagnostics.model.bench import BenchRun, BenchStep

# Load levels from which a knee is looked for, and from which its interval is more than a hint.
MIN_LEVELS, SURE_LEVELS = 3, 5
# Served by sent below which a level does not keep up; arrivals at random scatter by the root of their number.
SERVED_SHARE = 0.95
SCATTER = 2.0
# Latency by that of light load beyond which requests wait, and seconds it must add to be felt.
LATENCY_RATIO = 3.0
ADDED_SECONDS = 0.25
# Output that doubling the open requests must add, the strict limit first; loads past a knee from which the strict one is
# enough; and latency growth that shows that the rest only waits.
DOUBLING_GAINS = (0.1, 0.15)
MIN_PAST = 2
CLOSED_LATENCY_RATIO = 1.5
# A single run: served by offered far below one, and mean wait by the time the run went on after the last request was sent
# (a queue that grows evenly makes it a half).
FAR_BELOW = 0.8
WAIT_SHARE = 0.25
MIN_SINGLE = 20


class Level(Struct, frozen=True):
    """One load of a sweep; repeats are one level at their median.

    ``load`` is requests per second or open requests, ``rate`` output per second.
    """

    load: float
    steps: tuple[BenchStep, ...]
    rate: float | None

    @property
    def step(self) -> BenchStep:
        """The first of the repeats."""
        return self.steps[0]

    def latency(self, metric: str, stat: str) -> float | None:
        """A statistic at the median of the repeats, None where the file lacks it."""
        found = [v for s in self.steps if (v := s.stat(metric, stat)) is not None]
        return statistics.median(found) if found else None


class Knee(Struct, frozen=True):
    """The last load that keeps up and the first that does not.

    ``good`` is None where the lightest load tried is past the knee already. ``agreement`` is the share of resamples of the
    requests in which the first bad level is past the knee, NaN without requests. ``outliers`` are loads that did not keep up
    although a higher one did, ``gain`` the output that doubling the open requests had to add.
    """

    run: BenchRun
    kind: str
    levels: tuple[Level, ...]
    good: Level | None
    bad: Level
    ratio: float
    agreement: float
    outliers: tuple[float, ...] = ()
    gain: float = DOUBLING_GAINS[0]

    @property
    def past(self) -> int:
        """Loads past the knee."""
        return sum(level.load >= self.bad.load for level in self.levels)

    @property
    def unit(self) -> str:
        """What the load is counted in."""
        return "requests/s" if self.kind == "open" else "open requests"


def of_run(run: BenchRun) -> Knee | None:
    """The knee of a sweep; None where there are too few levels, or all keep up."""
    rated = open_levels(run)
    if len(rated) >= MIN_LEVELS:
        return _open(run, rated)
    capped = closed_levels(run)
    return _closed(run, capped) if len(capped) >= MIN_LEVELS else None


def open_levels(run: BenchRun) -> list[Level]:
    """Loads of a sweep over the request rate, lightest first."""
    return _levels([s for s in bench.served(run) if s.load_mode in ("open", "open-capped")], "requested_rps")


def closed_levels(run: BenchRun) -> list[Level]:
    """Loads of a sweep over the number of open requests, lightest first."""
    paced = [s for s in bench.served(run) if s.requested_rps is None and s.load_mode != "burst"]
    return _levels(paced, "concurrency_cap")


def sweeps(runs: list[BenchRun]) -> list[BenchRun]:
    """Runs with enough levels for a knee."""
    found = []
    for run in runs:
        served = bench.served(run)
        loads = {s.requested_rps for s in served} | {
            s.concurrency_cap for s in served if s.requested_rps is None
        }
        if len(loads - {None}) >= MIN_LEVELS:
            found.append(run)
    return found


def _levels(steps: list[BenchStep], field: str) -> list[Level]:
    grouped: dict[float, list[BenchStep]] = {}
    for step in steps:
        load = getattr(step, field)
        if load:
            grouped.setdefault(float(load), []).append(step)
    found = []
    for load, members in sorted(grouped.items()):
        rates = [r for s in members if (r := bench.output_rate(s)) is not None]
        found.append(Level(load, tuple(members), statistics.median(rates) if rates else None))
    return found


def _open(run: BenchRun, levels: list[Level]) -> Knee | None:
    light = next((v for x in ("max", "p99", "mean") if (v := levels[0].latency("e2e", x))), 0.0)
    late = [False, *(_waits(levels[:i], level) > LATENCY_RATIO for i, level in enumerate(levels) if i)]
    bad = [late[i] or not _keeps_up(level.step, light) for i, level in enumerate(levels)]
    if not bad[-1]:
        return None
    first = len(bad) - bad[::-1].index(False) if False in bad else 0
    outliers = tuple(levels[i].load for i in range(first) if bad[i])
    good = levels[first - 1] if first else None
    ratio = _waits(levels[:first], levels[first]) if first else math.nan
    agreement = _agreement(levels[0], levels[first]) if first else math.nan
    return Knee(run, "open", tuple(levels), good, levels[first], ratio, agreement, outliers)


def _waits(lighter: list[Level], level: Level) -> float:
    """The largest latency of a level by the least of the lighter ones, where it adds enough to be felt."""
    worst = 0.0
    for metric in ("ttft", "e2e"):
        for stat in ("p50", "mean"):
            here = level.latency(metric, stat)
            below = [v for x in lighter if (v := x.latency(metric, stat))]
            if here is not None and below and here - min(below) >= ADDED_SECONDS:
                worst = max(worst, here / min(below))
    return worst


def _keeps_up(step: BenchStep, light: float) -> bool:
    """Whether a level served what was sent: N requests need the time to send them and that of the last answer."""
    n, rate, served = step.completed, step.requested_rps, step.rps
    if served is None or not rate:
        return True
    if not n:
        return served >= SERVED_SHARE * rate
    starts = bench.column(bench.answered(step), "start_s")
    sending = float(np.ptp(starts)) if len(starts) > 1 else n / rate
    scatter = SCATTER / math.sqrt(n) if len(starts) < 2 and step.arrival != "constant" else 0.0
    return served >= (SERVED_SHARE - scatter) * n / (sending + light)


def _agreement(light: Level, bad: Level) -> float:
    """Share of resamples of the requests in which the bad level's mean first token waits by the threshold."""
    sides = [bench.column(bench.answered(x.step), "ttft_s") for x in (light, bad)]
    if min(map(len, sides)) < 2:
        return math.nan
    low, high = (bench.resample(v, lambda x: float(np.mean(x))) for v in sides)
    return float(np.mean(high > LATENCY_RATIO * low))


def _closed(run: BenchRun, levels: list[Level]) -> Knee | None:
    known = [x for x in levels if x.rate is not None]
    if len(known) < MIN_LEVELS:
        return None
    found = [k for gain in DOUBLING_GAINS if (k := _flattens(run, known, gain)) is not None]
    return max(found, key=lambda k: min(k.past, MIN_PAST), default=None)


def _flattens(run: BenchRun, levels: list[Level], gain: float) -> Knee | None:
    for i, level in enumerate(levels[:-1]):
        rest = levels[i + 1 :]
        if rest[-1].load < 2 * level.load or not all(_flat(level, x, gain) for x in rest):
            continue
        if _is_dip(level, rest, gain):
            continue
        grown = _growth(level, rest[-1])
        if grown >= CLOSED_LATENCY_RATIO:
            return Knee(run, "closed", tuple(levels), level, rest[0], grown, math.nan, gain=gain)
    return None


def _is_dip(level: Level, rest: list[Level], gain: float) -> bool:
    """Whether output falls and a load above makes more than before again: one odd level, and no end."""
    rates = [x.rate or 0.0 for x in rest]
    lowest = rates.index(min(rates))
    before = level.rate or 0.0
    return rates[lowest] < before and max(rates[lowest:]) > (1 + gain) * before


def _flat(level: Level, higher: Level, gain: float) -> bool:
    """Whether the higher load brings less than the gain a doubling."""
    return gain_a_doubling(level, higher) <= gain


def gain_a_doubling(level: Level, higher: Level) -> float:
    """Output that each doubling of the load adds, as a ratio."""
    doublings = math.log2(higher.load / level.load)
    return float(((higher.rate or 0.0) / (level.rate or math.inf)) ** (1 / doublings)) - 1


def _growth(level: Level, higher: Level) -> float:
    """Latency at the higher load by that at the level; by Little's law where the file has no latency."""
    for metric in ("e2e", "ttft", "tpot"):
        for stat in ("p50", "mean"):
            one, other = level.latency(metric, stat), higher.latency(metric, stat)
            if one and other:
                return other / one
    return (higher.load / level.load) * ((level.rate or 0.0) / higher.rate) if higher.rate else math.nan


def far_above(run: BenchRun) -> list[BenchStep]:
    """Levels whose offered rate is far above what is served while first tokens wait in a growing queue."""
    found = []
    for step in bench.served(run):
        n, rate, served, duration = step.completed, step.requested_rps, step.rps, step.duration_s
        wait = step.stat("ttft", "mean") or step.stat("ttft", "p50")
        if None in (n, rate, served, duration, wait) or step.load_mode != "open":
            continue
        assert n and rate and served and duration and wait  # noqa: S101  for the type checker; zero was refused above
        after = duration - n / rate
        if n >= MIN_SINGLE and served <= FAR_BELOW * rate and after > 0 and wait >= WAIT_SHARE * after:
            found.append(step)
    return found


def meets(step: BenchStep, slo: dict[str, float]) -> bool | None:
    """Whether a level meets every SLO; None where the file lacks one of the statistics."""
    for name, limit in slo.items():
        metric, _, stat = name.partition("_")
        value = step.stat({"itl": "tpot"}.get(metric, metric), stat or "mean")
        if value is None:
            return None
        if value > limit:
            return False
    return True


def goodput(levels: tuple[Level, ...], slo: dict[str, float]) -> Level | None:
    """The highest load up to which every level meets the SLOs; None where not even the lightest does."""
    best = None
    for level in levels:
        if not all(meets(s, slo) for s in level.steps):
            break
        best = level
    return best
