"""The same facts through each carrier: OpenMetrics with times, a saved answer, dumps without times."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

from support.series import STALE, Line, Recording

# What a scrape adds and a page does not have.
_TARGET_LABELS = ("instance", "job")


def label_text(labels: dict[str, str]) -> str:
    """Labels as the text format writes them."""
    if not labels:
        return ""
    escaped = {k: v.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") for k, v in labels.items()}
    return "{" + ",".join(f'{k}="{v}"' for k, v in escaped.items()) + "}"


def number_text(value: float) -> str:
    """A number as exporters write it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return repr(float(value))


def openmetrics(recording: Recording) -> str:
    """OpenMetrics text with the time of every sample; the mark of an ended series is a NaN there."""
    lines = []
    for line in recording.lines:
        head = f"{line.name}{label_text(line.labels)}"
        for i, value in enumerate(line.values):
            if value is not None:
                number = "NaN" if value == STALE else number_text(float(value))
                lines.append(f"{head} {number} {recording.time(i):.3f}")
    return "\n".join([*lines, "# EOF", ""])


def query_range(recording: Recording) -> str:
    """The answer of a range query: no point where there is no sample or the series has ended."""
    result = [
        {
            "metric": {"__name__": line.name, **line.labels},
            "values": [
                [recording.time(i), number_text(float(value))]
                for i, value in enumerate(line.values)
                if value is not None and value != STALE
            ],
        }
        for line in recording.lines
    ]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})


def dump(recording: Recording, scrape: int, instance: str | None = None) -> str:
    """One page as the server shows it at a scrape: no times, no labels of the target."""
    lines = []
    for line in recording.lines:
        if instance is not None and line.labels.get("instance", "") != instance:
            continue
        value = _value_at(line, scrape)
        if value is not None and line.name != "up":
            labels = {k: v for k, v in line.labels.items() if k not in _TARGET_LABELS}
            lines.append(f"{line.name}{label_text(labels)} {number_text(value)}")
    return "\n".join([*lines, ""])


def _value_at(line: Line, scrape: int) -> float | None:
    value = line.values[scrape] if scrape < len(line.values) else None
    return None if value is None or value == STALE else float(value)


def write_openmetrics(recording: Recording, folder: Path) -> Path:
    """``openmetrics.txt.gz`` in a folder."""
    path = folder / "openmetrics.txt.gz"
    path.write_bytes(gzip.compress(openmetrics(recording).encode()))
    return path


def write_query_range(recording: Recording, folder: Path) -> Path:
    """``prometheus.json.gz`` in a folder."""
    path = folder / "prometheus.json.gz"
    path.write_bytes(gzip.compress(query_range(recording).encode()))
    return path


def write_dumps(recording: Recording, folder: Path, scrapes: tuple[int, ...] | None = None) -> list[Path]:
    """``metrics_start.txt``, ``metrics_mid.txt``, ``metrics_end.txt``; with ``.r0``, ``.r1`` for replicas."""
    last = recording.scrapes - 1
    chosen = scrapes or (0, last // 2, last)
    names = ("start", "mid", "end") if len(chosen) == 3 else tuple(str(i) for i in range(len(chosen)))
    found = []
    for replica, instance in enumerate(recording.instances):
        suffix = f".r{replica}" if len(recording.instances) > 1 else ""
        for name, scrape in zip(names, chosen, strict=True):
            path = folder / f"metrics_{name}{suffix}.txt"
            path.write_text(dump(recording, scrape, instance), "utf-8")
            found.append(path)
    return found
