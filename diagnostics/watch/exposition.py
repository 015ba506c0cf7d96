"""The watcher's own numbers as Prometheus text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from diagnostics.model.incident import Incident
from diagnostics.reports.escape import label_value, terminal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Series of findings at most: open ones first, then those resolved last.
MAX_SERIES = 1000


class Numbers(Struct):
    """Counts of one process; times are Unix seconds, 0 for never."""

    rounds: int = 0
    failures: int = 0
    opened: int = 0
    resolved: int = 0
    notifications_failed: int = 0
    last_success: float = 0.0
    last_seconds: float = 0.0


def family(
    name: str, kind: str, help_: str, rows: Sequence[tuple[str, float]], prefix: str = "diagnose_"
) -> list[str]:
    """One metric with its samples; a row is (labels or suffix as they stand in the text, value)."""
    full = prefix + name
    return [
        f"# HELP {full} {help_}",
        f"# TYPE {full} {kind}",
        *(f"{full}{label} {value}" for label, value in rows),
    ]


def exposition(numbers: Numbers, open_now: Iterable[Incident], resolved: Iterable[Incident]) -> str:
    """Everything in the text format of Prometheus; one series a rule and deployment."""
    ended = sorted(resolved, key=lambda i: -(i.resolved_at or 0.0))
    shown = [*((i, 1) for i in open_now), *((i, 0) for i in ended)][:MAX_SERIES]
    lines = [
        *family("watch_finding", "gauge", "1 while the finding is open, 0 for a day after it was resolved.",
                [(_labels(i), value) for i, value in shown]),
        *family("watch_finding_opened_timestamp_seconds", "gauge", "Unix time at which an open finding was opened.",
                [(_labels(i), round(i.opened_at, 3)) for i, value in shown if value]),
        *family("watch_findings_opened_total", "counter", "Findings opened.", [("", numbers.opened)]),
        *family("watch_findings_resolved_total", "counter", "Findings resolved.", [("", numbers.resolved)]),
        *family("watch_rounds_total", "counter", "Rounds, failed ones included.", [("", numbers.rounds)]),
        *family("watch_failures_total", "counter", "Rounds in which a source could not be read.",
                [("", numbers.failures)]),
        *family("watch_notification_failures_total", "counter", "Posts that a target did not take.",
                [("", numbers.notifications_failed)]),
        *family("watch_last_success_timestamp_seconds", "gauge", "Unix time of the last round that was not a failure.",
                [("", round(numbers.last_success, 3))]),
        *family("watch_round_seconds", "gauge", "How long the last round took.", [("", round(numbers.last_seconds, 3))]),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _labels(incident: Incident) -> str:
    deployment = label_value(terminal(incident.deployment))
    return f'{{deployment="{deployment}",rule="{incident.rule}",severity="{incident.severity.value}"}}'
