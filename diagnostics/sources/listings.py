"""Files about metrics that hold none that can be judged: tables of GPUs, lists of metric families. They are named as such."""

from __future__ import annotations

import csv
import re
from collections import Counter

from diagnostics.engines import registry
from diagnostics.model.samples import Capture, InputKind

_FAMILY = re.compile(
    r"^([a-zA-Z_:][\w:]*)\s+(?:gauge|counter|histogram|summary|info|stateset|unknown|untyped)$"
)
_INDEX = frozenset({"gpu", "gpu_id", "gpu_index", "index"})
_MEASURE = re.compile(r"energy|power|temp|clock|util|memory|vram|throttl|activity")
_FEWEST = 2


def read_listing(source: str, lines: list[str]) -> Capture | None:
    """Name a table of GPUs or a list of metric families; None when it is neither.

    Args:
        source: the input as the user named it.
        lines: its first lines.
    """
    told = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if len(told) < _FEWEST:
        return None
    return _gpu_table(source, told) or _families(source, told)


def _gpu_table(source: str, told: list[str]) -> Capture | None:
    try:
        header, *rows = ([cell.strip() for cell in row] for row in csv.reader(told) if row)
    except csv.Error:
        return None
    names = [cell.lower() for cell in header]
    index = next((i for i, name in enumerate(names) if name in _INDEX), None)
    measures = [cell for cell in header if _MEASURE.search(cell.lower())]
    if index is None or not measures or not rows:
        return None
    if any(len(row) != len(header) or not row[index].isdecimal() for row in rows):
        return None
    capture = Capture(source, InputKind.TELEMETRY)
    capture.recognised = (
        f"GPU table: {', '.join(measures)} of {len({row[index] for row in rows})} GPUs; no rule reads it, since it says "
        "neither when nor for which server"
    )
    return capture


def _families(source: str, told: list[str]) -> Capture | None:
    names = [match.group(1) for line in told if (match := _FAMILY.match(line))]
    if len(names) * 2 < len(told):
        return None
    engines = Counter(engine for name in names if (engine := registry.engine_of(name)))
    capture = Capture(source, InputKind.EXPOSITION)
    capture.engine = engines.most_common(1)[0][0] if engines else None
    capture.recognised = f"{len(names)} names of metrics without values"
    return capture
