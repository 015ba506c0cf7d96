"""What a team's configuration file says, as records."""

from __future__ import annotations

from datetime import UTC, date, datetime
from fnmatch import fnmatchcase

from msgspec import Struct, field

from diagnostics.model.findings import Finding, Severity


class Ignore(Struct, frozen=True):
    """A finding that a team has decided to live with.

    Attributes:
        rule: slug.
        reason: why, in the team's words.
        until: last day on which it holds; None for no end.
        deployment, model, replica: patterns with ``*``; every given one must fit, a replica's on all replicas named.
    """

    rule: str
    reason: str
    until: date | None = None
    deployment: str = "*"
    model: str = "*"
    replica: str = "*"

    def holds(self, today: date) -> bool:
        """Whether its time has not run out."""
        return self.until is None or today <= self.until

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is one of those meant."""
        scope = finding.scope
        return (
            finding.rule == self.rule
            and fnmatchcase(scope.deployment, self.deployment)
            and fnmatchcase(scope.model or "", self.model)
            and all(fnmatchcase(replica, self.replica) for replica in scope.replicas)
        )


class Configuration(Struct, frozen=True):
    """What a file says.

    Attributes:
        options: options of the command line by their long name without dashes.
        slo: targets in the command line's notation.
        severities: severity by slug, in place of the rule's own.
        ignores: findings to leave out.
        names: native metric name -> canonical signal, for exporters the product does not know.
        runbooks: a team's own page by slug.
        allow: addresses that the dashboard may connect to.
        alertmanagers, webhooks: where ``watch`` sends its findings.
    """

    options: dict[str, list[str] | bool] = field(default_factory=dict)
    slo: dict[str, str] = field(default_factory=dict)
    severities: dict[str, Severity] = field(default_factory=dict)
    ignores: tuple[Ignore, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    runbooks: dict[str, str] = field(default_factory=dict)
    allow: tuple[str, ...] = ()
    alertmanagers: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()


def today() -> date:
    """The day that ends of ignores are compared with, in UTC."""
    return datetime.now(UTC).date()
