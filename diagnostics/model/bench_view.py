"""What a page shows of benchmarks: curves, distributions, timelines, comparisons. Computed once; who draws computes nothing."""

from __future__ import annotations

from msgspec import Struct


class CurvePoint(Struct, frozen=True):
    """One load of a sweep: output in tokens/s (or requests/s), latencies in seconds; None where the file lacks it."""

    load: float
    rate: float | None
    ttft: float | None
    ttft_p99: float | None
    tpot: float | None
    e2e: float | None


class Curve(Struct, frozen=True):
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


class ParetoPoint(Struct, frozen=True):
    """One level: tokens/s that one user sees, tokens/s of one GPU; ``best`` where no other level beats both."""

    run: str
    level: str
    per_user: float
    per_gpu: float
    best: bool


class Distribution(Struct, frozen=True):
    """Quantiles of one metric at one level: (share 0-1, seconds), in order."""

    run: str
    level: str
    metric: str
    quantiles: tuple[tuple[float, float], ...]


class Timeline(Struct, frozen=True):
    """Requests of one level in the order of their start, seconds since its beginning; an unknown first token is NaN."""

    run: str
    level: str
    starts: tuple[float, ...]
    firsts: tuple[float, ...]
    ends: tuple[float, ...]
    failed: tuple[bool, ...]
    total: int


class Compared(Struct, frozen=True):
    """One figure on both sides at one load; the interval is that of B by A, None where nothing tells the noise."""

    metric: str
    unit: str
    load: str
    a: float
    b: float
    interval: tuple[float, float] | None
    noise: str


class Comparison(Struct, frozen=True):
    """Two runs over the loads they share, and what else differs between them."""

    a: str
    b: str
    about: str
    rows: tuple[Compared, ...]
    others: tuple[str, ...]


class RealismRow(Struct, frozen=True):
    """One aspect of how real a load is; ``state`` is ``real``, ``unreal`` or ``unknown``."""

    aspect: str
    benchmark: str
    production: str
    state: str


class Scorecard(Struct, frozen=True):
    """How real the load of one run is."""

    run: str
    rows: tuple[RealismRow, ...]


class CostRow(Struct, frozen=True):
    """Price of a million output tokens of one run at one load."""

    run: str
    at: str
    rate: float
    per_million: float
    basis: str


class BenchView(Struct, frozen=True):
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
