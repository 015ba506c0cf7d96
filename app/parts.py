"""Parts that several pages lay out: finding cards, and what was and was not checked."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

import streamlit as st

from app import charts, gestures, strips, words
from app.frame import Opened
from diagnostics.model.findings import Finding, Severity
from diagnostics.reports.cards import FindingCard, RemedyLine, checked_card, finding_cards, unchecked_card
from diagnostics.reports.charts import finding_figure

_REMEDIES_SHOWN = 3


def binding(opened: Opened, rows: int = strips.SHOWN) -> None:
    """The ribbon, where there is a course over time; a click on a stretch chooses it."""
    drawn = strips.ribbon(opened.report, st.context.timezone, rows)
    if drawn:
        st.html(words.heading("What was binding") + drawn)
        gestures.listen()


def stages(drawn: str) -> None:
    """Where the time to first token goes; nothing where that was not measured."""
    if drawn:
        st.html(words.heading("Where the time to first token goes") + drawn)


def findings(opened: Opened, slugs: Collection[str] | None = None, *, folded: bool = False) -> int:
    """Finding cards, worst first; below them, one line each, their effects and what does not hurt.

    Args:
        opened: what the page shows.
        slugs: only these rules; None shows all.
        folded: one line each, to open.

    Returns:
        How many there were.
    """
    pairs = [
        (finding, card)
        for finding, card in zip(opened.report.findings, finding_cards(opened.report), strict=True)
        if slugs is None or finding.rule in slugs
    ]
    explained = {slug for finding in opened.report.findings for slug in finding.explains}
    loud = [(f, c) for f, c in pairs if f.severity is not Severity.INFO]
    for finding, card in loud:
        if not folded and finding.rule not in explained:
            _card(opened, finding, card, folded=False)
    effects = [(f, c) for f, c in loud if folded or f.rule in explained]
    if effects and not folded:
        st.html(words.heading("Explained by the above"))
    for finding, card in effects:
        _folded(opened, finding, card)
    quiet = [(f, c) for f, c in pairs if f.severity is Severity.INFO]
    if quiet:
        st.html(words.heading("Worth knowing, not hurting now"))
    for finding, card in quiet:
        _folded(opened, finding, card)
    return len(pairs)


def _folded(opened: Opened, finding: Finding, card: FindingCard) -> None:
    """One line; the card and its chart are only made once it is opened."""
    with st.expander(words.markdown_label(card.saw), key=f"fold-{card.key}", on_change="rerun") as line:
        if line.open:
            _card(opened, finding, card, folded=True)


def _card(opened: Opened, finding: Finding, card: FindingCard, *, folded: bool) -> None:
    with st.container(border=True, key=f"card-{card.key}"):
        st.html(words.finding_head(card))
        picture, text = st.columns([1, 1.06], gap="medium")
        with picture:
            key = f"proof-{card.key}"
            make = partial(finding_figure, opened.diagnosis, finding, opened.theme)
            if folded:
                charts.show(opened, charts.drawn(opened, key, make), card.saw)
            else:
                charts.later(opened, key, make, card.saw, height=380)
            if card.evidence:
                st.html(words.evidence(card.evidence))
            window = words.here(finding.window.start, finding.window.end, st.context.timezone)
            st.html(words.finding_ground(card, window))
            if card.verify:
                with st.expander("Check it yourself", icon=":material/query_stats:"):
                    for number, query in enumerate(card.verify):
                        with st.container(key=f"code-{card.key}-v{number}"):
                            st.code(query, language=None, wrap_lines=True)
        with text:
            st.html(words.finding_story(card, folded=folded))
            _remedies(card)
            st.html(words.finding_limits(card))


def _remedies(card: FindingCard) -> None:
    ordered = [("Now", line) for line in card.now]
    ordered += [("Next rollout", line) for line in card.next_rollout]
    ordered += [("Capacity", line) for line in card.capacity]
    for number, (title, line) in enumerate(ordered[:_REMEDIES_SHOWN]):
        _remedy(f"code-{card.key}-r{number}", title, line)
    if len(ordered) > _REMEDIES_SHOWN:
        with st.expander(f"{len(ordered) - _REMEDIES_SHOWN} more options"):
            for number, (title, line) in enumerate(ordered[_REMEDIES_SHOWN:], _REMEDIES_SHOWN):
                _remedy(f"code-{card.key}-r{number}", title, line)


def _remedy(key: str, title: str, line: RemedyLine) -> None:
    st.html(words.remedy(title, line))
    if line.copy:
        with st.container(key=key):
            st.code(line.copy, language=None, wrap_lines=True)


def looked_at(opened: Opened) -> None:
    """What was checked and is fine, what could not be checked and how to make it so."""
    checked, unchecked = checked_card(opened.report), unchecked_card(opened.report)
    if checked.rules or checked.suppressed:
        with st.expander(checked.title, icon=":material/check:"):
            st.html(words.chips(checked.rules))
            if checked.suppressed:
                st.html(words.block(words.markup("Suppressed: " + ", ".join(checked.suppressed)), "d-muted"))
    if unchecked.rows:
        with st.expander(unchecked.title, icon=":material/help:"):
            st.html(words.unchecked(unchecked))
