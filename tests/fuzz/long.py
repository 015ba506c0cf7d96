"""Damaged inputs for as long as one likes: ``python tests/fuzz/long.py --seconds 600``.

Every case is known by its grammar and number, so a failure is looked at again with ``--grammar log --number 4711``.
Besides what the tests check, a case that takes too long and memory that grows are failures here.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from types import FrameType

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from fuzz.cases import GRAMMARS, make, reader_of, walk  # noqa: E402  the line above makes it found

# Of processor time, so that a busy machine is no failure; the wall clock has the last word over what only waits.
CASE_LIMIT, WALL_LIMIT = 10.0, 120.0
# A whole diagnosis is some hundred times slower than reading, so one case in so many goes all the way.
_WALK_EVERY = 20
_WARM_UP = 1000
_GROWTH_LIMIT_MIB = 200.0
_MOST_FAILURES = 20


class TooSlowError(Exception):
    """A case did not end in time."""


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlowError(f"took more than {CASE_LIMIT:.0f} s")


def _limit(processor: float, wall: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, processor)
    signal.setitimer(signal.ITIMER_REAL, wall)


def attempt(grammar: str, number: int, whole: bool) -> str | None:
    """Run one case.

    Returns:
        None where it went as it should, else the traceback.
    """
    data = make(grammar, number)
    _limit(CASE_LIMIT, WALL_LIMIT)
    try:
        (walk if whole and grammar != "toml" else reader_of(grammar))(data)
    except Exception:
        return traceback.format_exc()
    finally:
        _limit(0, 0)
    return None


def _memory_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Damaged inputs for as long as one likes.")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long (default 300)")
    parser.add_argument("--grammar", choices=GRAMMARS, help="only this one")
    parser.add_argument(
        "--first",
        type=int,
        default=int(time.time()) * 1000,
        help="number of the first case (default from the clock)",
    )
    parser.add_argument(
        "--number", type=int, help="one case again, with its input written to standard output"
    )
    return parser.parse_args()


def main() -> int:
    """Run cases; 0 when none failed and memory stayed flat."""
    said = _arguments()
    signal.signal(signal.SIGALRM, _stop)
    signal.signal(signal.SIGPROF, _stop)
    if said.number is not None:
        sys.stdout.buffer.write(make(said.grammar, said.number))
        for whole in (False, True):
            print(attempt(said.grammar, said.number, whole) or "as it should be", file=sys.stderr)
        return 0
    grammars = [said.grammar] if said.grammar else list(GRAMMARS)
    failures: Counter[str] = Counter()
    memory, number, end = 0.0, said.first, time.monotonic() + said.seconds
    while time.monotonic() < end and len(failures) < _MOST_FAILURES:
        grammar = grammars[number % len(grammars)]
        problem = attempt(grammar, number, (number // len(grammars)) % _WALK_EVERY == 0)
        if problem is not None:
            failures[problem] += 1
            if failures[problem] == 1:
                print(f"--grammar {grammar} --number {number}\n{problem}", flush=True)
        number += 1
        if number == said.first + _WARM_UP:
            memory = _memory_mib()
    cases, growth = number - said.first, _memory_mib() - memory if memory else 0.0
    print(f"{cases} cases, {sum(failures.values())} failures, {len(failures)} different")
    print(f"memory grew by {growth:.0f} MiB after the first {_WARM_UP} cases")
    return 1 if failures or growth > _GROWTH_LIMIT_MIB else 0


if __name__ == "__main__":
    sys.exit(main())
