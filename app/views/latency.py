"""Latency & load: what users feel, over time, above what the engine had to do."""

from __future__ import annotations

import streamlit as st

from app import charts, words
from app.frame import Opened, page
from app.topics import Topic, lay_out
from diagnostics.model.findings import ChartHint
from diagnostics.reports.charts import ttft_figure

TOPIC = Topic(
    rules=frozenset(
        {
            "past-saturation-knee",
            "cap-throttled",
            "token-budget-bound",
            "prefill-stalls-decode",
            "client-disconnects",
            "idle-capacity",
            "decode-bound",
            "client-bound",
            "host-bound",
            "memory-bound",
            "preemption-storm",
        }
    ),
    pictures=(
        ("Time to first token and its wait", ChartHint(("ttft", "queue_time", "prefill_time"))),
        ("Gap between tokens, and the whole request", ChartHint(("itl", "e2e"))),
        ("Load", ChartHint(("running", "waiting", "requests_finished"))),
        ("Work", ChartHint(("iteration_tokens", "prompt_tokens", "generation_tokens"))),
    ),
    absent="No latency here",
    how="The inputs carry no histograms of latency over time. Give a Prometheus, or several dumps.",
)


def show(opened: Opened) -> None:
    """Lay the page out."""
    stages = charts.drawn(opened, "stages", lambda: ttft_figure(opened.report, opened.theme))
    if stages is not None:
        st.html(words.heading("Where the time to first token goes"))
        charts.show(opened, stages, "Time to first token by stage.")
    lay_out(opened, TOPIC)


page(show)
