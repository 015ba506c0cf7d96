"""Now: what is wrong, since when, how sure, what to do; then where, then the proof."""

from __future__ import annotations

import streamlit as st

from app import charts, parts, words
from app.frame import Opened, page
from diagnostics.reports.cards import healthy_card, verdict_card
from diagnostics.reports.charts import load_figure, ribbon_figure, ttft_figure


def show(opened: Opened) -> None:
    """Lay the page out in the order of thought."""
    st.html(words.verdict(verdict_card(opened.report)))
    calm = healthy_card(opened.report, opened.diagnosis.series)
    if calm is not None and calm.headroom:
        st.html(words.figures(calm.headroom))
    if opened.report.regimes:
        st.html(words.heading("What was binding"))
        charts.show(
            opened,
            charts.drawn(opened, "ribbon", lambda: ribbon_figure(opened.report, opened.theme), by="click"),
            "What was binding on each replica over time. Click a stretch to narrow all charts to it.",
        )
    _where_and_load(opened)
    if parts.findings(opened) == 0 and calm is None and opened.report.verdict.status == "findings":
        st.caption("No finding is about what is chosen above.")
    parts.looked_at(opened)


def _where_and_load(opened: Opened) -> None:
    stages = charts.drawn(opened, "stages", lambda: ttft_figure(opened.report, opened.theme))
    load = charts.drawn(opened, "load", lambda: load_figure(opened.diagnosis, opened.theme), by="drag")
    if stages is None and load is None:
        return
    left, right = (
        st.columns(2, gap="medium")
        if stages is not None and load is not None
        else (st.container(), st.container())
    )
    if stages is not None:
        with left:
            st.html(words.heading("Where the time to first token goes"))
            charts.show(opened, stages, "Mean time to first token by stage, before and during the trouble.")
    if load is not None:
        with right:
            st.html(words.heading("Load"))
            charts.show(opened, load, "Requests running, waiting and finished over time.")


page(show)
