"""A comparison on the HTML page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnostics.model.report import Report
from diagnostics.reports.compare_card import TITLE, ChangeRow, ComparisonCard, comparison_card
from diagnostics.reports.escape import markup


def comparison(report: Report) -> str:
    """What changed; empty where no comparison was asked for."""
    if report.comparison is None:
        return ""
    card = comparison_card(report.comparison)
    return f'<section class="card"><h2>{TITLE}</h2>{"".join(_parts(card))}</section>'


def _parts(card: ComparisonCard) -> Iterator[str]:
    facts = (card.kind, *card.sides, f"bound by {card.binding}")
    yield f'<div class="facts">{"".join(f"<span>{markup(f)}</span>" for f in facts)}</div>'
    yield f"<p>{markup(card.sentence)}</p>"
    if card.settings:
        yield _table(("setting", *card.names), [tuple(markup(c) for c in row) for row in card.settings])
    if card.findings:
        rows = [(f"<b>{markup(f.rule)}</b>", markup(f.outcome), markup(f.because)) for f in card.findings]
        yield _table(("finding", "what became of it", "why"), rows)
    if card.moved:
        yield _changes(card.moved, card.names)
    if card.same:
        inner = _changes(card.same, card.names)
        yield f"<details><summary>Not moved beyond noise ({len(card.same)})</summary>{inner}</details>"
    yield f'<p class="quiet">Noise: {markup(card.noise)}.</p>'


def _changes(rows: Sequence[ChangeRow], names: tuple[str, str]) -> str:
    cells = [
        (markup(r.name), markup(r.before), markup(r.after), markup(r.factor), markup(r.judged)) for r in rows
    ]
    return _table(("measured", *names, "factor", ""), cells)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the cells are HTML already."""
    top = "".join(f"<th>{markup(h)}</th>" for h in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="scroll"><table><tr>{top}</tr>{body}</table></div>'
