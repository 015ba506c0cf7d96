"""Calm recordings cut into short windows at coarse scrape steps: none of them may raise a loud finding.

Usage: python tests/soak/soak_silence.py [--windows 1000] [--seed 1] [--reference ../shared]

Prints every warning or critical finding with its window, and exits 1 when there is one.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from diagnostics.compare.split import Material, between
from diagnostics.loading import load, with_times
from diagnostics.model.findings import Finding, Severity
from diagnostics.model.samples import Capture
from diagnostics.options import Options
from diagnostics.walk import walk

ROOT = Path(__file__).resolve().parents[2]
SHORTEST, LONGEST = 60.0, 300.0
STEPS = (1.0, 2.0, 5.0, 10.0, 15.0)


class Calm(Struct, frozen=True):
    """A recording with nothing wrong in it, or the stretch of one (seconds from its start) in which nothing is.

    ``allowed`` are rules that are right to speak all the same.
    """

    name: str
    path: Path
    first: float = 0.0
    last: float = float("inf")
    allowed: frozenset[str] = frozenset()


class Window(Struct, frozen=True):
    """One piece: of which recording, from when for how long (seconds), at which scrape step."""

    calm: Calm
    start: float
    length: float
    step: float

    def __str__(self) -> str:
        """In a line."""
        return f"{self.calm.name} +{self.start:.0f} s for {self.length:.0f} s at steps of {self.step:g} s"


class Alarm(Struct, frozen=True):
    """A loud finding where there should be none."""

    window: Window
    finding: Finding


def samples() -> list[Calm]:
    """The committed recordings that are calm, and the calm beginning of the two long incidents."""
    folder = ROOT / "sample_data"
    return [
        Calm("healthy", folder / "healthy"),
        Calm("concurrency-cap", folder / "concurrency-cap", 0.0, 295.0),
        Calm("kv-memory", folder / "kv-memory", 0.0, 295.0),
    ]


def recordings(reference: Path) -> list[Calm]:
    """The calm recordings of a reference folder: those whose key is healthy, and healthy stretches of incidents."""
    found = []
    with (reference / "expected.csv").open(newline="") as file:
        rows = [r for r in csv.DictReader(file) if r["form"] == "trace"]
    for row in rows:
        folder = reference / row["path"]
        label = json.loads((folder / "label.json").read_text("utf-8"))
        if row["primary"].split(";")[0] == "healthy" and not any(folder.glob("bench*.json")):
            found.append(Calm(folder.name, folder, allowed=frozenset(row["also_ok"].split(";"))))
        origin = label["window"]["start"]
        for start, end in label.get("healthy_stretches", []):
            found.append(Calm(folder.name, folder, start - origin, end - origin))
    return found


@cache
def _read(path: Path) -> tuple[Material, float, float]:
    """A recording and its first and last moment; metrics and logs, not what tells the answer."""
    files = [f for f in sorted(path.iterdir()) if f.name.startswith(("openmetrics", "engine"))]
    data = with_times(load([str(f) for f in files], Options()), None)
    times = [c.times for c in data.captures if c.times is not None and "engine" not in c.source]
    return data, float(min(t.min() for t in times)), float(max(t.max() for t in times))


def cut(window: Window) -> Material:
    """The samples of a window, one scrape a step."""
    data, first, _ = _read(window.calm.path)
    begin = first + window.start
    piece = between(data, (begin, begin + window.length))
    return Material([_thinned(c, begin, window.step) for c in piece.captures], piece.timed, piece.identities)


def _thinned(capture: Capture, begin: float, step: float) -> Capture:
    """Of each series the first sample in every step, none from before; lines of a log stay as they are."""
    if (
        capture.times is None
        or capture.series_of is None
        or capture.values is None
        or "engine" in capture.source
    ):
        return capture
    slots = np.floor((capture.times - begin) / step).astype(np.int64)
    order = np.lexsort((capture.times, slots, capture.series_of))
    order = order[slots[order] >= 0]
    series, slot = capture.series_of[order], slots[order]
    kept = order[np.append(True, (series[1:] != series[:-1]) | (slot[1:] != slot[:-1]))]
    return replace(
        capture, series_of=capture.series_of[kept], times=capture.times[kept], values=capture.values[kept]
    )


def windows(calm: Sequence[Calm], count: int, seed: int) -> Iterator[Window]:
    """Pieces of one to five minutes at steps of 1 to 15 s, the same for the same seed."""
    chance = random.Random(seed)
    for _ in range(count):
        one = chance.choice(calm)
        _, first, last = _read(one.path)
        end = min(one.last, last - first)
        length = min(chance.uniform(SHORTEST, LONGEST), end - one.first)
        yield Window(
            one, one.first + chance.uniform(0.0, end - one.first - length), length, chance.choice(STEPS)
        )


def alarms(window: Window) -> list[Alarm]:
    """Loud findings of a window that nothing excuses."""
    report = walk(cut(window), [], Options()).report
    loud = [f for f in report.findings if f.severity is not Severity.INFO]
    return [Alarm(window, f) for f in loud if f.rule not in window.calm.allowed]


def main() -> int:
    """Run the soak and print what it found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else "")
    parser.add_argument("--windows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reference", type=Path, default=ROOT.parent / "shared")
    asked = parser.parse_args()
    calm = samples() + (recordings(asked.reference) if asked.reference.is_dir() else [])
    began, found = time.monotonic(), 0
    for window in windows(calm, asked.windows, asked.seed):
        for alarm in alarms(window):
            found += 1
            print(
                f"{window}: {alarm.finding.rule} {alarm.finding.severity.value}: {alarm.finding.summary}",
                flush=True,
            )
    print(
        f"{asked.windows} windows of {len(calm)} calm stretches in {time.monotonic() - began:.0f} s: {found} loud findings"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
