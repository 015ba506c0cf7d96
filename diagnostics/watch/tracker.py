"""From findings of single rounds to incidents, with hysteresis so that nothing flaps."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import uuid4

from diagnostics.model.findings import SURE, Finding
from diagnostics.model.incident import Incident, State, Transition
from diagnostics.model.report import Diagnosis, ReportWindow
from diagnostics.reports.json import as_dict

# A finding opens at once where it is sure (confidence of at least SURE), else after so many rounds in a row.
ROUNDS_TO_OPEN = 2
# An incident is resolved after so many rounds in a row in which its rule was asked and had nothing to say.
ROUNDS_TO_RESOLVE = 3
# s; a finding whose stretch ended longer ago than this before the newest sample is over, though still in the window.
OVER_SECONDS = 120.0
# The same in steps between samples, where these are far apart.
OVER_STEPS = 3
# An incident whose rule could not be asked for so many rounds in a row is given up: its deployment is gone.
ROUNDS_TO_GIVE_UP = 360
# s; how long a resolved incident still shows on /metrics.
SHOWN_SECONDS = 86_400.0

Key = tuple[str, str]


class Tracker:
    """Holds what is open. It knows no clock, no store and nobody to tell."""

    def __init__(self, known: Iterable[Incident] = ()) -> None:
        """Go on from incidents that are known: open ones, and those resolved lately."""
        self.open: dict[Key, Incident] = {}
        self.resolved: dict[Key, Incident] = {}
        self._seen: dict[Key, int] = {}
        for incident in known:
            (self.open if incident.resolved_at is None else self.resolved)[incident.key] = incident
        self.resolved = {k: i for k, i in self.resolved.items() if k not in self.open}

    def observe(self, diagnosis: Diagnosis, now: float) -> list[Transition]:
        """Take in one round.

        A rule that could not be asked on a deployment changes nothing there.

        Args:
            diagnosis: what the round found.
            now: Unix seconds of the round.

        Returns:
            What changed, in the order of the report.
        """
        found = _going_on(diagnosis)
        asked = {(d, rule) for d, rules in diagnosis.answered.items() for rule in rules}
        changes = [c for key, finding in found.items() for c in self._fired(key, finding, now)]
        for key in asked - found.keys():
            self._seen.pop(key, None)
        for incident in list(self.open.values()):
            if incident.key not in found:
                changes += self._silent(incident, now, asked=incident.key in asked)
        deployments = diagnosis.answered.keys()
        self._seen = {key: n for key, n in self._seen.items() if key[0] in deployments}
        self.resolved = {
            k: i for k, i in self.resolved.items() if now - (i.resolved_at or now) <= SHOWN_SECONDS
        }
        return changes

    def _fired(self, key: Key, finding: Finding, now: float) -> list[Transition]:
        incident = self.open.get(key)
        if incident is None:
            return self._first(key, finding, now)
        incident.quiet = incident.unasked = 0
        incident.finding = as_dict(finding)
        if finding.severity.rank < incident.severity.rank:
            before, incident.severity = incident.severity, finding.severity
            return [Transition(State.WORSE, incident, now, f"was {before.value}")]
        return []

    def _first(self, key: Key, finding: Finding, now: float) -> list[Transition]:
        rounds = self._seen[key] = self._seen.get(key, 0) + 1
        if finding.confidence < SURE and rounds < ROUNDS_TO_OPEN:
            return []
        del self._seen[key]
        self.resolved.pop(key, None)
        self.open[key] = Incident(uuid4().hex, *key, finding.severity, now, as_dict(finding))
        return [Transition(State.OPENED, self.open[key], now)]

    def _silent(self, incident: Incident, now: float, *, asked: bool) -> list[Transition]:
        if asked:
            incident.quiet, incident.unasked = incident.quiet + 1, 0
        else:
            incident.unasked += 1
        gone = incident.unasked >= ROUNDS_TO_GIVE_UP
        if incident.quiet < ROUNDS_TO_RESOLVE and not gone:
            return []
        incident.resolved_at = now
        self.resolved[incident.key] = self.open.pop(incident.key)
        note = f"not seen for {ROUNDS_TO_GIVE_UP} rounds; it may be gone" if gone else ""
        return [Transition(State.RESOLVED, incident, now, note)]


def _going_on(diagnosis: Diagnosis) -> dict[Key, Finding]:
    """Findings that hold at the end of the window, the loudest and surest of each rule and deployment."""
    kept: dict[Key, Finding] = {}
    for finding in diagnosis.report.findings:
        key = finding.scope.deployment, finding.rule
        if _is_over(finding, diagnosis.report.window):
            continue
        best = kept.get(key)
        if best is None or _loudness(finding) < _loudness(best):
            kept[key] = finding
    return kept


def _loudness(finding: Finding) -> tuple[int, float]:
    return finding.severity.rank, -finding.confidence


def _is_over(finding: Finding, window: ReportWindow) -> bool:
    if finding.window.end is None or window.end is None:
        return False
    allowed = max(OVER_SECONDS, OVER_STEPS * (window.step_seconds or 0.0))
    return window.end - finding.window.end > allowed
