"""Quantiles of histograms, as Prometheus computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64] | Sequence[float]


def histogram_quantile(q: float, les: Numbers, cumulative: Numbers) -> float:
    """Quantile from the increase of each cumulative bucket, as Prometheus does it.

    Args:
        q: 0 to 1.
        les: upper edges, ascending, the last one infinite.
        cumulative: increase of each bucket over the window, same shape.

    Returns:
        Linear interpolation within the bucket, the lower edge of the first being 0 (when its upper edge is
        positive); the highest finite edge when it lies beyond; NaN without observations.
    """
    if len(les) < 2 or np.isnan(cumulative).any() or cumulative[-1] <= 0:
        return float("nan")
    counts = np.maximum.accumulate(np.asarray(cumulative, dtype=np.float64))
    rank = q * counts[-1]
    i = int(np.searchsorted(counts, rank, "left"))
    if i >= len(les) - 1:
        return float(les[-2])
    if i == 0 and les[0] <= 0:
        return float(les[0])
    low, below = (0.0, 0.0) if i == 0 else (float(les[i - 1]), float(counts[i - 1]))
    inside = counts[i] - below
    return float(les[i]) if inside <= 0 else low + (float(les[i]) - low) * (rank - below) / inside
