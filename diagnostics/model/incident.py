"""What ``watch`` remembers of a finding over time."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from diagnostics.model.findings import Severity


class State(StrEnum):
    """What happened to an incident."""

    OPENED = "opened"
    WORSE = "worse"
    ONGOING = "ongoing"
    RESOLVED = "resolved"


class Incident(Struct):
    """One rule's finding on one deployment, from the round that opened it to the one that resolved it.

    Attributes:
        number: name of this incident, never used again.
        deployment, rule: whom and what; at most one incident of both is open.
        severity: the loudest it has been; it never falls while the incident is open.
        opened_at: Unix seconds of the round that opened it.
        finding: the finding as the JSON report writes it, with its evidence; the latest one while it is open.
        resolved_at: Unix seconds of the round that resolved it, None while it is open.
        quiet: consecutive rounds in which the rule was asked and did not fire.
        unasked: consecutive rounds in which the rule could not be asked.
    """

    number: str
    deployment: str
    rule: str
    severity: Severity
    opened_at: float
    finding: dict[str, Any] = field(default_factory=dict)
    resolved_at: float | None = None
    quiet: int = 0
    unasked: int = 0

    @property
    def key(self) -> tuple[str, str]:
        """Deployment and rule."""
        return self.deployment, self.rule

    @property
    def summary(self) -> str:
        """The finding in one sentence."""
        return str(self.finding.get("summary", ""))


class Transition(Struct, frozen=True):
    """A change of an incident, at Unix seconds ``at``; ``note`` says why when it is not plain."""

    state: State
    incident: Incident
    at: float
    note: str = ""
