"""Speculation: how much of the drafts is accepted, by position, and whether it pays."""

from __future__ import annotations

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
    figures = [
        f for finding in opened.report.findings if (f := acceptance_figure(finding, opened.theme)) is not None
    ]
    if figures:
        st.html(words.heading("Acceptance by position in the draft"))
        charts.show(
            figures[0],
            "positions",
            opened.chosen,
            alt="Share of drafts accepted at each position, falling to the right.",
        )
    lay_out(opened, TOPIC)


page(show)
