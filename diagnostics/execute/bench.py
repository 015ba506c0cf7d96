"""Benchmark runs as rules read them: which count, how they are named, statistics of their requests."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from diagnostics.engines import registry as engines
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Fired, Need, Outcome, Unanswered
from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.model.findings import Evidence, Window
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

Values = NDArray[np.float64]
# A run that the user named as the one to compare with; the prefix keeps it apart when load levels are grouped.
BASELINE = "setting:baseline"
# A table that somebody wrote: its columns are what was asked for, not how a client behaved.
TABLE = "table"
HOW_TO_GET = "give the result of a benchmark, for example vllm bench serve with --save-result --save-detailed"
# What came from where, in the report's words.
_ORIGINS = {
    "command": Provenance.CONFIGURED,
    "named": Provenance.ASSUMED,
    "asked": Provenance.ASSUMED,
    "derived": Provenance.MEASURED,
}
_SEED = 20_240
_RESAMPLES = 400
_MOST_VALUES = 4_000
_NAME_LENGTH = 80


def measured(facts: Facts) -> list[BenchRun]:
    """Runs that were measured: estimates, simulations and made-up examples prove nothing."""
    return [run for run in facts.runs if run.evidence_kind == "measured" and BASELINE not in run.extra]


def sides(facts: Facts) -> list[BenchRun]:
    """Measured runs that may be a side of a comparison: the baseline's are among them."""
    return [run for run in facts.runs if run.evidence_kind == "measured"]


def without_requests(run: BenchRun) -> BenchRun:
    """The run without its single requests, which are many and only needed while rules run."""
    return replace(run, steps=[replace(step, requests=[]) for step in run.steps])


def levels(run: BenchRun) -> list[BenchStep]:
    """Load levels of a run with a result; a pooled summary and a ramp are none."""
    return [s for s in run.steps if s.valid and not s.pooled and s.load_mode != "ramp"]


def served(run: BenchRun) -> list[BenchStep]:
    """Load levels at which a server answered clients, as against offline batches and single streams."""
    return [s for s in levels(run) if s.load_mode not in ("offline", "single-stream")]


def nothing() -> Unanswered:
    """The answer of a rule on benchmarks where none was given."""
    return Unanswered(Reason.NOT_IN_THIS_INPUT, ("bench",), HOW_TO_GET)


def unmet(facts: Facts, *needs: Need) -> Unanswered | None:
    """The answer where what a rule needs of the engine is missing; None when all is there."""
    missing = [n for n in needs if not _met(facts, n)]
    if not missing:
        return None
    signals = tuple(n.any_of[0] for n in missing)
    how = next((n.how_to_get for n in missing if n.how_to_get), "")
    if all(any(facts.has(s).any() for s in n.any_of) for n in missing):
        return Unanswered(Reason.NEEDS_TIME_SERIES, signals, how or "give a metrics API, or dumps over time")
    engine = engines.engine_named(facts.engine)
    hints = [engine.not_exported[s] for s in signals if s in engine.not_exported] if engine else []
    if hints:
        return Unanswered(Reason.NOT_EXPORTED_BY_ENGINE, signals, how or "; ".join(hints))
    default = f"give metrics of the engine that carry {', '.join(signals)}"
    return Unanswered(Reason.NOT_IN_THIS_INPUT, signals, how or default)


def _met(facts: Facts, need: Need) -> bool:
    fine = max(facts.resolution, default=Resolution.SNAPSHOT) >= need.at_least
    seen = fine and any(bool(facts.has(s).any()) for s in need.any_of)
    return seen or any(facts.setting(i, *need.any_of) is not None for i in range(facts.size))


def either(
    facts: Facts,
    needs: tuple[Need, ...],
    from_engine: Callable[[Facts], Outcome],
    from_bench: Callable[[Facts], Outcome],
) -> Outcome:
    """The engine's own record first; a benchmark answers where that finds nothing or is not there."""
    missing = unmet(facts, *needs)
    seen = missing or from_engine(facts)
    if isinstance(seen, Fired) or not facts.runs:
        return seen
    told = from_bench(facts)
    return told if missing or isinstance(told, Fired) else seen


def name(run: BenchRun, step: BenchStep | None = None) -> str:
    """A short name for a run, or for one of its levels: the end of its path, and the level."""
    parts = run.source.replace("\\", "/").split("/")
    text = parts[-1][-_NAME_LENGTH:] or "benchmark"
    return f"{text}, {load(step)}" if step is not None and len(run.steps) > 1 and load(step) else text


def load(step: BenchStep) -> str:
    """The load of a level in words; empty when unknown."""
    if step.requested_rps is not None:
        return f"{step.requested_rps:g} requests/s"
    if step.concurrency_cap is not None:
        return f"concurrency {step.concurrency_cap}"
    if step.batch_size is not None:
        return f"batch {step.batch_size}"
    return "all at once" if step.load_mode == "burst" else ""


def several(runs: Sequence[BenchRun], total: int) -> str:
    """Which benchmark runs, in words."""
    if len(runs) == 1 == total:
        return "the benchmark"
    if len(runs) == 1:
        return f"the run {name(runs[0])}"
    return f"all {total} benchmark runs" if len(runs) == total else f"{len(runs)} of {total} benchmark runs"


def provenance(target: BenchRun | BenchStep, field: str) -> Provenance:
    """Where a field of a run or level comes from, in the report's words."""
    return _ORIGINS.get(target.origins.get(field, ""), Provenance.MEASURED)


def evidence(
    run: BenchRun, step: BenchStep | None, what: str, statistic: str, value: float, unit: str,
    comparison: str = "=", threshold: float | None = None, source: Provenance = Provenance.MEASURED,
) -> Evidence:  # fmt: skip
    """A number of a benchmark beside its limit; the place of a replica holds the run."""
    return Evidence(what, statistic, round(value, 4), unit, comparison, threshold, name(run, step), source)


def no_window() -> Window:
    """Benchmark files carry no clock that can be joined with others."""
    return Window(None, None, None)


def answered(step: BenchStep) -> list[BenchRequest]:
    """Requests of a level that ended well, in the order of their start."""
    ok = [r for r in step.requests if r.status == "ok"]
    return sorted(ok, key=lambda r: (r.start_s is None, r.start_s or 0.0, r.request_no))


def column(requests: Iterable[BenchRequest], field: str) -> Values:
    """One field of requests; absent ones are left out."""
    return np.array([v for r in requests if (v := getattr(r, field)) is not None], dtype=np.float64)


def central(step: BenchStep, metric: str) -> float | None:
    """The median of a metric, else its mean."""
    value = step.stat(metric, "p50")
    return value if value is not None else step.stat(metric, "mean")


def output_rate(step: BenchStep) -> float | None:
    """Output tokens a second, else all tokens, else requests a second."""
    return next((v for v in (step.output_tps, step.total_tps, step.rps) if v is not None), None)


def interval(
    values: Values, statistic: Callable[[Values], float], coverage: float = 0.95
) -> tuple[float, float]:
    """Bootstrap interval of a statistic of independent values; the seed is fixed, so the answer never changes.

    Args:
        values: one a request.
        statistic: for example ``numpy.median``.
        coverage: of the interval, 0 to 1.

    Returns:
        (low, high), NaN where there is nothing to resample.
    """
    if len(values) < 2:
        return math.nan, math.nan
    drawn = resample(values, statistic)
    tail = (1 - coverage) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)


def resample(values: Values, statistic: Callable[[Values], float]) -> Values:
    """The statistic over resamples of the values, always the same ones."""
    rng = np.random.default_rng(_SEED)
    if len(values) > _MOST_VALUES:
        values = rng.choice(values, _MOST_VALUES, replace=False)
    return np.array([statistic(rng.choice(values, len(values))) for _ in range(_RESAMPLES)])


def spread(values: Sequence[float]) -> float:
    """Coefficient of variation of repeats, NaN for fewer than two."""
    known = np.asarray(values, dtype=np.float64)
    return float(np.std(known, ddof=1) / np.mean(known)) if len(known) > 1 and np.mean(known) else math.nan
