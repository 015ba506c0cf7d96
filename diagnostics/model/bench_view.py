"""What a page shows of benchmarks: curves, distributions, timelines, comparisons. Computed once; who draws computes nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """One load of a sweep: output in tokens/s (or requests/s), latencies in seconds; None where the file lacks it."""

    load: float
    rate: float | None
    ttft: float | None
    ttft_p99: float | None
    tpot: float | None
    e2e: float | None


@dataclass(frozen=True, slots=True)
class Curve:
    """One sweep. ``unit`` is that of the load; the knee lies between ``good`` and ``bad``, both None where none was reached.

    ``slo_load`` is the highest load that meets the targets, ``slo_ttft`` the target of the time to first token in seconds.
    """

    run: str
    unit: str
    rate_unit: str
    points: tuple[CurvePoint, ...]
    good: float | None
    bad: float | None
    slo_load: float | None
    slo_ttft: float | None


@dataclass(frozen=True, slots=True)
class ParetoPoint:
    """One level: tokens/s that one user sees, tokens/s of one GPU; ``best`` where no other level beats both."""

    run: str
    level: str
    per_user: float
    per_gpu: float
    best: bool


@dataclass(frozen=True, slots=True)
class Distribution:
    """Quantiles of one metric at one level: (share 0-1, seconds), in order."""

    run: str
    level: str
    metric: str
    quantiles: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Requests of one level in the order of their start, seconds since its beginning; an unknown first token is NaN."""

    run: str
    level: str
    starts: tuple[float, ...]
    firsts: tuple[float, ...]
    ends: tuple[float, ...]
    failed: tuple[bool, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure on both sides at one load; the interval is that of B by A, None where nothing tells the noise."""

    metric: str
    unit: str
    load: str
    a: float
    b: float
    interval: tuple[float, float] | None
    noise: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs over the loads they share, and what else differs between them."""

    a: str
    b: str
    about: str
    rows: tuple[Compared, ...]
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RealismRow:
    """One aspect of how real a load is; ``state`` is ``real``, ``unreal`` or ``unknown``."""

    aspect: str
    benchmark: str
    production: str
    state: str


@dataclass(frozen=True, slots=True)
class Scorecard:
    """How real the load of one run is."""

    run: str
    rows: tuple[RealismRow, ...]


@dataclass(frozen=True, slots=True)
class CostRow:
    """Price of a million output tokens of one run at one load."""

    run: str
    at: str
    rate: float
    per_million: float
    basis: str


@dataclass(frozen=True, slots=True)
class BenchView:
    """Everything that a page shows of benchmarks. ``runs`` counts them, ``command`` repeats the load of production."""

    runs: int
    curves: tuple[Curve, ...]
    pareto: tuple[ParetoPoint, ...]
    distributions: tuple[Distribution, ...]
    timelines: tuple[Timeline, ...]
    comparisons: tuple[Comparison, ...]
    scorecards: tuple[Scorecard, ...]
    costs: tuple[CostRow, ...]
    command: str
