"""The report: the one object every format and every page is made from."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from diagnostics.model.bench import BenchRun
from diagnostics.model.bench_view import BenchView
from diagnostics.model.comparison import Comparison
from diagnostics.model.findings import Finding
from diagnostics.model.samples import Provenance

SCHEMA_VERSION = 1

Status = Literal["healthy", "findings", "insufficient-data"]


class Regime(StrEnum):
    """Which constraint was binding on a replica at a time."""

    DOWN = "down"
    IDLE = "idle"
    UNSATURATED = "unsaturated"
    CAP = "cap"
    KV_MEMORY = "kv-memory"
    PREEMPTING = "preempting"
    TOKEN_BUDGET = "token-budget"  # noqa: S105  a token of text, not of access
    QUEUEING = "queueing"
    UNDECIDED = "undecided"


class Reason(StrEnum):
    """Why something could not be evaluated."""

    NOT_IN_THIS_INPUT = "not-in-this-input"
    NEEDS_TIME_SERIES = "needs-time-series"
    NOT_EXPORTED_BY_ENGINE = "not-exported-by-engine"
    TOO_FEW_SAMPLES = "too-few-samples"
    NOT_CONFIGURED = "not-configured"
    OPTION_NOT_GIVEN = "option-not-given"
    INPUT_FAILED = "input-failed"
    RULE_ERROR = "rule-error"


class Tool(Struct, frozen=True):
    """Who made the report."""

    name: str
    version: str


class ReportWindow(Struct, frozen=True):
    """The time that was looked at, Unix seconds; None where no input has time."""

    start: float | None
    end: float | None
    step_seconds: float | None
    time_basis: str


class InputSummary(Struct, frozen=True):
    """What became of one input."""

    source: str
    kind: str
    engine: str | None
    engine_version: str | None
    replicas: int
    samples: int
    recognised: str
    warnings: tuple[str, ...]


class DeploymentSummary(Struct, frozen=True):
    """One line a deployment."""

    name: str
    model: str
    engine: str
    replicas: int
    status: Status
    worst_regime: str
    since: float | None


class Verdict(Struct, frozen=True):
    """What to act on first. ``primary`` is None exactly when ``status`` is not ``findings``."""

    status: Status
    primary: str | None
    runner_up: str | None
    told_apart_by: str
    coverage: float
    headline: str


class Segment(Struct, frozen=True):
    """A stretch of one replica's time under one regime, Unix seconds."""

    start: float
    end: float
    regime: Regime
    inferred: bool


class ReplicaRegimes(Struct, frozen=True):
    """The ribbon of one replica."""

    replica: str
    segments: tuple[Segment, ...]


class TimeToFirstToken(Struct, frozen=True):
    """Mean seconds by stage (gateway, api_server, queue, prefill) before and during the trouble."""

    replica: str
    before: dict[str, float] | None
    during: dict[str, float] | None


class NotEvaluated(Struct, frozen=True):
    """A rule that could not be asked, and how to make it so."""

    rule: str
    reason: Reason
    missing: tuple[str, ...]
    how_to_get: str


class Report(Struct, frozen=True):
    """Everything that is known at the end. Field order is the order of the JSON.

    ``comparison`` is None, and absent from the JSON, unless one was asked for.
    """

    schema_version: int
    generated_at: float
    tool: Tool
    window: ReportWindow
    inputs: tuple[InputSummary, ...]
    deployments: tuple[DeploymentSummary, ...]
    verdict: Verdict
    findings: tuple[Finding, ...]
    regimes: tuple[ReplicaRegimes, ...]
    time_to_first_token: tuple[TimeToFirstToken, ...]
    not_evaluated: tuple[NotEvaluated, ...]
    collect_next: tuple[str, ...]
    suppressed: dict[str, int]
    passed: tuple[str, ...]
    comparison: Comparison | None = None


class SignalSeries(Struct, frozen=True, eq=False):
    """The points of one canonical signal on one replica, for charts. Gaps are NaN values.

    Gauges carry their value; counters carry the rate per second over each step. ``mean`` is over all that was read,
    not only over the points that are drawn.
    """

    replica: str
    signal: str
    unit: str
    times: NDArray[np.float64]
    values: NDArray[np.float64]
    mean: float


class Known(Struct, frozen=True):
    """A fact of the first deployment that capacity and cost are planned from, and where it was learnt."""

    name: str
    value: str
    provenance: Provenance
    where: str


class Diagnosis(Struct, frozen=True):
    """A report with the series that prove it, and what is known of the first deployment's size.

    Attributes:
        answered: for each deployment, the rules that could be asked there, whether they fired or not.
        runs: the benchmark runs that were read, without their requests.
        bench: the same laid out for a page, when charts were asked for.
        known: what capacity and cost are planned from, when charts were asked for.
    """

    report: Report
    series: tuple[SignalSeries, ...] = field(default=())
    answered: dict[str, tuple[str, ...]] = field(default_factory=dict)
    runs: tuple[BenchRun, ...] = field(default=())
    bench: BenchView | None = None
    known: tuple[Known, ...] = field(default=())
