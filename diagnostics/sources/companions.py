"""Files that lie beside a benchmark result and hold none: each is refused with what to give instead."""

from __future__ import annotations

import csv

from diagnostics.model.errors import InputError

_METRICS = "give the engine's own metrics of the same minutes: a metrics API, or saved dumps"
_LOCUST = "give the file *_stats.csv of the same run"
# Columns that only this file has, what it is, what to give.
_TABLES: tuple[tuple[frozenset[str], str, str], ...] = (
    (
        frozenset({"Timestamp", "User Count", "Type", "Name"}),
        "is Locust's history: percentiles over a sliding window beside sums since the start, which are no load level",
        _LOCUST,
    ),
    (
        frozenset({"Method", "Name", "Error", "Occurrences"}),
        "is Locust's list of failures (without rows: none) and has no count of requests to hold them against",
        _LOCUST,
    ),
    (
        frozenset({"timestamp_sec", "relative_time_sec", "kv_cache_usage_pct"}),
        "is a series of server figures under names of the script that took it, without replica and model",
        _METRICS,
    ),
    (
        frozenset({"Endpoint", "Type", "Metric", "Unit", "avg", "min", "max"}),
        "is AIPerf's summary of server metrics: averages over the whole run do not say what happened when",
        _METRICS,
    ),
)
_SNIFFED_LINES = 20


def refuse(source: str, lines: list[str]) -> None:
    """Refuse a file that is known to hold no result.

    Args:
        source: as the user gave it.
        lines: the first lines of the file.

    Raises:
        InputError: it is such a file; the message says what it is and what to give.
    """
    heading = next((line for line in lines[:_SNIFFED_LINES] if line.strip() and not line.startswith("#")), "")
    cells = {cell.strip() for cell in next(csv.reader([heading]), [])}
    for columns, what, instead in _TABLES:
        if columns <= cells:
            raise InputError(source, "", what, instead)
