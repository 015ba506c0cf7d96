"""Means of every replica over the time seen, for a table that sorts."""

from __future__ import annotations

import math

from msgspec import Struct

from diagnostics.model.report import Diagnosis
from diagnostics.reports.charts.base import worst_first
from diagnostics.reports.escape import terminal


class Measure(Struct, frozen=True):
    """One column: the signals whose means are added, and how the sum is shown."""

    name: str
    signals: tuple[str, ...]
    format: str
    help: str
    scale: float = 1.0


MEASURES = (
    Measure("requests/s", ("requests_finished",), "%.2f", "Requests finished a second, mean"),
    Measure(
        "tokens/s",
        ("prompt_tokens", "generation_tokens"),
        "%.0f",
        "Prompt and generated tokens a second, mean",
    ),
    Measure("running", ("running",), "%.1f", "Requests in the batch, mean"),
    Measure("waiting", ("waiting",), "%.1f", "Requests waiting in the engine, mean"),
    Measure(
        "KV in use, %", ("kv_usage",), "%.1f", "Share of the KV cache held by live requests, mean", 100.0
    ),
    Measure("TTFT, s", ("ttft",), "%.3f", "Mean time to first token"),
    Measure("token gap, ms", ("itl",), "%.1f", "Mean gap between two tokens of a request", 1000.0),
)


def rows(diagnosis: Diagnosis) -> list[dict[str, str | float | None]]:
    """One row a replica, worst first; a measure that nobody has is left out."""
    sums: dict[str, dict[str, float]] = {}
    for series in diagnosis.series:
        if math.isfinite(series.mean):
            sums.setdefault(series.replica, {})[series.signal] = series.mean
    order = [r for r in worst_first(diagnosis.report) if r in sums] + sorted(
        set(sums) - set(worst_first(diagnosis.report))
    )
    shown = [m for m in MEASURES if any(s in sums[r] for r in order for s in m.signals)]
    made: list[dict[str, str | float | None]] = []
    for replica in order:
        row: dict[str, str | float | None] = {"replica": terminal(replica)}
        for measure in shown:
            found = [sums[replica][s] for s in measure.signals if s in sums[replica]]
            row[measure.name] = sum(found) * measure.scale if found else None
        made.append(row)
    return made
