"""The points of the signals that charts show, one series a replica; nothing is averaged over replicas."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np

from diagnostics.model.catalog import SIGNALS, Kind
from diagnostics.model.report import SignalSeries
from diagnostics.signals.identity import Entity

CHARTED = (
    "running", "waiting", "waiting_deferred", "kv_usage", "up", "prompt_tokens", "generation_tokens",
    "requests_finished", "preemptions", "prefix_queries", "prefix_hits", "spec_draft_tokens",
    "spec_accepted_tokens",
)  # fmt: skip
CHARTED_MEANS = ("ttft", "itl", "queue_time", "prefill_time", "e2e", "iteration_tokens")
# So many points a series are enough for any screen.
MAX_POINTS = 720

_VALUES = """
SELECT e, signal, t, coalesce(sum(value), 'nan'::DOUBLE) AS value, coalesce(sum(inc), 'nan'::DOUBLE) AS inc FROM points
WHERE timed AND part = 'value' AND key = '' AND signal IN (SELECT unnest(?::VARCHAR[]))
GROUP BY ALL ORDER BY e, signal, t
"""
_MEANS = """
SELECT e, signal, t,
       coalesce(sum(inc) FILTER (part = 'sum') / nullif(sum(inc) FILTER (part = 'count'), 0), 'nan'::DOUBLE) AS value,
       'nan'::DOUBLE AS inc
FROM points WHERE timed AND signal IN (SELECT unnest(?::VARCHAR[]))
GROUP BY ALL ORDER BY e, signal, t
"""


def signal_series(db: duckdb.DuckDBPyConnection, entities: list[Entity]) -> Iterator[SignalSeries]:
    """Yield the series that charts may show."""
    for query, wanted in ((_VALUES, CHARTED), (_MEANS, CHARTED_MEANS)):
        rows = db.execute(query, [list(wanted)]).fetchnumpy()
        value = np.asarray(rows["value"], dtype=np.float64)
        growth = np.asarray(rows["inc"], dtype=np.float64)
        times = np.asarray(rows["t"], dtype=np.float64)
        labels = np.char.add(np.char.add(rows["e"].astype(str), "|"), rows["signal"].astype(str))
        edges = np.flatnonzero(labels[1:] != labels[:-1]) + 1 if len(labels) else np.empty(0, dtype=np.int64)
        for part in np.split(np.arange(len(labels)), edges):
            if len(part) > 1:
                yield _one(entities, str(labels[part[0]]), times[part], value[part], growth[part])


def _one(
    entities: list[Entity],
    label: str,
    times: np.ndarray,
    value: np.ndarray,
    growth: np.ndarray,
) -> SignalSeries:
    number, _, signal = label.partition("|")
    unit = SIGNALS[signal].unit
    if SIGNALS[signal].kind is Kind.COUNTER:
        gaps = np.diff(times, prepend=times[0])
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(gaps > 0, growth / gaps, np.nan)
        unit = f"{unit}/s"
    every = max(1, -(-len(times) // MAX_POINTS))
    return SignalSeries(
        entities[int(number)].label,
        signal,
        unit,
        tuple(times[::every].tolist()),
        tuple(value[::every].tolist()),
    )
