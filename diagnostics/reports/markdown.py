"""The report as Markdown, for a ticket: reads well as plain text too, and no label in it can act."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from diagnostics.model.findings import Severity
from diagnostics.model.report import Report
from diagnostics.reports import ribbon
from diagnostics.reports.cards import (
    FindingCard,
    RemedyLine,
    checked_card,
    finding_cards,
    inputs_card,
    unchecked_card,
    verdict_card,
    without_do_not,
)
from diagnostics.reports.compare_card import TITLE, comparison_card
from diagnostics.reports.escape import markdown, markdown_block, markdown_code
from diagnostics.reports.json import iso
from diagnostics.reports.theme import clock

_RIBBON_COLUMNS, _RIBBON_ROWS = 90, 12


def render(report: Report) -> str:
    """The whole report as Markdown."""
    cards = finding_cards(report)
    blocks = [
        *_verdict(report),
        *_comparison(report),
        *_deployments(report),
        *_ribbon(report),
        *(block for card in cards if card.severity is not Severity.INFO for block in _finding(card)),
        *_remarks([card for card in cards if card.severity is Severity.INFO]),
        *_rest(report),
    ]
    return "\n\n".join(blocks) + "\n"


def _verdict(report: Report) -> Iterator[str]:
    card = verdict_card(report)
    yield f"## {markdown(card.headline)}"
    sure = f"**{card.confidence}**" if card.confidence else f"**{card.status}**"
    yield (
        ", ".join(markdown(p) if i else p for i, p in enumerate((sure, card.since, card.coverage)) if p) + "."
    )
    if card.what_to_do:
        yield f"**What to do.** {markdown(card.what_to_do)}"
    if card.runner_up:
        yield markdown(card.runner_up)
    if card.collect_next:
        yield "To settle what is open:"
        yield markdown_block(list(card.collect_next), "sh")


def _comparison(report: Report) -> Iterator[str]:
    if report.comparison is None:
        return
    card = comparison_card(report.comparison)
    yield f"### {TITLE}"
    yield f"**{markdown(card.kind)}**; {'; '.join(markdown(s) for s in (*card.sides, card.binding))}."
    yield markdown(card.sentence)
    if card.settings:
        yield _table(("setting", *card.names), card.settings)
    if card.findings:
        rows = ((f.rule, f.outcome, f.because) for f in card.findings)
        yield _table(("finding", "what became of it", "why"), rows)
    if card.moved:
        numbers = ((c.name, c.before, c.after, c.factor, c.judged) for c in card.moved)
        yield _table(("measured", *card.names, "factor", "judged"), numbers)
    yield f"Noise: {markdown(card.noise)}."


def _deployments(report: Report) -> Iterator[str]:
    if len(report.deployments) > 1:
        yield _table(
            ("deployment", "model", "engine", "replicas", "status", "worst regime", "since"),
            (
                (d.name, d.model, d.engine, str(d.replicas), d.status, d.worst_regime,
                 f"{clock(d.since)} UTC" if d.since is not None else "")
                for d in report.deployments
            ),
        )  # fmt: skip


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [" | ".join(head), " | ".join("---" for _ in head)]
    lines += [" | ".join(markdown(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)


def _ribbon(report: Report) -> Iterator[str]:
    lines = ribbon.plain(report.regimes, _RIBBON_COLUMNS, _RIBBON_ROWS)
    window = report.window
    if lines and window.start is not None and window.end is not None:
        yield f"What was binding, {clock(window.start)} to {clock(window.end)} UTC:"
        yield markdown_block(lines, "text")


def _finding(card: FindingCard) -> Iterator[str]:
    name = card.rule + (f" ({card.variant})" if card.variant else "")
    yield f"### {markdown(name)}: {card.severity.value} {card.role.value}"
    because = f": {markdown(card.confidence_because)}" if card.confidence_because else ""
    about = ". ".join(markdown(text) for text in (card.title, card.scope, card.window) if text)
    yield f"{about}. **{card.confidence}**{because}."
    yield f"**What we saw.** {markdown(card.saw)}"
    yield f"**Why it hurts.** {markdown(card.why)}" + (f" {markdown(card.impact)}" if card.impact else "")
    if card.evidence:
        yield _table(
            ("proof", "value", "held against", "replica", "known how"),
            (
                (
                    f"{e.signal}, {e.statistic}",
                    e.value,
                    f"{e.comparison} {e.threshold}",
                    e.replica,
                    e.provenance,
                )
                for e in card.evidence
            ),
        )
    steps = [
        *(_step("Now", s) for s in card.now),
        *(_step("Next rollout", s) for s in card.next_rollout),
        *(_step("Capacity", s) for s in card.capacity),
        *(f"- **Do not.** {markdown(without_do_not(d))}" for d in card.do_not),
        f"- **Wrong if.** {markdown(card.wrong_if)}",
    ]
    yield "\n".join(steps)
    if card.verify:
        yield "Check it yourself:"
        yield markdown_block(list(card.verify), "promql")
    yield f"Runbook: {markdown_code(card.runbook)}"
    if card.team_runbook:
        yield f"Your team's runbook: {markdown_code(card.team_runbook)}"


def _step(heading: str, step: RemedyLine) -> str:
    change = f" {markdown_code(step.change)}" if step.change else ""
    restart = " Needs a restart." if step.restart else " No restart."
    notes = "".join(
        f" {word}: {markdown(text.rstrip('.'))}."
        for word, text in (("Expect", step.expected), ("Risk", step.risk), ("Undo", step.undo))
        if text
    )
    return f"- **{heading}.** {markdown(step.text)}{change}{restart}{notes}"


def _remarks(cards: list[FindingCard]) -> Iterator[str]:
    if cards:
        yield "Worth knowing, not hurting now:"
        yield "\n".join(f"- {markdown(c.rule)}: {markdown(c.saw)}" for c in cards)


def _rest(report: Report) -> Iterator[str]:
    checked, unchecked, read = checked_card(report), unchecked_card(report), inputs_card(report)
    if checked.rules:
        yield f"**{checked.title}:** {markdown(', '.join(checked.rules))}."
    if checked.suppressed:
        yield f"**Suppressed:** {markdown(', '.join(checked.suppressed))}."
    if unchecked.rows:
        listed = "; ".join(f"{r.rule} ({r.reason})" for r in unchecked.rows)
        yield f"**{unchecked.title}:** {markdown(listed)}."
    rows = (
        (i.source, i.kind, i.engine, i.samples, "; ".join((i.recognised, *i.warnings)))
        for i in (*read.used, *read.unused)
    )
    yield f"**{read.title}:** {markdown(read.window)}".rstrip()
    yield _table(("input", "kind", "engine", "samples", "what became of it"), rows)
    yield f"Made by {markdown(report.tool.name)} {markdown(report.tool.version)}, {iso(report.generated_at)}."
