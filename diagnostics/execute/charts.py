"""The points of the signals that charts show, one series a replica; nothing is averaged over replicas.

A course with more points than a screen can show is cut into equal stretches, and of each the lowest and the
highest point stay, at their own times: no peak and no dip is lost.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import numpy as np
from numpy.typing import NDArray

from diagnostics.model.catalog import SIGNALS, Kind
from diagnostics.model.report import SignalSeries
from diagnostics.signals.identity import Entity

CHARTED = (
    "running", "waiting", "waiting_deferred", "kv_usage", "up", "prompt_tokens", "generation_tokens",
    "requests_finished", "preemptions", "prefix_queries", "prefix_hits", "spec_draft_tokens",
    "spec_accepted_tokens",
)  # fmt: skip
CHARTED_MEANS = ("ttft", "itl", "queue_time", "prefill_time", "e2e", "iteration_tokens")
# So many points a series are enough for any screen; all series of a large fleet share a number.
MAX_POINTS, MIN_POINTS, ALL_POINTS = 240, 120, 1_500_000

# The value of each scrape: of a gauge as it is, of a counter the growth over the seconds since the scrape before,
# of a histogram the growth of its sum over that of its count. `part` and `whole` are these two growths.
_COURSES = """
CREATE OR REPLACE TEMP TABLE courses AS
WITH growth AS (
    SELECT e, signal, t, CASE WHEN isfinite(sum(value)) THEN sum(value) END AS value, sum(inc) AS part,
           t - lag(t) OVER (PARTITION BY e, signal ORDER BY t) AS whole
    FROM points WHERE timed AND part = 'value' AND key = '' AND signal IN (SELECT unnest($plain::VARCHAR[]))
    GROUP BY e, signal, t
    UNION ALL
    SELECT e, signal, t, NULL, sum(inc) FILTER (part = 'sum'), sum(inc) FILTER (part = 'count')
    FROM points WHERE timed AND signal IN (SELECT unnest($means::VARCHAR[]))
    GROUP BY e, signal, t
)
SELECT e, signal, t, CASE WHEN gauge THEN value ELSE part / nullif(whole, 0) END AS y,
       CASE WHEN gauge THEN value ELSE part END AS part,
       CASE WHEN NOT gauge THEN whole WHEN value IS NOT NULL THEN 1 END AS whole,
       row_number() OVER (PARTITION BY e, signal ORDER BY t) - 1 AS i,
       count(*) OVER (PARTITION BY e, signal) AS n
FROM (SELECT *, signal IN (SELECT unnest($gauges::VARCHAR[])) AS gauge FROM growth)
"""
_DRAWN = """
SELECT e, signal, n, coalesce(arg_min(t, y), min(t)) AS low_t, coalesce(min(y), 'nan') AS low,
       coalesce(arg_max(t, y), min(t)) AS high_t, coalesce(max(y), 'nan') AS high
FROM courses GROUP BY e, signal, n, CASE WHEN n <= $most THEN i ELSE i * ($most // 2) // n END
ORDER BY e, signal, min(t)
"""
_WHOLES = """
SELECT e, signal, sum(part) FILTER (whole > 0) / nullif(sum(whole) FILTER (part IS NOT NULL), 0) AS mean
FROM courses GROUP BY e, signal ORDER BY e, signal
"""


def signal_series(db: duckdb.DuckDBPyConnection, entities: list[Entity]) -> Iterator[SignalSeries]:
    """Yield the series that charts may show, in order of replica and signal."""
    gauges = [s for s in CHARTED if SIGNALS[s].kind is Kind.GAUGE]
    db.execute(_COURSES, {"plain": list(CHARTED), "means": list(CHARTED_MEANS), "gauges": gauges})
    wholes = db.execute(_WHOLES).fetchall()
    most = max(MIN_POINTS, min(MAX_POINTS, ALL_POINTS // max(1, len(wholes))))
    found = db.execute(_DRAWN, {"most": most}).fetchnumpy()
    low, high, low_t, high_t = (
        np.asarray(found[k], dtype=np.float64) for k in ("low", "high", "low_t", "high_t")
    )
    signals = np.asarray(found["signal"])
    changed = (found["e"][1:] != found["e"][:-1]) | (signals[1:] != signals[:-1])
    edges = [0, *(np.flatnonzero(changed) + 1).tolist(), len(signals)]
    # Both are in order of (e, signal), so part and mean go together.
    for (number, signal, mean), start, end in zip(wholes, edges, edges[1:], strict=False):
        part = slice(start, end)
        times, values = _in_order(low_t[part], low[part], high_t[part], high[part])
        if len(times) > 1:
            spec = SIGNALS[signal]
            unit = f"{spec.unit}/s" if spec.kind is Kind.COUNTER else spec.unit
            known = float("nan") if mean is None else float(mean)
            yield SignalSeries(entities[number].label, signal, unit, times, values, known)


def _in_order(
    low_t: NDArray[np.float64],
    low: NDArray[np.float64],
    high_t: NDArray[np.float64],
    high: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Lowest and highest points as one course; where both are one point it is taken once."""
    times, values = np.column_stack((low_t, high_t)), np.column_stack((low, high))
    back = high_t < low_t
    times[back], values[back] = times[back, ::-1], values[back, ::-1]
    kept = np.column_stack((np.ones(len(low_t), dtype=bool), low_t != high_t))
    return times[kept], values[kept]
