"""A comparison as HTML; every text of a card is escaped here."""

from __future__ import annotations

from collections.abc import Sequence

from app.words import block, markup, prose, table
from diagnostics.reports.compare_card import TITLE, ChangeRow, ComparisonCard, OutcomeRow


def answer(card: ComparisonCard) -> str:
    """The answer: what happened in large, what it did below, then when and which limit binds."""
    happened, _, rest = card.sentence.partition(". ")
    facts = "".join(f"<span>{markup(s)}</span>" for s in (*card.sides, f"bound by {card.binding}"))
    rest = f'<p class="d-do">{prose(rest)}</p>' if rest else ""
    return block(
        f'<p class="d-state">{TITLE}: {markup(card.kind)}</p><h1>{markup(happened)}.</h1>{rest}'
        f'<div class="d-strip">{facts}</div>',
        "d-verdict d-compare",
    )


def changes(rows: Sequence[ChangeRow], names: tuple[str, str]) -> str:
    """Numbers on both sides."""
    body = "".join(
        f"<tr><td>{markup(r.name)}</td><td class='d-n'>{markup(r.before)}</td><td class='d-n'>{markup(r.after)}</td>"
        f"<td class='d-n'>{markup(r.factor)}</td><td>{markup(r.judged)}</td></tr>"
        for r in rows
    )
    return table(("Measured", *(n.capitalize() for n in names), "Factor", "Judged"), body)


def findings(rows: Sequence[OutcomeRow]) -> str:
    """What became of each finding."""
    body = "".join(
        f"<tr><td>{markup(r.rule)}</td><td class='d-n'>{markup(r.outcome)}</td><td>{markup(r.because)}</td></tr>"
        for r in rows
    )
    return table(("Finding", "What became of it", "Why"), body)


def settings(card: ComparisonCard) -> str:
    """Settings that differ."""
    body = "".join(
        f"<tr><td>{markup(name)}</td><td>{markup(before)}</td><td>{markup(after)}</td></tr>"
        for name, before, after in card.settings
    )
    return table(("Setting", *(n.capitalize() for n in card.names)), body)
