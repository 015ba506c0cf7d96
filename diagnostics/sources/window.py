"""A stretch of time cut out of what was read, as if nothing else had been recorded."""

from __future__ import annotations

import numpy as np

from diagnostics.model.samples import Capture

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
