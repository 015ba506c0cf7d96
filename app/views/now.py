"""Now: what is wrong, since when, how sure, what to do; then where, then the proof."""

from __future__ import annotations

import streamlit as st

from app import charts, parts, strips, words
from app.frame import Opened, page
from diagnostics.reports.cards import healthy_card, primary, verdict_card
from diagnostics.reports.charts import load_figure


def show(opened: Opened) -> None:
    """Lay the page out in the order of thought."""
    first = primary(opened.report)
    begin = first.window.start if first is not None else None
    st.html(words.verdict(verdict_card(opened.report), words.here(begin, None, st.context.timezone)))
    calm = healthy_card(opened.report, opened.diagnosis.series)
    if calm is not None and calm.headroom:
        st.html(words.figures(calm.headroom))
    parts.binding(opened)
    _where_and_load(opened)
    if parts.findings(opened) == 0 and calm is None and opened.report.verdict.status == "findings":
        st.caption("No finding is about what is chosen above.")
    parts.looked_at(opened)


def _where_and_load(opened: Opened) -> None:
    parts.stages(strips.stages(opened.report))
    load = charts.drawn(opened, "load", lambda: load_figure(opened.diagnosis, opened.theme), by="drag")
    if load is not None:
        st.html(words.heading("Load"))
        charts.show(opened, load, "Requests running, waiting and finished over time.")


page(show)
