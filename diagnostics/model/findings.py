"""What a rule says when it fires. Field names are those of the public JSON report."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from msgspec import Struct, field

from diagnostics.model.samples import Provenance


class Severity(StrEnum):
    """How loud a finding is."""

    CRITICAL = "critical"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the loudest."""
        return (Severity.CRITICAL, Severity.WARNING, Severity.INFO).index(self)


class Role(StrEnum):
    """Cause: fix this. Symptom: what people feel. Advice: worth changing, not hurting now."""

    CAUSE = "cause"
    SYMPTOM = "symptom"
    ADVICE = "advice"


class Evidence(Struct, frozen=True):
    """One number that decided, beside the limit it was held against.

    ``value`` and ``threshold`` are in ``unit``; ``comparison`` is one of ``<``, ``<=``, ``=``, ``>=``, ``>``.
    """

    signal: str
    statistic: str
    value: float
    unit: str
    comparison: str
    threshold: float | None
    replica: str
    provenance: Provenance


class Remedy(Struct, frozen=True):
    """One change a person can make.

    ``when`` orders them: what helps now without a restart, at the next rollout, when planning capacity.
    """

    action: str
    when: Literal["now", "next-rollout", "capacity-plan"]
    restart: bool = False
    engine: str | None = None
    flag: str | None = None
    current: str | None = None
    suggested: str | None = None
    expected: str = ""
    risk: str = ""
    undo: str = ""


class Impact(Struct, frozen=True):
    """What it costs now, or what the change would give. ``estimate`` is None rather than a guess.

    ``interval`` bounds the estimate, in its unit; the statement says it in words, so the JSON does not repeat it.
    """

    statement: str
    estimate: float | None = None
    unit: str = ""
    basis: str = ""
    interval: tuple[float, float] | None = None


class Scope(Struct, frozen=True):
    """Whom a finding is about."""

    deployment: str
    model: str
    replicas: tuple[str, ...]
    run: str | None = None


class Window(Struct, frozen=True):
    """When it held. ``start`` and ``end`` are Unix seconds, None where the carrier has no time.

    ``share_of_window`` is the held time divided by the whole time observed, 0 to 1.
    """

    start: float | None
    end: float | None
    share_of_window: float | None = None


class ChartHint(Struct, frozen=True):
    """Which signals prove it and where the limits lie, for whoever draws."""

    signals: tuple[str, ...]
    thresholds: dict[str, float] = field(default_factory=dict)


class Query(Struct, frozen=True):
    """A query to check the finding oneself."""

    promql: str


class Finding(Struct, frozen=True):
    """One diagnosis: what was seen, why it matters, what to do, what would refute it.

    ``team_runbook`` is a page of the team's own, beside the one that comes with the rule.
    """

    code: str
    rule: str
    title: str
    severity: Severity
    role: Role
    confidence: float
    confidence_because: str
    scope: Scope
    window: Window
    summary: str
    explanation: str
    evidence: tuple[Evidence, ...]
    chart: ChartHint
    impact: Impact
    remedies: tuple[Remedy, ...]
    do_not: tuple[str, ...]
    refuted_by: str
    verify: tuple[Query, ...]
    explains: tuple[str, ...]
    runbook: str
    variant: str | None = None
    team_runbook: str | None = None


# Confidence from which a finding is called sure, or likely.
SURE, LIKELY = 0.8, 0.5


def confidence_word(value: float) -> str:
    """Confidence in a word."""
    return "sure" if value >= SURE else "likely" if value >= LIKELY else "possible"
