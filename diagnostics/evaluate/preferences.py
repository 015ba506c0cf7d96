"""What a team's configuration changes about findings: how loud, left out, and where its own page is."""

from __future__ import annotations

from msgspec.structs import replace

from diagnostics.evaluate.runner import Results
from diagnostics.model.configuration import Configuration, today
from diagnostics.model.findings import Finding


def apply(results: Results, configuration: Configuration, ignored: tuple[str, ...]) -> None:
    """Change the findings in place; what is left out is counted by rule.

    Args:
        results: what the rules answered.
        configuration: the team's file.
        ignored: slugs to leave out whatever they are about.
    """
    day = today()
    ignores = [ignore for ignore in configuration.ignores if ignore.holds(day)]
    kept: list[Finding] = []
    for finding in results.findings:
        if finding.rule in ignored or any(ignore.covers(finding) for ignore in ignores):
            results.suppressed[finding.rule] = results.suppressed.get(finding.rule, 0) + 1
            continue
        kept.append(
            replace(
                finding,
                severity=configuration.severities.get(finding.rule, finding.severity),
                team_runbook=configuration.runbooks.get(finding.rule),
            )
        )
    results.findings = kept
