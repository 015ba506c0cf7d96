"""Recordings chained for an hour, watched in a real Prometheus; says what was opened twice, what flapped, and memory.

Usage: python tests/soak/soak_watch.py [--minutes 60] [--speed 20] [--every 15]

The chain is one server that is restarted between recordings. ``--speed 1`` takes an hour of the wall clock; faster, the
watcher's clock runs ahead and only its own work takes time. Ends with 1 when something is wrong.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from bisect import bisect_right
from collections import Counter
from itertools import cycle
from pathlib import Path

from msgspec import Struct, field

if __name__ == "__main__":
    # The folder of this file goes: in it, this file would be the package of the same name.
    sys.path[:1] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from alerts.refill import prometheus
from watch.replay import Piece, chain

from diagnostics.options import Options
from diagnostics.watch.options import WatchOptions
from diagnostics.watch.watcher import Watcher

START = 1_790_000_000.0
# One replica each, so that the chain stays one server; calm ones lie between.
FOLDERS = (
    "concurrency-cap",
    "healthy",
    "preemption-storm",
    "healthy",
    "kv-memory",
    "token-budget",
    "healthy",
)
# Memory may grow by so much after the first quarter: caches of the allocator, not a leak.
MAX_GROWTH = 0.10


class Soak(Struct):
    """What watching showed.

    Attributes:
        pieces: what was replayed.
        openings: (piece number, deployment and rule) -> how often it opened while that piece ran.
        duplicates: openings of what was open already.
        lines: everything the watcher said.
        resident: bytes of memory after each round.
    """

    pieces: list[Piece]
    openings: Counter[tuple[int, str]] = field(default_factory=Counter)
    duplicates: int = 0
    lines: list[str] = field(default_factory=list)
    resident: list[int] = field(default_factory=list)

    @property
    def flaps(self) -> list[str]:
        """What opened more than once within one recording."""
        return [f"{self.pieces[n].folder}: {key}" for (n, key), count in self.openings.items() if count > 1]

    @property
    def failures(self) -> int:
        """How often something began to fail."""
        return sum(" failing " in line for line in self.lines)

    @property
    def growth(self) -> float:
        """Memory at the end by memory after the first quarter, less one."""
        return self.resident[-1] / self.resident[len(self.resident) // 4] - 1


def soak(work: Path, minutes: float, every: float, speed: float = 0.0) -> Soak:
    """Watch a chain.

    Args:
        work: an empty folder.
        minutes: how long the chain is, in its own time.
        every: seconds between rounds, in its own time.
        speed: how much faster than the clock it goes at most; 0 for as fast as rounds are done.
    """
    lines, pieces = chain(cycle(FOLDERS), START, 60 * minutes)
    result = Soak(pieces)
    starts = [p.start for p in pieces]
    with prometheus(lines, work) as url:
        plan = WatchOptions((url,), Options(since=900.0, store=str(work / "watch.duckdb")), every=every)
        now, began = START + every, time.monotonic()
        watcher = Watcher(plan, result.lines.append, now=now)
        is_open: set[str] = set()
        while now < min(START + 60 * minutes, pieces[-1].end):
            if speed:
                time.sleep(max(0.0, began + (now - START) / speed - time.monotonic()))
            said = len(result.lines)
            watcher.round(now)
            for line in result.lines[said:]:
                words = line.split(": ")[0].split()
                key = " ".join(words[3:])
                if words[1] == "opened":
                    result.duplicates += key in is_open
                    result.openings[bisect_right(starts, now) - 1, key] += 1
                    is_open.add(key)
                elif words[1] == "resolved":
                    is_open.discard(key)
            result.resident.append(_resident())
            now += every
    return result


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    """Run it and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--every", type=float, default=15.0)
    parser.add_argument("--speed", type=float, default=0.0)
    given = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as work:
        result = soak(Path(work), given.minutes, given.every, given.speed)
    print("\n".join(result.lines))
    quarters = ", ".join(
        f"{size / 1e6:.0f}" for size in result.resident[:: max(1, len(result.resident) // 4)]
    )
    print(
        f"{len(result.pieces)} recordings, {given.minutes:g} min, {len(result.resident)} rounds"
        f" in {time.monotonic() - began:.0f} s: {sum(result.openings.values())} opened,"
        f" {result.duplicates} duplicates, {len(result.flaps)} flaps, {result.failures} failures;"
        f" memory by quarters {quarters} MB, {100 * result.growth:+.1f} % after the first quarter"
    )
    for flap in result.flaps:
        print(f"flapped: {flap}")
    return int(bool(result.duplicates or result.flaps or result.failures or result.growth > MAX_GROWTH))


if __name__ == "__main__":
    sys.exit(main())
