"""The words of a report, card by card: pure functions from the report to frozen texts, for every page and format."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from diagnostics.evaluate.confidence import word
from diagnostics.model.findings import Evidence, Finding, Remedy, Role, Severity, Window
from diagnostics.model.report import InputSummary, NotEvaluated, Report, SignalSeries, Status
from diagnostics.reports.theme import clock, date, duration, format_value, number, percent

_OPENINGS = ("Now: ", "At the next rollout: ", "At the next rollout ")


@dataclass(frozen=True, slots=True)
class VerdictCard:
    """The first thing to read.

    Attributes:
        status: the verdict's status.
        headline: one sentence: what is wrong.
        what_to_do: one or two sentences; empty where nothing is to be done.
        runner_up: the second most likely cause and what tells them apart; empty where there is none.
        confidence: sure, likely or possible; empty without a finding.
        since: when it began, in words; empty where unknown.
        coverage: how much of the time was judged, in words.
        collect_next: commands that would settle what is open.
    """

    status: Status
    headline: str
    what_to_do: str
    runner_up: str
    confidence: str
    since: str
    coverage: str
    collect_next: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemedyLine:
    """One change: the sentence, and the exact setting to copy where there is one."""

    text: str
    change: str
    copy: str
    restart: bool
    expected: str
    risk: str
    undo: str


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One number that decided; every field ready to print."""

    signal: str
    statistic: str
    value: str
    comparison: str
    threshold: str
    replica: str
    provenance: str


@dataclass(frozen=True, slots=True)
class FindingCard:
    """One finding in words; ``key`` is unique in a report and fit for an anchor."""

    key: str
    title: str
    code: str
    rule: str
    variant: str
    severity: Severity
    role: Role
    confidence: str
    confidence_because: str
    scope: str
    window: str
    saw: str
    why: str
    impact: str
    now: tuple[RemedyLine, ...]
    next_rollout: tuple[RemedyLine, ...]
    capacity: tuple[RemedyLine, ...]
    do_not: tuple[str, ...]
    wrong_if: str
    verify: tuple[str, ...]
    runbook: str
    explains: tuple[str, ...]
    evidence: tuple[EvidenceRow, ...]


@dataclass(frozen=True, slots=True)
class HealthyCard:
    """A calm page: one sentence, and how far the limits are. ``headroom`` holds (what, how much)."""

    sentence: str
    headroom: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CheckedCard:
    """What was looked at and is fine."""

    title: str
    rules: tuple[str, ...]
    suppressed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UncheckedRow:
    """One rule that could not be asked: why, and how to make it so."""

    rule: str
    reason: str
    missing: str
    how: str


@dataclass(frozen=True, slots=True)
class UncheckedCard:
    """What could not be looked at."""

    title: str
    rows: tuple[UncheckedRow, ...]


@dataclass(frozen=True, slots=True)
class InputRow:
    """One input: what it is, and what became of it."""

    source: str
    kind: str
    engine: str
    replicas: int
    samples: str
    recognised: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputsCard:
    """Everything that was read. ``used`` inputs told something, ``unused`` ones did not."""

    title: str
    window: str
    used: tuple[InputRow, ...]
    unused: tuple[InputRow, ...]


def sentence(text: str) -> str:
    """Text that begins with a capital and ends like a sentence."""
    text = text.strip()
    if not text:
        return ""
    text = text[0].upper() + text[1:] if text[:1].islower() and " " in text else text
    return text if text[-1] in ".!?:" else text + "."


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
    headline = sentence(verdict.headline)
    if first is not None:
        headline = sentence(first.summary)
        if first.role is Role.SYMPTOM:
            headline = f"{headline[:-1]}; its cause is not established."
    return VerdictCard(
        status=verdict.status, headline=headline, what_to_do=_what_to_do(first) if first else "", runner_up=runner_up,
        confidence=word(first.confidence) if first else "", since=_since(report, first),
        coverage=f"{percent(verdict.coverage)} of the time seen could be judged", collect_next=report.collect_next,
    )  # fmt: skip


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
    because = finding.confidence_because.removeprefix(word(finding.confidence) + ":").strip()
    return FindingCard(
        key=key, title=finding.title, code=finding.code, rule=finding.rule, variant=finding.variant or "",
        severity=finding.severity, role=finding.role, confidence=word(finding.confidence), confidence_because=because,
        scope=_scope(finding), window=window_sentence(finding.window), saw=sentence(finding.summary),
        why=sentence(finding.explanation), impact=_impact(finding),
        now=_remedies(finding, "now"), next_rollout=_remedies(finding, "next-rollout"),
        capacity=_remedies(finding, "capacity-plan"), do_not=tuple(sentence(d) for d in finding.do_not),
        wrong_if=sentence(finding.refuted_by), verify=tuple(q.promql for q in finding.verify), runbook=finding.runbook,
        explains=finding.explains, evidence=tuple(evidence_row(e) for e in finding.evidence),
    )  # fmt: skip


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
        text=sentence(_action(remedy)), change=_change(remedy), copy=_copy(remedy), restart=remedy.restart,
        expected=remedy.expected, risk=remedy.risk, undo=remedy.undo,
    )  # fmt: skip


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
        signal=item.signal, statistic=item.statistic, value=shown(item.value),
        comparison=item.comparison if item.threshold is not None else "",
        threshold=shown(item.threshold) if item.threshold is not None else "",
        replica=item.replica, provenance=item.provenance.value,
    )  # fmt: skip


def healthy_card(report: Report, series: Sequence[SignalSeries] = ()) -> HealthyCard | None:
    """How far the limits were, or None when the verdict is another one.

    Args:
        report: the report.
        series: points of the signals; without them there is no headroom to show.
    """
    if report.verdict.status != "healthy":
        return None
    return HealthyCard(sentence(report.verdict.headline), tuple(_headroom(series)))


def _highest(series: Sequence[SignalSeries], signal: str) -> tuple[float, str] | None:
    found = [(v, s.replica) for s in series if s.signal == signal for v in s.values if math.isfinite(v)]
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
