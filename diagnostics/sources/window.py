"""A stretch of time cut out of what was read, as if nothing else had been recorded."""

from __future__ import annotations

import numpy as np

from diagnostics.model.samples import Capture

# The end of the year 9999; nothing that tells a time goes beyond it.
_LAST_TIME = 253402300799.0
# What a start tells holds for the stretch too, whenever it was.
_LASTING = frozenset({"startup", "ready", "stage"})


def cut(capture: Capture, start: float | None, end: float | None) -> None:
    """Drop samples and events outside of a stretch; what has no time stays.

    Args:
        capture: changed in place; its times are true ones.
        start: Unix seconds, or None for the beginning.
        end: Unix seconds, or None for the end.
    """
    if start is None and end is None:
        return
    first, last = -np.inf if start is None else start, np.inf if end is None else end
    if capture.times is not None and capture.values is not None and capture.series_of is not None:
        kept = ~((capture.times < first) | (capture.times > last))
        capture.times, capture.values = capture.times[kept], capture.values[kept]
        capture.series_of = capture.series_of[kept]
    capture.events = [
        e for e in capture.events if e.time is None or e.kind in _LASTING or first <= e.time <= last
    ]


def drop_impossible_times(capture: Capture) -> None:
    """Leave out samples and events before 1970, after 9999 or at no finite time, and say how many samples.

    Args:
        capture: changed in place.
    """
    before = 0 if capture.times is None else len(capture.times)
    cut(capture, 0.0, _LAST_TIME)
    dropped = before - (0 if capture.times is None else len(capture.times))
    if dropped:
        capture.warnings.append(
            f"{dropped:,} samples at times outside of the years 1970 to 9999 are left out"
        )
