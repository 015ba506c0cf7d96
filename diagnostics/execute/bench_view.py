"""Lays benchmark runs out for a page: curves with their knee, the Pareto front, distributions, timelines, cost."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

import numpy as np

from diagnostics.capacity.cost import usd_per_million
from diagnostics.execute import bench, bench_cost, bench_knee, bench_replay
from diagnostics.execute.bench_knee import Level
from diagnostics.execute.bench_realism import scorecard
from diagnostics.execute.bench_sides import comparisons
from diagnostics.execute.facts import Facts
from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.model.bench_view import (
    BenchView,
    CostRow,
    Curve,
    CurvePoint,
    Distribution,
    ParetoPoint,
    Timeline,
)

# More than so many are not shown one by one; those with the most levels come first.
MOST_CURVES, MOST_CARDS, MOST_LEVELS, MOST_TIMELINES = 12, 6, 4, 4
# Requests of a timeline; more would be one black area.
MOST_REQUESTS = 600
_SHARES = (
    {"min": 0.0, "max": 1.0}
    | {f"p{n}": n / 100 for n in (1, 5, 10, 25, 50, 75, 90, 95, 99)}
    | {"p999": 0.999}
)
_METRICS = ("ttft", "tpot", "e2e")
_GRID = np.array([0.0, 0.05, *np.arange(0.1, 0.95, 0.1), 0.95, 0.98, 0.99, 0.995, 1.0])
_TTFT = re.compile(r"^ttft_(.+)$")


def bench_view(facts: Facts) -> BenchView:
    """Everything that a page shows of benchmarks; without a result only the command that makes one."""
    runs = sorted((r for r in bench.measured(facts) if bench.levels(r)), key=lambda r: -len(bench.levels(r)))
    return BenchView(
        runs=len(runs),
        curves=tuple(_curves(facts, runs))[:MOST_CURVES],
        pareto=_pareto(runs),
        distributions=tuple(d for r in runs[:MOST_CARDS] for d in _distributions(r)),
        timelines=tuple(_timelines(runs)),
        comparisons=tuple(comparisons(facts)),
        scorecards=tuple(scorecard(facts, r) for r in runs[:MOST_CARDS]),
        costs=tuple(row for r in runs[:MOST_CARDS] for row in _costs(facts, r)),
        command=bench_replay.command(facts, runs[0].model if runs else None),
    )


def _curves(facts: Facts, runs: list[BenchRun]) -> Iterator[Curve]:
    slo = facts.options.slo
    for run in runs:
        opened, closed = bench_knee.open_levels(run), bench_knee.closed_levels(run)
        levels, unit = (opened, "requests/s") if len(opened) >= len(closed) else (closed, "open requests")
        if len(levels) < bench_knee.MIN_LEVELS:
            continue
        knee = bench_knee.of_run(run)
        met = bench_knee.goodput(tuple(levels), slo) if slo else None
        limit = next((v for k, v in slo.items() if _TTFT.match(k)), None)
        counted = any(s.output_tps or s.total_tps for x in levels for s in x.steps)
        yield Curve(
            bench.name(run), unit, "tokens/s" if counted else "requests/s", tuple(_point(x) for x in levels),
            knee.good.load if knee and knee.good else None, knee.bad.load if knee else None,
            met.load if met else None, limit,
        )  # fmt: skip


def _point(level: Level) -> CurvePoint:
    def middle(metric: str) -> float | None:
        value = level.latency(metric, "p50")
        return value if value is not None else level.latency(metric, "mean")

    return CurvePoint(
        level.load, level.rate, middle("ttft"), level.latency("ttft", "p99"), middle("tpot"), middle("e2e")
    )


def _pareto(runs: list[BenchRun]) -> tuple[ParetoPoint, ...]:
    """Levels with a known number of GPUs; a level is best where no other one is at least as good at both."""
    raw = [
        (run, step, 1 / tpot, rate / gpus)
        for run in runs
        if (gpus := bench_cost.gpus_of(run))
        for step in bench.served(run)
        if (tpot := bench.central(step, "tpot")) and (rate := step.output_tps)
    ]
    front, top = set(), -math.inf
    for i in sorted(range(len(raw)), key=lambda i: (-raw[i][2], -raw[i][3])):
        if raw[i][3] > top:
            front.add(i)
            top = raw[i][3]
    return tuple(
        ParetoPoint(bench.name(run), bench.load(step), user, gpu, i in front)
        for i, (run, step, user, gpu) in enumerate(raw)
    )


def _distributions(run: BenchRun) -> Iterator[Distribution]:
    """The lightest and heaviest levels and some between."""
    steps = bench.served(run)
    if len(steps) > MOST_LEVELS:
        steps = [steps[round(i)] for i in np.linspace(0, len(steps) - 1, MOST_LEVELS)]
    for step in steps:
        for metric in _METRICS:
            quantiles = _quantiles(step, metric)
            if len(quantiles) > 1:
                yield Distribution(bench.name(run), bench.load(step) or "one load", metric, quantiles)


def _quantiles(step: BenchStep, metric: str) -> tuple[tuple[float, float], ...]:
    values = bench.column(bench.answered(step), f"{metric}_s")
    if len(values) > len(_GRID):
        return tuple(zip(_GRID.tolist(), np.quantile(values, _GRID).tolist(), strict=True))
    known = {_SHARES[s.stat]: s.value for s in step.stats if s.metric == metric and s.stat in _SHARES}
    return tuple(sorted(known.items()))


def _timelines(runs: list[BenchRun]) -> Iterator[Timeline]:
    """Levels with single requests, the heaviest of the largest run first."""
    found = [(r, s) for r in runs for s in reversed(bench.levels(r)) if len(_placed(s)) > 1]
    for run, step in found[:MOST_TIMELINES]:
        rows = _placed(step)
        shown = rows[:MOST_REQUESTS]
        starts = [r.start_s or 0.0 for r in shown]
        firsts = [
            s + r.ttft_s if r.ttft_s is not None else math.nan for s, r in zip(starts, shown, strict=True)
        ]
        yield Timeline(
            bench.name(run), bench.load(step) or "one load", tuple(starts), tuple(firsts),
            tuple(s + (r.e2e_s or 0.0) for s, r in zip(starts, shown, strict=True)),
            tuple(r.status != "ok" for r in shown), len(rows),
        )  # fmt: skip


def _placed(step: BenchStep) -> list[BenchRequest]:
    """Requests with a start and an end, in the order of their start."""
    rows = [r for r in step.requests if r.start_s is not None and r.e2e_s is not None]
    return sorted(rows, key=lambda r: r.start_s or 0.0)


def _costs(facts: Facts, run: BenchRun) -> Iterator[CostRow]:
    bill = bench_cost.bill(facts, run) if any(s.output_tps for s in bench.levels(run)) else None
    if bill is None:
        return
    basis = f"{bill.hourly:.2f} an hour" + ("" if bill.counted else ", one GPU assumed")
    slo = facts.options.slo
    met = [s for s in bench.levels(run) if s.output_tps and bench_knee.meets(s, slo)] if slo else []
    best = max(met, key=lambda s: s.output_tps or 0.0, default=None)
    for at, step in (("the load that meets the SLO", best), ("saturation: the most output", bill.step)):
        if step is not None:
            rate = step.output_tps or 0.0
            named = bench.load(step)
            yield CostRow(
                bench.name(run),
                f"{at}{f' ({named})' if named else ''}",
                rate,
                usd_per_million(bill.hourly, rate),
                basis,
            )
