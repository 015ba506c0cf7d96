"""What an alert is made of."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.alerts.options import HOLD
from diagnostics.model.findings import Role, Severity


class Alert(Struct, frozen=True):
    """One alerting rule before it is written.

    Attributes:
        rule: slug of the rule that it stands for.
        expr: PromQL over the recorded names.
        means: what holds when it fires, one sentence without numbers of a case.
        summary: the same as a notification says it, with ``{{ $labels... }}`` and ``{{ $value }}``.
        now: the first thing to do, without a restart.
        avoid: the tempting step that would not help.
        needs: signals that some engine must publish, or the alert could never fire and is left out.
        called: name where one rule has several alerts; else it is made from the slug.
        hold: seconds that it must hold, under a scale of 1.
        whole_fleet: whether it speaks of all replicas of a model, and so has no replica in its labels.
    """

    rule: str
    expr: str
    means: str
    summary: str
    now: str
    avoid: str = ""
    severity: Severity = Severity.WARNING
    role: Role = Role.CAUSE
    needs: tuple[str, ...] = ("running", "waiting")
    called: str = ""
    hold: float = HOLD
    whole_fleet: bool = False

    @property
    def name(self) -> str:
        """The alert's name, which never changes."""
        return self.called or alert_name(self.rule)


def alert_name(slug: str) -> str:
    """What alerts of a rule are called."""
    return "LLM" + "".join(word.capitalize() for word in slug.split("-"))
