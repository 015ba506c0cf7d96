"""Two runs side by side for a page: every figure at every load they share, with the interval of their ratio."""

from __future__ import annotations

import math

import numpy as np

from diagnostics.execute import bench, bench_compare, bench_pairs
from diagnostics.execute.facts import Facts
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.bench_view import Compared, Comparison

_UNITS = {"output_tps": "tokens/s"}
_MOST = 6


def comparisons(facts: Facts) -> list[Comparison]:
    """Runs against the named baseline, else upgrades by date, else pairs that differ in speculation or weights."""
    runs = bench.sides(facts)
    before, after = [r for r in runs if bench.BASELINE in r.extra], bench.measured(facts)
    ordered = [(a, b, "baseline") for a in before for b in after]
    ordered = ordered or [(a, b, "engine release") for a, b in bench_compare.upgrades(after)]
    if not ordered:
        ordered = [(p.a, p.b, "speculation") for p in bench_pairs.speculating(runs)]
        quantized = bench_pairs.pairs(
            runs, bench_pairs.is_sixteen_bit, bench_pairs.is_weight_only, ("weight_format", "model")
        )
        ordered += [(p.a, p.b, "weights") for p in quantized]
    found = [c for a, b, about in ordered if (c := _compare(a, b, about)) is not None]
    return sorted(found, key=lambda c: (len(c.others), -len(c.rows)))[:_MOST]


def _compare(a: BenchRun, b: BenchRun, about: str) -> Comparison | None:
    rows = [
        Compared(c.metric, _UNITS.get(c.metric, "s"), bench.load(early[0]), c.a, c.b, _interval(c.metric, early, late), c.noise)
        for early, late in bench_compare.matched(a, b)
        for c in bench_compare.changes(early, late)
    ]  # fmt: skip
    others = tuple(d.replace("_", " ") for d in bench_compare.differences(a, b))
    return Comparison(bench.name(a), bench.name(b), about, tuple(rows), others) if rows else None


def _interval(metric: str, early: list[BenchStep], late: list[BenchStep]) -> tuple[float, float] | None:
    """95 % interval of B by A: over repeats by their spread, else over single requests by resampling."""
    sides = [_repeats(metric, side) for side in (early, late)]
    if min(map(len, sides)) >= bench_compare.MIN_REPEATS:
        a, b = (float(np.mean(x)) for x in sides)
        error = math.hypot(*(np.std(x, ddof=1) / math.sqrt(len(x)) / np.mean(x) for x in sides))
        return b / a * (1 - 2 * error), b / a * (1 + 2 * error)
    rows = [
        bench.column((r for s in side for r in bench.answered(s)), f"{metric}_s")
        if metric != "output_tps"
        else np.empty(0)
        for side in (early, late)
    ]
    if min(map(len, rows)) < bench_compare.MIN_REQUESTS:
        return None
    a_drawn, b_drawn = (bench.resample(x, lambda v: float(np.median(v))) for x in rows)
    low, high = np.quantile(b_drawn / np.roll(a_drawn, 1), [0.025, 0.975])
    return float(low), float(high)


def _repeats(metric: str, side: list[BenchStep]) -> list[float]:
    if metric == "output_tps":
        return [s.output_tps for s in side if s.output_tps]
    return [v for s in side if (v := bench.central(s, metric))]
