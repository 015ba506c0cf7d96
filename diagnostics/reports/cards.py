"""The words of a report, card by card: pure functions from the report to frozen texts, for every format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from diagnostics.model.findings import Evidence, Finding, Remedy, Role, Severity, Window, confidence_word
from diagnostics.model.report import (
    InputSummary,
    NotEvaluated,
    Report,
    SignalSeries,
    TimeToFirstToken,
)
from diagnostics.reports.card_types import (
    CheckedCard,
    EvidenceRow,
    FindingCard,
    HealthyCard,
    InputRow,
    InputsCard,
    RemedyLine,
    UncheckedCard,
    UncheckedRow,
    VerdictCard,
)
from diagnostics.reports.theme import clock, date, duration, format_value, number, percent

_OPENINGS = ("Now: ", "At the next rollout: ", "At the next rollout ")


def sentence(text: str) -> str:
    """Text that begins with a capital and ends like a sentence."""
    text = closed(text)
    first = text.split(" ", 1)[0]
    return text[0].upper() + text[1:] if first.isalpha() and first.islower() else text


def closed(text: str) -> str:
    """Text that ends like a sentence; its beginning may be a name and stays as it is."""
    text = text.strip()
    return text if not text or text[-1] in ".!?:" else text + "."


def primary(report: Report) -> Finding | None:
    """The finding to act on first."""
    return next(
        (f for f in report.findings if f.rule == report.verdict.primary and f.severity is not Severity.INFO),
        None,
    )


def verdict_card(report: Report) -> VerdictCard:
    """What is wrong, since when, how sure, what to do now."""
    verdict, first = report.verdict, primary(report)
    runner_up = ""
    if verdict.runner_up:
        apart = f" Told apart by {verdict.told_apart_by}." if verdict.told_apart_by else ""
        runner_up = f"Second most likely: {verdict.runner_up}.{apart}"
    headline = closed(verdict.headline)
    if first is not None:
        headline = closed(first.summary)
        if first.role is Role.SYMPTOM:
            headline = f"{headline[:-1]}; its cause is not established."
    return VerdictCard(
        status=verdict.status,
        headline=headline,
        what_to_do=_what_to_do(first) if first else "",
        runner_up=runner_up,
        confidence=confidence_word(first.confidence) if first else "",
        since=_since(report, first),
        coverage=f"{percent(verdict.coverage)} of the time seen could be judged",
        collect_next=report.collect_next,
    )


def _what_to_do(first: Finding) -> str:
    now = next((r for r in first.remedies if r.when == "now"), None)
    later = next((r for r in first.remedies if r.when == "next-rollout"), None)
    parts = []
    if now is not None:
        parts.append("Now: " + _lower(_action(now)))
    if later is not None:
        change = _change(later)
        parts.append("Next rollout: " + (change if change else _lower(_action(later))))
    return " ".join(sentence(p) for p in parts)


def _lower(text: str) -> str:
    return (
        text[0].lower() + text[1:] if len(text) > 1 and text[0].isupper() and not text[1].isupper() else text
    )


def _since(report: Report, first: Finding | None) -> str:
    if first is None or first.window.start is None:
        return ""
    begin = report.window.start
    if begin is not None and first.window.start <= begin + 1:
        return f"since {clock(begin)} UTC or before"
    return f"since {clock(first.window.start)} UTC"


def window_sentence(window: Window) -> str:
    """When something held, in UTC."""
    if window.start is None or window.end is None:
        return "at the moments seen; the input has no time"
    share = f", {percent(window.share_of_window)} of the time seen" if window.share_of_window else ""
    held = duration(window.end - window.start)
    return f"{date(window.start)} {clock(window.start)} to {clock(window.end)} UTC, {held}{share}"


def finding_cards(report: Report) -> tuple[FindingCard, ...]:
    """Every finding in words, the one to act on first at the head."""
    used: dict[str, int] = {}
    cards = []
    for finding in report.findings:
        name = finding.rule + (f"-{finding.variant}" if finding.variant else "")
        used[name] = used.get(name, 0) + 1
        cards.append(finding_card(finding, name if used[name] == 1 else f"{name}-{used[name]}"))
    return tuple(cards)


def finding_card(finding: Finding, key: str) -> FindingCard:
    """One finding in words."""
    because = finding.confidence_because.removeprefix(confidence_word(finding.confidence) + ":").strip()
    return FindingCard(
        key=key,
        title=finding.title,
        code=finding.code,
        rule=finding.rule,
        variant=finding.variant or "",
        severity=finding.severity,
        role=finding.role,
        confidence=confidence_word(finding.confidence),
        confidence_because=because,
        scope=_scope(finding),
        window=window_sentence(finding.window),
        saw=closed(finding.summary),
        why=sentence(finding.explanation),
        impact=_impact(finding),
        now=_remedies(finding, "now"),
        next_rollout=_remedies(finding, "next-rollout"),
        capacity=_remedies(finding, "capacity-plan"),
        do_not=tuple(sentence(d) for d in finding.do_not),
        wrong_if=sentence(finding.refuted_by),
        verify=tuple(q.promql for q in finding.verify),
        runbook=finding.runbook,
        team_runbook=finding.team_runbook,
        explains=finding.explains,
        evidence=tuple(evidence_row(e) for e in finding.evidence),
    )


def without_do_not(text: str) -> str:
    """A warning without the words that its heading says already."""
    rest = text.removeprefix("Do not ")
    return rest[:1].upper() + rest[1:]


def _scope(finding: Finding) -> str:
    scope = finding.scope
    names = ", ".join(scope.replicas[:8]) + (
        f" and {len(scope.replicas) - 8} more" if len(scope.replicas) > 8 else ""
    )
    return ": ".join(part for part in (scope.deployment or scope.model, names) if part) + (
        f", run {scope.run}" if scope.run else ""
    )


def _impact(finding: Finding) -> str:
    impact = finding.impact
    if not impact.statement:
        return ""
    basis = f" ({impact.basis})" if impact.basis else ""
    return sentence(impact.statement.rstrip(".") + basis)


def _remedies(finding: Finding, when: str) -> tuple[RemedyLine, ...]:
    return tuple(remedy_line(r) for r in finding.remedies if r.when == when)


def remedy_line(remedy: Remedy) -> RemedyLine:
    """One change in words."""
    return RemedyLine(
        text=sentence(_action(remedy).removesuffix("; no restart.")),
        change=_change(remedy),
        copy=_copy(remedy),
        restart=remedy.restart,
        expected=remedy.expected,
        risk=remedy.risk,
        undo=remedy.undo,
    )


def _action(remedy: Remedy) -> str:
    """The action without the words that its heading says already."""
    text = remedy.action.strip()
    for opening in _OPENINGS:
        if text.startswith(opening):
            text = text[len(opening) :]
            break
    return text[:1].upper() + text[1:]


def _change(remedy: Remedy) -> str:
    if not remedy.suggested:
        return ""
    before = f"{remedy.current} → " if remedy.current else "→ "
    return f"{remedy.flag} {before}{remedy.suggested}" if remedy.flag else f"{before}{remedy.suggested}"


def _copy(remedy: Remedy) -> str:
    """What goes into a launch command; empty where the suggestion is words, not a value."""
    if not (remedy.flag and remedy.suggested) or " " in remedy.suggested:
        return ""
    return f"{remedy.flag} {remedy.suggested}"


def evidence_row(item: Evidence) -> EvidenceRow:
    """One piece of evidence, ready to print; both numbers in one form."""
    factor = item.unit == "ratio" and max(abs(item.value), abs(item.threshold or 0.0)) > 1

    def shown(value: float) -> str:
        return f"{number(value)} times" if factor else format_value(value, item.unit)

    return EvidenceRow(
        signal=item.signal,
        statistic=item.statistic,
        value=shown(item.value),
        comparison=item.comparison if item.threshold is not None else "",
        threshold=shown(item.threshold) if item.threshold is not None else "",
        replica=item.replica,
        provenance=item.provenance.value,
    )


def healthy_card(report: Report, series: Sequence[SignalSeries] = ()) -> HealthyCard | None:
    """How far the limits were, or None when the verdict is another one.

    Args:
        report: the report.
        series: points of the signals; without them there is no headroom to show.
    """
    if report.verdict.status != "healthy":
        return None
    return HealthyCard(closed(report.verdict.headline), tuple(_headroom(series)))


def _highest(series: Sequence[SignalSeries], signal: str) -> tuple[float, str] | None:
    found = [
        (float(np.nanmax(s.values)), s.replica)
        for s in series
        if s.signal == signal and np.isfinite(s.values).any()
    ]
    return max(found) if found else None


def _headroom(series: Sequence[SignalSeries]) -> Iterable[tuple[str, str]]:
    several = len({s.replica for s in series}) > 1
    for signal, what, unit in (
        ("kv_usage", "KV cache, highest use", "ratio"),
        ("running", "most requests running at once", "requests"),
        ("waiting", "most requests waiting at once", "requests"),
        ("queue_time", "longest mean wait for a first schedule", "s"),
    ):
        top = _highest(series, signal)
        if top is not None:
            yield what, format_value(top[0], unit) + (f" on {top[1]}" if several and top[0] else "")


STAGES = {"gateway": "gateway", "api_server": "API server", "queue": "queue", "prefill": "prefill"}


def stage_rows(report: Report) -> tuple[TimeToFirstToken, list[tuple[str, str]]] | None:
    """The replica with the longest time to first token, and the (key, name) of each stage that it tells."""
    if not report.time_to_first_token:
        return None
    item = max(report.time_to_first_token, key=lambda t: sum((t.during or t.before or {}).values()))
    told = set(item.before or {}) | set(item.during or {})
    return item, [(key, name) for key, name in STAGES.items() if key in told]


def checked_card(report: Report) -> CheckedCard:
    """What was looked at and is fine, and what was suppressed."""
    hidden = tuple(f"{slug} ({n})" for slug, n in report.suppressed.items())
    return CheckedCard(f"Checked and fine ({len(report.passed)})", report.passed, hidden)


def unchecked_card(report: Report) -> UncheckedCard:
    """What could not be looked at, why, and how to get it."""
    rows = tuple(_unchecked(n) for n in report.not_evaluated)
    return UncheckedCard(f"Could not be checked ({len(rows)})", rows)


def _unchecked(entry: NotEvaluated) -> UncheckedRow:
    reason = entry.reason.value.replace("-", " ")
    return UncheckedRow(entry.rule, reason, ", ".join(entry.missing), sentence(entry.how_to_get))


def inputs_card(report: Report) -> InputsCard:
    """Everything that was read."""
    used = tuple(_input(i) for i in report.inputs if i.kind != "unknown")
    unused = tuple(_input(i) for i in report.inputs if i.kind == "unknown")
    window = report.window
    when = ""
    if window.start is not None and window.end is not None:
        when = f"{date(window.start)} {clock(window.start)} to {clock(window.end)} UTC ({window.time_basis})"
    return InputsCard(f"What was read ({len(report.inputs)})", when, used, unused)


def _input(entry: InputSummary) -> InputRow:
    engine = " ".join(part for part in (entry.engine, entry.engine_version) if part)
    return InputRow(
        entry.source,
        entry.kind,
        engine,
        entry.replicas,
        f"{entry.samples:,}",
        entry.recognised,
        entry.warnings,
    )


__all__ = [
    "STAGES",
    "CheckedCard",
    "EvidenceRow",
    "FindingCard",
    "HealthyCard",
    "InputRow",
    "InputsCard",
    "RemedyLine",
    "UncheckedCard",
    "UncheckedRow",
    "VerdictCard",
    "checked_card",
    "closed",
    "evidence_row",
    "finding_card",
    "finding_cards",
    "healthy_card",
    "inputs_card",
    "primary",
    "remedy_line",
    "sentence",
    "stage_rows",
    "unchecked_card",
    "verdict_card",
    "window_sentence",
    "without_do_not",
]
