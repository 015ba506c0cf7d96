"""What a report says of one rule."""

from __future__ import annotations

from diagnostics.model.findings import Finding
from diagnostics.model.report import Report


def found(report: Report, slug: str) -> Finding | None:
    """The rule's first finding, or None."""
    return next((f for f in report.findings if f.rule == slug), None)


def fired(report: Report, slug: str) -> Finding:
    """The rule's finding; fails with what was found instead."""
    finding = found(report, slug)
    assert finding is not None, f"did not fire; found {[f.rule for f in report.findings]}"
    assert finding.refuted_by
    assert finding.remedies
    assert finding.evidence
    return finding


def passed(report: Report, slug: str) -> None:
    """The rule looked and found nothing."""
    assert found(report, slug) is None
    assert slug in report.passed, [n for n in report.not_evaluated if n.rule == slug]


def unanswered(report: Report, slug: str) -> str:
    """Why the rule could not tell; it says how to get what it lacks."""
    assert found(report, slug) is None
    assert slug not in report.passed
    entry = next(n for n in report.not_evaluated if n.rule == slug)
    assert entry.how_to_get
    return entry.reason.value
