"""The report as JUnit XML, for pipelines: a case a rule; a loud finding is a failure, an open one a skip."""

from __future__ import annotations

from collections.abc import Iterator

from diagnostics.model.findings import Severity
from diagnostics.model.report import Report
from diagnostics.reports.cards import FindingCard, finding_cards, unchecked_card, verdict_card
from diagnostics.reports.escape import markup
from diagnostics.reports.json import iso


def render(report: Report) -> str:
    """The whole report as JUnit XML."""
    cases = [
        *_verdict(report),
        *(_finding(c) for c in finding_cards(report)),
        *_passed(report),
        *_skipped(report),
    ]
    failures = sum("<failure" in case for case in cases)
    errors = sum("<error" in case for case in cases)
    skipped = sum("<skipped" in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}" skipped="{skipped}"'
    name = markup(report.tool.name)
    stamp = iso(report.generated_at).removesuffix("Z").split(".")[0]
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites name="{name}" {counts} time="0">\n'
        f'<testsuite name="{name}" {counts} time="0" timestamp="{stamp}">\n'
        + "\n".join(cases)
        + "\n</testsuite>\n</testsuites>\n"
    )


def _case(group: str, name: str, content: str = "") -> str:
    return f'<testcase classname="{markup(group)}" name="{markup(name)}" time="0">{content}</testcase>'


def _verdict(report: Report) -> Iterator[str]:
    """Too little data is an error of the run: neither a pass nor a failure of the server."""
    card = verdict_card(report)
    steps = "".join(f"&#10;{markup(step)}" for step in card.collect_next)
    error = (
        f'<error type="insufficient-data" message="{markup(card.headline)}">'
        f"{markup(card.coverage)}{steps}</error>"
    )
    yield _case("diagnose", "verdict", error if card.status == "insufficient-data" else "")


def _finding(card: FindingCard) -> str:
    group = f"diagnose.{card.role.value}"
    body = "&#10;".join(markup(line) for line in _lines(card))
    if card.severity is Severity.INFO:
        return _case(group, card.key, f"<system-out>{body}</system-out>")
    return _case(
        group,
        card.key,
        f'<failure type="{card.severity.value}" message="{markup(card.saw)}">{body}</failure>',
    )


def _lines(card: FindingCard) -> Iterator[str]:
    yield card.why
    yield f"{card.scope}; {card.window}; {card.confidence}"
    for item in card.evidence:
        limit = f" {item.comparison} {item.threshold}" if item.threshold else ""
        known = f"[{item.replica}, {item.provenance}]"
        yield f"proof: {item.signal}, {item.statistic}: {item.value}{limit} {known}"
    for heading, steps in (
        ("now", card.now),
        ("next rollout", card.next_rollout),
        ("capacity", card.capacity),
    ):
        for step in steps:
            yield f"{heading}: {step.text}" + (f" [{step.change}]" if step.change else "")
    yield f"wrong if: {card.wrong_if}"
    yield f"runbook: {card.runbook}"


def _passed(report: Report) -> Iterator[str]:
    found = {finding.rule for finding in report.findings}
    for rule in report.passed:
        if rule not in found:
            yield _case("diagnose.passed", rule)


def _skipped(report: Report) -> Iterator[str]:
    for row in unchecked_card(report).rows:
        yield _case("diagnose.open", row.rule, f'<skipped message="{markup(f"{row.reason}: {row.how}")}"/>')
