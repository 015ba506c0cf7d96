"""Short questions to a report."""

from __future__ import annotations

from diagnostics.model.findings import Finding, Severity
from diagnostics.model.report import Reason, Report


def finding(report: Report, slug: str) -> Finding | None:
    """The finding of a rule, or None."""
    return next((f for f in report.findings if f.rule == slug), None)


def fired(report: Report, slug: str) -> bool:
    """Whether a rule found something."""
    return finding(report, slug) is not None


def loud(report: Report) -> set[str]:
    """The rules that found something at warning or critical."""
    return {f.rule for f in report.findings if f.severity is not Severity.INFO}


def reason(report: Report, slug: str) -> Reason | None:
    """Why a rule was not evaluated, or None when it was."""
    return next((n.reason for n in report.not_evaluated if n.rule == slug), None)


def regimes(report: Report) -> set[str]:
    """The regimes that any replica was in."""
    return {s.regime.value for r in report.regimes for s in r.segments}
