"""Times for carriers that have none: an order always, true times only where something proves them.

Dumps are ordered by when their process started and by what their counters show, never by name. File times count
as times only when they lie at least a second apart and agree with that order: after a copy all are equal.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from diagnostics.model.samples import Capture

MIN_FILE_TIME_GAP = 1.0


class Untimed(Struct):
    """A dump without times: the capture and when its file was last written (Unix seconds, or None)."""

    capture: Capture
    modified: float | None


def has_times(capture: Capture) -> bool:
    """Whether every sample of a capture carries a time."""
    times = capture.times
    return times is None or len(times) == 0 or not bool(np.isnan(times).any())


def move_clock(capture: Capture, seconds: float) -> None:
    """Move everything in a capture that has a time, in place, and say so."""
    if capture.times is None:
        return
    capture.times += seconds
    capture.events = [replace(e, time=e.time + seconds) if e.time is not None else e for e in capture.events]
    capture.settings = [
        replace(s, time=s.time + seconds) if s.time is not None else s for s in capture.settings
    ]
    capture.time_basis += f"; moved by {seconds / 3600:+g} h to the clock of the metrics"


def _growth(capture: Capture) -> float:
    """Sum of all counters: later dumps of one process have more."""
    if capture.values is None or capture.series_of is None:
        return 0.0
    counters = np.array([s.name.endswith(("_total", "_count")) for s in capture.series], dtype=bool)
    return float(np.nansum(capture.values[counters[capture.series_of]])) if len(counters) else 0.0


def _start(capture: Capture) -> float:
    for index, series in enumerate(capture.series):
        if series.name == "process_start_time_seconds" and capture.series_of is not None:
            assert capture.values is not None  # noqa: S101  arrays come together
            return float(capture.values[capture.series_of == index][0])
    return 0.0


def order(dumps: list[Untimed]) -> list[Untimed]:
    """Dumps of one replica in the order they must have been taken."""
    return sorted(dumps, key=lambda d: (_start(d.capture), _growth(d.capture)))


def give_times(dumps: list[Untimed], interval: float | None) -> bool:
    """Give the dumps of one replica times, in place.

    Args:
        dumps: captures without times; all of one replica.
        interval: seconds between dumps as the user said, or None.

    Returns:
        True when the times are true times, False when they are only an order (0, 1, 2, ...).
    """
    ordered = order(dumps)
    modified = [d.modified for d in ordered]
    gaps = [b - a for a, b in pairwise(modified) if a is not None and b is not None]
    if interval is not None:
        base = modified[-1] or 0.0
        stamps = [base - interval * (len(ordered) - 1 - i) for i in range(len(ordered))]
        basis, timed = f"assumed {interval:g} s between dumps", True
    elif len(gaps) == len(ordered) - 1 and gaps and min(gaps) >= MIN_FILE_TIME_GAP:
        stamps = [m for m in modified if m is not None]
        basis, timed = "assumed from file times", True
    else:
        stamps = [float(i) for i in range(len(ordered))]
        basis, timed = "order only: the dumps carry no times", False
    for dump, stamp in zip(ordered, stamps, strict=True):
        times = dump.capture.times
        if times is not None:
            times[np.isnan(times)] = stamp
        dump.capture.time_basis = basis
    return timed
