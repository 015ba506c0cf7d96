"""Several captures of one replica as one, so that a counter's growth between them can be seen."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diagnostics.model.samples import Capture, InputKind

Part = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]


def merge(captures: list[Capture]) -> Capture:
    """Join captures that hold the same series at different times.

    Args:
        captures: with times (or an order as times), of one replica.
    """
    whole = Capture(", ".join(c.source for c in captures), InputKind.EXPOSITION)
    numbers: dict[tuple[str, tuple[tuple[str, str], ...], float | None], int] = {}
    parts: list[Part] = []
    for capture in captures:
        renumbered = np.empty(len(capture.series), dtype=np.int64)
        for i, series in enumerate(capture.series):
            key = (series.name, tuple(sorted(series.labels.items())), series.le)
            if key not in numbers:
                numbers[key] = len(whole.series)
                whole.series.append(series)
            renumbered[i] = numbers[key]
        if capture.series_of is not None and capture.times is not None and capture.values is not None:
            parts.append((renumbered[capture.series_of], capture.times, capture.values))
        whole.settings.extend(capture.settings)
        whole.events.extend(capture.events)
        whole.engine = whole.engine or capture.engine
        whole.engine_version = whole.engine_version or capture.engine_version
        whole.suffix = whole.suffix or capture.suffix
        whole.time_basis = capture.time_basis
    if parts:
        whole.series_of = np.concatenate([p[0] for p in parts])
        whole.times = np.concatenate([p[1] for p in parts])
        whole.values = np.concatenate([p[2] for p in parts])
    return whole
