"""Latency & load: what users feel, over time, above what the engine had to do."""

from __future__ import annotations

from app import parts, strips
from app.frame import Opened, page
from app.topics import Topic, lay_out
from diagnostics.model.findings import ChartHint

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
    parts.stages(strips.stages(opened.report))
    lay_out(opened, TOPIC)


page(show)
