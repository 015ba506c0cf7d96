"""Sessions at once for a time: no error, and memory flat after warm-up. ``make soak`` runs it for five minutes."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.dashboard import dashboard
from support.soak import ALLOWED_GROWTH, soak


def main() -> int:
    """Soak the dashboard on the sample data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=300)
    given = parser.parse_args()
    samples = sorted(p.name for p in (Path(__file__).parents[2] / "sample_data").iterdir() if p.is_dir())
    with dashboard() as address:
        result = soak(address, samples, given.sessions, given.seconds)
    for error in result.errors[:20]:
        print(error)
    first, last = result.memory[0][1] / 1e6, result.memory[-1][1] / 1e6
    print(
        f"{given.sessions} sessions, {given.seconds:.0f} s, {result.runs} page runs, {len(result.errors)} errors"
    )
    print(f"memory {first:.0f} to {last:.0f} MB, growth after warm-up {100 * result.growth():.1f} %", end=" ")
    print(f"(allowed {100 * ALLOWED_GROWTH:.0f} %)")
    return int(bool(result.errors) or result.growth() > ALLOWED_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
