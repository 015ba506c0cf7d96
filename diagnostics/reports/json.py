"""The report as JSON: the public contract, field for field."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from msgspec import Struct

from diagnostics.model.report import Report

# Absent, not null, where it was not asked for.
_ON_REQUEST = frozenset({"comparison", "team_runbook"})
# Said in words beside it.
_IN_WORDS = frozenset({"interval"})
_TIMES = frozenset({"start", "end", "since", "generated_at"})


def iso(seconds: float) -> str:
    """Unix seconds as ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_dict(value: Any, name: str = "") -> Any:
    """A report or a part of it in JSON's own types; times become text, numbers that are none become null."""
    if isinstance(value, Struct):
        found = {field: getattr(value, field) for field in value.__struct_fields__}
        hidden = _IN_WORDS | {k for k in _ON_REQUEST if found.get(k) is None}
        return {k: as_dict(v, k) for k, v in found.items() if k not in hidden}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {str(k): as_dict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [as_dict(v) for v in value]
    return _number(value, name) if isinstance(value, float) else value


def _number(value: float, name: str) -> float | str | None:
    if not math.isfinite(value):
        return None
    return iso(value) if name in _TIMES else value


def render(report: Report) -> str:
    """The whole report as indented JSON."""
    return json.dumps(as_dict(report), indent=1, ensure_ascii=False)
