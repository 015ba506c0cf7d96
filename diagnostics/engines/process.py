"""Metrics that every exporter has: whether the scrape worked, when the process started."""

from __future__ import annotations

from diagnostics.engines.base import Engine, Metric
from diagnostics.model.catalog import Kind

ENGINE = Engine(
    name="process",
    title="process and scrape",
    prefixes=("process_", "up"),
    recorded=True,
    metrics=(
        Metric("up", "up", Kind.GAUGE),
        Metric("process_start_time_seconds", "start_time", Kind.GAUGE),
        # Of the API server only: engine core and workers are processes of their own.
        Metric("process_cpu_seconds_total", "process_cpu", Kind.COUNTER),
    ),
    serves=False,
)
