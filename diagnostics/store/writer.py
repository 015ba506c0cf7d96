"""Writing captures: atomic and idempotent for each input.

Increments are computed once, here: the growth since the sample before, and after a counter reset the new value
itself. Nothing is extrapolated beyond the samples that exist.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import duckdb
import msgspec
import numpy as np
from numpy.typing import NDArray

from diagnostics.model.samples import Capture

_EMPTY_F = np.empty(0, dtype=np.float64)
_EMPTY_I = np.empty(0, dtype=np.int64)


def increments(series: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Reset-corrected growth of each sample since the one before it in its series.

    Args:
        series: series number of each sample, sorted; within a series samples are in time order.
        values: the counters' values.

    Returns:
        Array of the same shape; NaN at the first sample of a series. After a reset (the value falls) the growth
        is the new value, as in Prometheus.
    """
    growth = np.full(len(values), np.nan)
    if len(values) > 1:
        step = np.diff(values)
        step = np.where(step < 0, values[1:], step)
        growth[1:] = np.where(series[1:] == series[:-1], step, np.nan)
    return growth


def digest_of(capture: Capture) -> str:
    """A name for the content of a capture: the same input read twice has the same one."""
    sha = hashlib.sha256(f"{capture.source}\0{capture.kind}".encode())
    for array in (capture.times, capture.values):
        if array is not None:
            sha.update(np.ascontiguousarray(array).data)
    if capture.series_of is not None:
        # Where a series ends says as much as the number of every sample, and is shorter.
        ends = np.flatnonzero(np.diff(capture.series_of))
        sha.update(ends.tobytes() + capture.series_of[ends].tobytes())
    sha.update(repr((capture.settings, capture.events)).encode("utf-8", "replace"))
    return sha.hexdigest()


def _ordered(capture: Capture) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Samples sorted by (series, time), equal times of a series kept once (the last one read), NaN values dropped."""
    series = capture.series_of if capture.series_of is not None else _EMPTY_I
    times = capture.times if capture.times is not None else _EMPTY_F
    values = capture.values if capture.values is not None else _EMPTY_F
    keep = ~(np.isnan(values) | np.isnan(times))
    if not keep.all():
        series, times, values = series[keep], times[keep], values[keep]
    sorted_already = len(series) < 2 or bool(
        np.all((series[1:] > series[:-1]) | ((series[1:] == series[:-1]) & (times[1:] > times[:-1])))
    )
    if not sorted_already:
        order = np.lexsort((times, series))
        series, times, values = series[order], times[order], values[order]
        last = np.append((series[1:] != series[:-1]) | (times[1:] != times[:-1]), True)
        series, times, values = series[last], times[last], values[last]
    return series, times, values


def write_capture(db: duckdb.DuckDBPyConnection, capture: Capture, *, timed: bool) -> int:
    """Store one capture and return its input number; a capture already stored is left as it is.

    Args:
        db: the store.
        capture: what a source read; samples without a time must have been given an order as time.
        timed: whether times are true times, or an order only.

    Raises:
        duckdb.Error: the write failed; nothing of this input is stored then.
    """
    digest = digest_of(capture)
    if found := db.execute("SELECT input_id FROM inputs WHERE digest = ?", [digest]).fetchone():
        return int(found[0])
    series, times, values = _ordered(capture)
    db.execute("BEGIN")
    try:
        input_id, first = _next_numbers(db)
        db.execute(
            "INSERT INTO inputs VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [input_id, capture.source, digest, capture.kind.value, capture.engine, capture.engine_version, timed,
             capture.time_basis],
        )  # fmt: skip
        if capture.series:
            block = _series_block(capture, first)
            db.execute(
                "INSERT INTO series SELECT s, ?, name, labels, CASE WHEN isnan(le) THEN NULL ELSE le END FROM block",
                [input_id],
            )
        if len(series):
            block = {"s": series + first, "t": times, "v": values, "i": increments(series, values)}
            db.execute(
                "INSERT INTO samples SELECT s, t, v, CASE WHEN isnan(i) THEN NULL ELSE i END FROM block"
            )
            del block
        _write_facts(db, input_id, capture)
        db.execute("COMMIT")
    except BaseException:
        db.execute("ROLLBACK")
        raise
    return input_id


def _series_block(capture: Capture, first: int) -> dict[str, NDArray[Any]]:
    """Number, name, labels and bucket edge of each series, as columns that the database reads in place."""
    return {
        "s": np.arange(first, first + len(capture.series), dtype=np.int64),
        "name": np.array([series.name for series in capture.series], dtype=object),
        "labels": np.array(_label_texts(capture), dtype=object),
        "le": np.array([np.nan if s.le is None else s.le for s in capture.series]),
    }


def _label_texts(capture: Capture) -> list[str]:
    """Labels of each series as JSON; a dictionary that many series share is written out once."""
    texts: dict[int, str] = {}
    for series in capture.series:
        if id(series.labels) not in texts:
            texts[id(series.labels)] = msgspec.json.encode(series.labels).decode()
    return [texts[id(series.labels)] for series in capture.series]


def _next_numbers(db: duckdb.DuckDBPyConnection) -> tuple[int, int]:
    row = db.execute(
        "SELECT (SELECT coalesce(max(input_id), 0) + 1 FROM inputs),"
        " (SELECT coalesce(max(series_id), 0) + 1 FROM series)"
    ).fetchone()
    assert row is not None  # noqa: S101  an aggregate always answers one row
    return int(row[0]), int(row[1])


def _write_facts(db: duckdb.DuckDBPyConnection, input_id: int, capture: Capture) -> None:
    if capture.settings:
        db.execute(
            "INSERT INTO settings SELECT ?, unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]),"
            " unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
            [
                input_id,
                [s.name for s in capture.settings],
                [s.value for s in capture.settings],
                [s.provenance.value for s in capture.settings],
                [s.where for s in capture.settings],
                [json.dumps(s.labels) for s in capture.settings],
            ],
        )
    if capture.events:
        db.execute(
            "INSERT INTO events SELECT ?, unnest(?::DOUBLE[]), unnest(?::VARCHAR[]), unnest(?::VARCHAR[]),"
            " unnest(?::VARCHAR[]), unnest(?::VARCHAR[])",
            [
                input_id,
                [e.time for e in capture.events],
                [e.kind for e in capture.events],
                [e.text for e in capture.events],
                [json.dumps(e.fields) for e in capture.events],
                [json.dumps(e.labels) for e in capture.events],
            ],
        )
