"""Many lines as one band: from the lowest to the highest of them, and the middle one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from diagnostics.reports.charts.base import Line

# A band has at most so many stretches: a few pixels each.
STRETCHES = 120


class Band(Struct, frozen=True, eq=False):
    """What a group of lines did, one place a stretch of time; milliseconds; where nobody has data there is none."""

    times: NDArray[np.float64]
    low: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]
    count: int

    def outline(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The edges as closed areas: along the highest and back along the lowest, one area between two gaps."""
        known = np.flatnonzero(np.isfinite(self.high))
        xs: list[NDArray[np.float64]] = []
        ys: list[NDArray[np.float64]] = []
        for run in np.split(known, np.flatnonzero(np.diff(known) > 1) + 1) if len(known) else ():
            back = run[::-1]
            xs += [self.times[run], self.times[back], np.array([np.nan])]
            ys += [self.high[run], self.low[back], np.array([np.nan])]
        return np.concatenate(xs or [np.empty(0)]), np.concatenate(ys or [np.empty(0)])


def band(lines: Sequence[Line]) -> Band:
    """The band of some lines. Peaks stay: the edges are of all points in a stretch."""
    times = np.concatenate([item.times for item in lines])
    values = np.concatenate([item.values for item in lines])
    start, end = float(times.min()), float(times.max())
    usual = float(
        np.median([np.median(np.diff(item.times)) if len(item.times) > 1 else 0.0 for item in lines])
    )
    width = max((end - start) / STRETCHES, 2 * usual, 1.0)
    count = int((end - start) // width) + 1
    known = np.isfinite(values)
    place, values = ((times[known] - start) // width).astype(np.int64), values[known]
    order = np.lexsort((values, place))
    place, values = place[order], values[order]
    first = np.searchsorted(place, np.arange(count))
    last = np.searchsorted(place, np.arange(count), side="right") - 1
    some = last >= first
    low, middle, high = (np.full(count, np.nan) for _ in range(3))
    low[some], high[some] = values[first[some]], values[last[some]]
    middle[some] = values[(first[some] + last[some]) // 2]
    middles = start + width * (np.arange(count, dtype=np.float64) + 0.5)
    return Band(middles, low, middle, high, len(lines))
