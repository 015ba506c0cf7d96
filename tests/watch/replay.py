"""Recordings at other times and one after another, as a Prometheus would have scraped them from one server."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable
from pathlib import Path

SAMPLES = Path(__file__).parents[2] / "sample_data"
_JOB = re.compile(r'job="[^"]*"')
_START = "process_start_time_seconds"


def piece(folder: str, start: float, job: str = "vllm") -> tuple[list[str], float]:
    """The lines of a sample with its first time moved to ``start`` and another job.

    Returns:
        (lines of OpenMetrics text, the last time).
    """
    text = gzip.decompress((SAMPLES / folder / "openmetrics.txt.gz").read_bytes()).decode()
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    by = start - min(float(line.rsplit(" ", 1)[1]) for line in lines)
    label = f'job="{job}"'
    moved, last = [], start
    for line in lines:
        series, value, stamp = line.rsplit(" ", 2)
        if series.startswith(_START):
            value = repr(float(value) + by)
        last = max(last, float(stamp) + by)
        moved.append(f"{_JOB.sub(label, series)} {value} {float(stamp) + by:.3f}")
    return moved, last


def chain(folders: Iterable[str], start: float, gap: float, job: str = "vllm") -> tuple[list[str], list[tuple[str, float, float]]]:
    """Samples one after another, ``gap`` seconds apart: one server that is restarted between them.

    Returns:
        (lines, for each sample its name, first and last time).
    """
    lines: list[str] = []
    pieces: list[tuple[str, float, float]] = []
    for folder in folders:
        found, last = piece(folder, start, job)
        lines += found
        pieces.append((folder, start, last))
        start = last + gap
    return lines, pieces
