"""From native series to canonical signals: which series answers which signal of which entity.

The richest carrier that has a signal answers it; poorer ones fill gaps. Old and new names of one metric never add up.
"""

from __future__ import annotations

from collections import defaultdict

import duckdb
import numpy as np
from msgspec import Struct

from diagnostics.engines import registry
from diagnostics.model.catalog import Kind
from diagnostics.model.samples import Capture, InputKind, Resolution
from diagnostics.signals.identity import Identities

# Scrapes that a carrier must have to show a course and not only a difference.
MIN_RANGE_SAMPLES = 4

# Among carriers of equal resolution: true scrape times before a query's grid, metrics before printed lines.
_CARRIERS = (InputKind.OPENMETRICS, InputKind.EXPOSITION, InputKind.PROMETHEUS, InputKind.LOG)


class _Row(Struct):
    series_id: int
    entity: int
    signal: str
    part: str
    key: str
    le: float
    scale: float
    kind: Kind
    preference: int
    capture: int
    samples: int


def resolution_of(samples: int, timed: bool) -> Resolution:
    """What a series of so many samples can show."""
    if timed and samples >= MIN_RANGE_SAMPLES:
        return Resolution.RANGE
    return Resolution.PAIR if samples > 1 else Resolution.SNAPSHOT


def build_signals(
    db: duckdb.DuckDBPyConnection,
    captures: list[Capture],
    identities: Identities,
    first_series: list[int],
    timed: list[bool],
) -> None:
    """Lay out the tables that statistics and regimes read: ``signal_series``, ``points``, ``steps``, ``frame``.

    Args:
        db: the store, with the captures written.
        captures: in the order of the other lists.
        identities: entities of each series.
        first_series: number in the store of each capture's first series.
        timed: whether each capture has true times.
    """
    rows: list[_Row] = []
    for number, capture in enumerate(captures):
        rows.extend(_rows_of(number, capture, identities, first_series[number]))
    chosen = _choose(rows, captures, timed)
    db.execute("DROP TABLE IF EXISTS signal_series")
    db.execute(
        "CREATE TEMP TABLE signal_series AS SELECT unnest(?::BIGINT[]) AS series_id, unnest(?::INTEGER[]) AS e,"
        " unnest(?::VARCHAR[]) AS signal, unnest(?::VARCHAR[]) AS part, unnest(?::VARCHAR[]) AS key,"
        " unnest(?::DOUBLE[]) AS le, unnest(?::DOUBLE[]) AS scale, unnest(?::VARCHAR[]) AS kind,"
        " unnest(?::BOOLEAN[]) AS timed",
        [
            [r.series_id for r in chosen], [r.entity for r in chosen], [r.signal for r in chosen],
            [r.part for r in chosen], [r.key for r in chosen], [r.le for r in chosen],
            [r.scale for r in chosen], [r.kind.value for r in chosen], [timed[r.capture] for r in chosen],
        ],
    )  # fmt: skip
    for statement in _TABLES:
        db.execute(statement)


def _rows_of(number: int, capture: Capture, identities: Identities, first: int) -> list[_Row]:
    counts = (
        np.bincount(capture.series_of, minlength=len(capture.series))
        if capture.series_of is not None and len(capture.series_of)
        else np.zeros(len(capture.series), dtype=np.int64)
    )
    rows: list[_Row] = []
    for index, series in enumerate(capture.series):
        if not counts[index]:
            continue
        for _, metric, part in registry.meanings(series.name):
            if metric.where is not None and series.labels.get(metric.where[0]) not in metric.where[1]:
                continue
            le = float("nan") if series.le is None else series.le
            key = series.labels.get(metric.key, "") if metric.key else ""
            rows.extend(
                _Row(first + index, entity, metric.signal, part, key, le, metric.scale, metric.kind,
                     metric.preference, number, int(counts[index]))
                for entity in identities.of_series[number][index]
            )  # fmt: skip
    return rows


def _choose(rows: list[_Row], captures: list[Capture], timed: list[bool]) -> list[_Row]:
    """Keep for each (entity, signal) the rows of the best carrier.

    Dumps of one replica count together: three of them are one carrier with three scrapes.
    """
    groups: dict[tuple[int, str], dict[tuple[int, str], list[_Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        kind = captures[row.capture].kind
        carrier = f"{kind.value}" if kind is InputKind.EXPOSITION else f"{row.capture}"
        groups[(row.entity, row.signal)][(row.preference, carrier)].append(row)
    chosen: list[_Row] = []
    for options in groups.values():
        best = max(options.values(), key=lambda group: _worth(group, captures, timed))
        chosen.extend(best)
    return chosen


def _worth(group: list[_Row], captures: list[Capture], timed: list[bool]) -> tuple[int, int, int, int]:
    row = group[0]
    samples = sum(
        r.samples for r in group if (r.part, r.key, r.le) == (row.part, row.key, row.le) or r is row
    )
    kind = captures[row.capture].kind
    rank = _CARRIERS.index(kind) if kind in _CARRIERS else len(_CARRIERS)
    return (resolution_of(samples, timed[row.capture]), -rank, -row.preference, samples)


_TABLES = (
    # One value a signal, part, key and time; label sets that split a signal add up. A rate becomes the increment
    # it stands for: printed tokens per second times the time since the line before, at most 1.5 usual spacings,
    # because an idle engine prints no line.
    """
    CREATE OR REPLACE TEMP TABLE points AS
    WITH raw AS (
        SELECT m.e, m.signal, m.part, m.key, m.kind, m.timed, s.t,
               sum(s.value * m.scale) AS value, sum(s.increment * m.scale) AS inc
        FROM samples s JOIN signal_series m USING (series_id)
        WHERE m.part <> 'bucket'
        GROUP BY ALL
    ), spaced AS (
        SELECT *, t - lag(t) OVER (PARTITION BY e, signal, part, key ORDER BY t) AS dt
        FROM raw WHERE kind = 'rate'
    ), typical AS (
        SELECT e, signal, key, median(dt) FILTER (WHERE dt > 0) AS dt FROM spaced GROUP BY ALL
    )
    SELECT e, signal, part, key, timed, t, value, inc FROM raw WHERE kind <> 'rate'
    UNION ALL
    SELECT s.e, s.signal, s.part, s.key, s.timed, s.t, s.value,
           s.value * least(coalesce(s.dt, y.dt), 1.5 * y.dt) AS inc
    FROM spaced s JOIN typical y USING (e, signal, key)
    """,
    # The usual time between scrapes of each entity.
    """
    CREATE OR REPLACE TEMP TABLE steps AS
    WITH stamps AS (
        SELECT DISTINCT e, t FROM points
        WHERE timed AND signal IN ('running', 'waiting', 'kv_usage', 'generation_tokens', 'up')
    ), gaps AS (
        SELECT e, t - lag(t) OVER (PARTITION BY e ORDER BY t) AS dt, t FROM stamps
    )
    SELECT e, greatest(coalesce(median(dt) FILTER (WHERE dt > 0.05), 1.0), 0.5) AS step,
           min(t) AS first, max(t) AS last, count(*) AS n
    FROM gaps GROUP BY e
    """,
    # One row a scrape: what regimes are decided from.
    """
    CREATE OR REPLACE TEMP TABLE frame AS
    SELECT p.e, floor(p.t / s.step + 0.5)::BIGINT AS slot, min(p.t) AS t, any_value(s.step) AS step,
           min(value) FILTER (signal = 'up') AS up,
           max(value) FILTER (signal = 'running') AS running,
           max(value) FILTER (signal = 'waiting') AS waiting,
           max(value) FILTER (signal = 'waiting_deferred') AS deferred,
           max(value) FILTER (signal = 'kv_usage') AS kv,
           max(value) FILTER (signal = 'start_time') AS start_time,
           sum(inc) FILTER (signal = 'preemptions') AS preempted,
           sum(inc) FILTER (signal = 'requests_finished') AS finished,
           sum(inc) FILTER (signal = 'prompt_tokens') AS prompt,
           sum(inc) FILTER (signal = 'prefix_hits') AS hits,
           sum(inc) FILTER (signal = 'generation_tokens') AS generated,
           sum(inc) FILTER (signal = 'iteration_tokens' AND part = 'sum') AS step_tokens,
           sum(inc) FILTER (signal = 'iteration_tokens' AND part = 'count') AS engine_steps,
           sum(inc) FILTER (signal = 'queue_time' AND part = 'sum') AS queue_seconds,
           sum(inc) FILTER (signal = 'queue_time' AND part = 'count') AS queue_count
    FROM points p JOIN steps s USING (e)
    WHERE p.timed
    GROUP BY p.e, slot
    """,
)
