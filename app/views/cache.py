"""Cache: prefix hits against lookups, the room in the KV cache, and routing that decides both."""

from __future__ import annotations

from app.frame import Opened, page
from app.topics import Topic, lay_out
from diagnostics.model.findings import ChartHint

TOPIC = Topic(
    rules=frozenset(
        {
            "prefix-cache-miss",
            "prefix-blind-routing",
            "identical-prompts",
            "kv-budget-thin",
            "memory-bound",
            "preemption-storm",
            "reserved-slot-waste",
            "model-len-oversized",
        }
    ),
    pictures=(
        ("Prefix cache", ChartHint(("prefix_hits", "prefix_queries"))),
        ("KV cache", ChartHint(("kv_usage", "preemptions"))),
    ),
    absent="No cache signals here",
    how="The inputs carry neither prefix lookups nor use of the KV cache over time.",
)


def show(opened: Opened) -> None:
    """Lay the page out."""
    lay_out(opened, TOPIC)


page(show)
