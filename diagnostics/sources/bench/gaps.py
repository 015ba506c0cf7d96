"""Gaps between tokens of every request, reduced as they pass: a result may hold hundreds of millions."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from diagnostics.sources.bench.values import number

# Single gaps that are kept of one load level: 16 MB, and more than any statistic of them needs.
MAX_GAPS = 2_000_000
_NONE = array("d")


class Gaps(Struct):
    """Gaps of one request in seconds: how many, their sum, and each of them unless left out for room."""

    count: int
    total: float
    kept: array[float]


def reduce_gaps(lists: Iterable[object]) -> list[Gaps]:
    """One entry a request, in order; anything but a list counts as no gaps.

    Where all gaps do not fit, those of every second, fourth, ... request are kept: evenly over the run, so that its
    beginning says no more than its end.
    """
    rows: list[Gaps] = []
    stride, kept = 1, 0
    for number_of, entry in enumerate(lists):
        values = _clean(entry) if isinstance(entry, list | array) else _NONE
        rows.append(Gaps(len(values), math.fsum(values), values if number_of % stride == 0 else _NONE))
        kept += len(rows[-1].kept)
        while kept > MAX_GAPS and stride <= number_of:
            stride *= 2
            for i, row in enumerate(rows):
                if i % stride:
                    row.kept = _NONE
            kept = sum(len(row.kept) for row in rows)
    return rows


def all_kept(rows: Sequence[Gaps]) -> bool:
    """Whether no gap was left out."""
    return all(row.count == len(row.kept) for row in rows)


def _clean(values: Iterable[Any]) -> array[float]:
    """Finite numbers only."""
    try:
        found = array("d", values)
    except TypeError:
        found = array("d", [g for g in map(number, values) if g is not None])
    return found if math.isfinite(sum(found)) else array("d", [g for g in found if math.isfinite(g)])
