"""Speculation: how much of the drafts is accepted, by position, and whether it pays."""

from __future__ import annotations

from typing import Any

import streamlit as st

from app import charts, words
from app.frame import Opened, page
from app.topics import Topic, lay_out
from diagnostics.model.findings import ChartHint
from diagnostics.reports.charts import acceptance_figure

TOPIC = Topic(
    rules=frozenset(
        {
            "low-acceptance",
            "draft-length-overshoot",
            "prompt-lookup-misfit",
            "speculation-at-high-batch",
            "drafter-too-expensive",
        }
    ),
    pictures=(
        (
            "Accepted share of drafted tokens",
            ChartHint(("spec_draft_tokens", "spec_accepted_tokens"), {"spec_accept_rate": 0.3}),
        ),
        ("Batch, which speculation competes with", ChartHint(("running", "generation_tokens"))),
    ),
    absent="No speculation here",
    how="The engine counts no drafts: speculative decoding is off, or its counters are not in these inputs.",
)


def show(opened: Opened) -> None:
    """Lay the page out."""
    if not any(s.signal.startswith("spec_") for s in opened.diagnosis.series):
        st.html(words.stand_in(TOPIC.absent, TOPIC.how))
        return
    positions = charts.drawn(opened, "positions", lambda: _positions(opened))
    if positions is not None:
        st.html(words.heading("Acceptance by position in the draft"))
        charts.show(opened, positions, "Share of drafts accepted at each position, falling to the right.")
    lay_out(opened, TOPIC)


def _positions(opened: Opened) -> Any | None:
    """Bars of the first finding that tells acceptance by position."""
    made = (acceptance_figure(finding, opened.theme) for finding in opened.report.findings)
    return next((figure for figure in made if figure is not None), None)


page(show)
