"""The report for a terminal: the verdict first, then when and where, then each finding with what to do."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from datetime import UTC, datetime

from diagnostics.model.findings import Evidence, Finding, Remedy, Severity, confidence_word
from diagnostics.model.report import Regime, Report
from diagnostics.reports import ribbon
from diagnostics.reports.compare_card import TITLE, comparison_card
from diagnostics.reports.escape import terminal

_MAX_WIDTH = 110
_RIBBON_ROWS = 12
_BOLD, _DIM, _RED, _YELLOW, _GREEN, _OFF = "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[0m"
_REGIME_COLOUR = {
    Regime.UNSATURATED: "\x1b[48;5;22m", Regime.IDLE: "\x1b[48;5;238m", Regime.CAP: "\x1b[30;48;5;214m",
    Regime.KV_MEMORY: "\x1b[30;48;5;166m", Regime.PREEMPTING: "\x1b[30;48;5;175m",
    Regime.TOKEN_BUDGET: "\x1b[48;5;25m", Regime.QUEUEING: "\x1b[30;48;5;227m",
    Regime.DOWN: "\x1b[30;48;5;231m", Regime.UNDECIDED: "",
}  # fmt: skip
_WHEN = {"now": "now", "next-rollout": "rollout", "capacity-plan": "capacity"}


class _Paint:
    """Colours, or nothing where they are not wanted."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, *codes: str) -> str:
        return "".join(codes) + text + _OFF if self.colour and codes else text


def render(report: Report, *, colour: bool = False, width: int | None = None) -> str:
    """The report as text.

    Args:
        report: what to show.
        colour: whether a terminal reads it.
        width: columns; None asks the terminal.
    """
    columns = min(width or shutil.get_terminal_size((100, 24)).columns, _MAX_WIDTH)
    paint = _Paint(colour)
    lines = [
        *_verdict(report, paint, columns),
        *_comparison(report, paint, columns),
        *_deployments(report),
        *_ribbons(report, paint, columns),
    ]
    for finding in report.findings:
        if finding.severity is not Severity.INFO:
            lines += ["", *_finding(finding, paint, columns)]
    lines += _remarks(report, columns)
    lines += _rest(report, columns)
    return "\n".join(lines).rstrip() + "\n"


def clock(seconds: float | None) -> str:
    """A moment in UTC, to the second."""
    return (
        datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
        if seconds is not None
        else "unknown"
    )


def _wrap(text: str, columns: int, indent: str = "", first: str | None = None) -> list[str]:
    return textwrap.wrap(
        terminal(text), columns, initial_indent=indent if first is None else first, subsequent_indent=indent
    ) or [""]


def _verdict(report: Report, paint: _Paint, columns: int) -> Iterator[str]:
    verdict = report.verdict
    tint = {"findings": _RED, "healthy": _GREEN}.get(verdict.status, _YELLOW)
    for line in _wrap(verdict.headline, columns):
        yield paint(line, _BOLD, tint)
    if verdict.runner_up:
        apart = f" Told apart by {verdict.told_apart_by}." if verdict.told_apart_by else ""
        for line in _wrap(f"Second most likely: {verdict.runner_up}.{apart}", columns):
            yield paint(line, _DIM)
    window = report.window
    if window.start is not None and window.end is not None:
        note = f"{clock(window.start)} to {clock(window.end)} UTC ({window.time_basis})"
        yield paint(terminal(note), _DIM)


def _comparison(report: Report, paint: _Paint, columns: int) -> Iterator[str]:
    if report.comparison is None:
        return
    card = comparison_card(report.comparison)
    yield ""
    yield paint(f"{TITLE}: {card.kind}", _BOLD)
    yield from _wrap(card.sentence, columns, "  ")
    yield paint(terminal("  " + "; ".join(card.sides)), _DIM)
    for name, before, after in card.settings:
        yield from _wrap(f"{name}: {before} -> {after}", columns, "           ", "  setting  ")
    for row in card.findings:
        yield from _wrap(f"{row.rule}: {row.outcome}; {row.because}", columns, "           ", "  finding  ")
    for change in card.moved:
        values = f"{change.before} -> {change.after}"
        yield terminal(f"  {change.judged:<8} {change.name:<42} {values:<34} {change.factor}").rstrip()
    yield from _wrap(f"Noise: {card.noise}.", columns, "  ")


def _deployments(report: Report) -> Iterator[str]:
    if len(report.deployments) < 2:
        return
    yield ""
    yield f"{'deployment':<40} {'replicas':>8}  {'status':<18} {'worst regime':<14} since"
    for d in report.deployments:
        since = clock(d.since)[11:] if d.since is not None else ""
        yield f"{terminal(d.name)[:40]:<40} {d.replicas:>8}  {d.status:<18} {d.worst_regime:<14} {since}"


def _ribbons(report: Report, paint: _Paint, columns: int) -> Iterator[str]:
    whole = ribbon.span(report.regimes)
    if whole is None:
        return
    yield ""
    shown = sorted(report.regimes, key=ribbon.sickness)[:_RIBBON_ROWS]
    names = [terminal(r.replica)[:24] for r in shown]
    pad = max(len(n) for n in names)
    width = max(20, columns - pad - 2)
    present: set[Regime] = set()
    for name, replica in zip(names, shown, strict=True):
        row = ribbon.cells(replica, *whole, width)
        present |= set(row)
        yield f"{name:<{pad}}  " + "".join(
            paint(ribbon.LETTER[r], *([_REGIME_COLOUR[r]] if _REGIME_COLOUR[r] else [])) for r in row
        )
    if len(report.regimes) > len(shown):
        yield f"{'':<{pad}}  and {len(report.regimes) - len(shown)} more replicas"
    legend = "  ".join(f"{ribbon.LETTER[r]} {ribbon.MEANING[r]}" for r in Regime if r in present)
    yield f"{'':<{pad}}  " + legend


def _finding(finding: Finding, paint: _Paint, columns: int) -> Iterator[str]:
    tint = _RED if finding.severity is Severity.CRITICAL else _YELLOW
    variant = f"/{finding.variant}" if finding.variant else ""
    yield paint(
        f"{finding.rule}{variant}  {finding.severity.value} {finding.role.value}  "
        f"{confidence_word(finding.confidence)} ({finding.confidence:.2f})", _BOLD, tint,
    )  # fmt: skip
    yield from _wrap(finding.title + ".", columns, "  ")
    yield from _wrap("saw      " + finding.summary + ".", columns, "           ", "  ")
    yield from _wrap("why      " + finding.explanation, columns, "           ", "  ")
    for item in finding.evidence:
        yield from _wrap("proof    " + evidence_line(item), columns, "           ", "  ")
    for remedy in finding.remedies:
        yield from _wrap(f"{_WHEN[remedy.when]:<8} " + remedy_line(remedy), columns, "           ", "  ")
    for item_text in finding.do_not:
        yield from _wrap("do not   " + item_text, columns, "           ", "  ")
    yield from _wrap("wrong if " + finding.refuted_by, columns, "           ", "  ")
    for query in finding.verify[:3]:
        yield "  verify   " + terminal(query.promql)
    yield "  runbook  " + terminal(finding.runbook)
    if finding.team_runbook:
        yield "  yours    " + terminal(finding.team_runbook)


def evidence_line(item: Evidence) -> str:
    """One piece of evidence as a line."""
    limit = f" {item.comparison} {item.threshold:.4g}" if item.threshold is not None else ""
    known = f"[{item.replica}, {item.provenance.value}]"
    return f"{item.signal}, {item.statistic}: {item.value:.4g}{limit} {item.unit} {known}"


def remedy_line(remedy: Remedy) -> str:
    """One remedy as a line: what, from what to what, at which risk."""
    change = ""
    if remedy.flag and remedy.suggested:
        change = f" [{remedy.flag}: {remedy.current or 'unset'} -> {remedy.suggested}]"
    restart = " Needs a restart." if remedy.restart else ""
    risk = f" Risk: {remedy.risk}." if remedy.risk else ""
    return f"{remedy.action}{change}{restart}{risk}"


def _remarks(report: Report, columns: int) -> Iterator[str]:
    remarks = [f for f in report.findings if f.severity is Severity.INFO]
    if remarks:
        yield ""
        yield "Worth knowing, not hurting now:"
    for finding in remarks:
        variant = f"/{finding.variant}" if finding.variant else ""
        yield from _wrap(f"{finding.rule}{variant}: {finding.summary}.", columns, "    ", "  ")


def _rest(report: Report, columns: int) -> Iterator[str]:
    yield ""
    if report.passed:
        yield from _wrap(
            f"Checked and fine ({len(report.passed)}): {', '.join(report.passed)}.", columns, "  ", ""
        )
    if report.not_evaluated:
        listed = "; ".join(f"{n.rule} ({n.reason.value})" for n in report.not_evaluated)
        yield from _wrap(f"Could not be checked ({len(report.not_evaluated)}): {listed}.", columns, "  ", "")
    if report.suppressed:
        hidden = ", ".join(f"{slug} ({n})" for slug, n in report.suppressed.items())
        yield from _wrap(f"Suppressed: {hidden}.", columns, "  ", "")
    for step in report.collect_next:
        yield "To settle it: " + terminal(step)
    for entry in report.inputs:
        for warning in entry.warnings:
            yield from _wrap(f"Input {entry.source}: {warning}", columns, "  ", "")
