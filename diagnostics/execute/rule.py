"""What a rule is: what it needs, and what it can answer."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

from msgspec import Struct, field

from diagnostics.execute.facts import Facts
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request
from diagnostics.model.samples import Resolution


class Support(StrEnum):
    """On what a rule was proved. It bounds the confidence."""

    RECORDING = "seen in a recording of a real engine"
    REPORT = "from a public report"
    SOURCE = "from the engine's source only"


class Need(Struct, frozen=True):
    """Signals of which at least one must be there, at this resolution or a better one."""

    any_of: tuple[str, ...]
    at_least: Resolution = Resolution.SNAPSHOT
    how_to_get: str = ""


class Draft(Struct, frozen=True):
    """What a rule says of some replicas; the runner adds what is the same for every finding.

    Attributes:
        replicas: indices into the facts' entities.
        margin: how far beyond its threshold the deciding number lies, 0 (at it) to 1 (far).
        weakest: resolution of the poorest evidence used.
        coverage: share of the observed time that the evidence covers, 0 to 1.
        verify: requests to show as queries, so that no rule holds a query.
        because: the reason for the confidence, in words, beyond resolution and provenance.
    """

    severity: Severity
    role: Role
    replicas: tuple[int, ...]
    window: Window
    summary: str
    explanation: str
    evidence: tuple[Evidence, ...]
    chart: ChartHint
    impact: Impact
    remedies: tuple[Remedy, ...]
    refuted_by: str
    margin: float = 1.0
    weakest: Resolution = Resolution.RANGE
    coverage: float = 1.0
    do_not: tuple[str, ...] = ()
    verify: tuple[Request, ...] = ()
    explains: tuple[str, ...] = ()
    variant: str | None = None
    because: str = ""
    confidence_cap: float = 1.0


class Fired(Struct, frozen=True):
    """The rule found something."""

    drafts: tuple[Draft, ...]


class Passed(Struct, frozen=True):
    """The rule looked and found nothing."""


class Unanswered(Struct, frozen=True):
    """The rule could not tell, for this reason."""

    reason: Reason
    missing: tuple[str, ...] = ()
    how_to_get: str = ""


Outcome = Fired | Passed | Unanswered


class Rule(Struct, frozen=True):
    """One piece of knowledge.

    Attributes:
        code: short stable code, for example ``SCH001``.
        slug: stable name of the fault.
        title: one line for a person.
        family: scheduler, memory, cache, speculation, fleet, ...
        concepts: numbers of the serving concepts it teaches.
        needs: what must be there; each entry must be met by at least one replica.
        or_bench: what the engine's half needs, where a benchmark can answer instead: then ``needs`` is empty.
        evaluate: pure; reads facts, returns an outcome.
        support: on what it was proved.
        full: the resolution from which silence means that nothing is wrong.
    """

    code: str
    slug: str
    title: str
    family: str
    concepts: tuple[str, ...]
    needs: tuple[Need, ...]
    evaluate: Callable[[Facts], Outcome]
    support: Support = Support.RECORDING
    full: Resolution = Resolution.RANGE
    thresholds: dict[str, tuple[float, str]] = field(default_factory=dict)
    or_bench: tuple[Need, ...] = ()
