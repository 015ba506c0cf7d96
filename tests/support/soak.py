"""Many viewers of the dashboard at once: what goes wrong, and how its memory grows."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor

from msgspec import Struct, field

from support.dashboard import metric
from support.sessions import Session

PAGES = ("", "fleet", "latency", "cache", "speculation", "runbooks", "data")
# A viewer leaves after so many pages and comes back as a new one: what a session held must go with it.
STAY = 20
ALLOWED_GROWTH = 0.10


class Result(Struct):
    """What came of it: runs, what went wrong, and the memory over time (seconds, bytes)."""

    runs: int = 0
    errors: list[str] = field(default_factory=list)
    memory: list[tuple[float, float]] = field(default_factory=list)

    def growth(self) -> float:
        """Growth of the memory from the second fifth of the time to the last."""
        fifth = max(1, len(self.memory) // 5)
        early, late = (
            [m for _, m in part] for part in (self.memory[fifth : 2 * fifth], self.memory[-fifth:])
        )
        return (sum(late) / len(late)) / (sum(early) / len(early)) - 1


def view(address: str, sources: list[str], end: float, start: int) -> tuple[int, list[str]]:
    """One viewer after the other until the end; returns (runs, errors)."""
    runs, errors = 0, []
    steps = itertools.islice(itertools.product(sources, PAGES), start, None)
    while time.monotonic() < end:
        with Session(address) as session:
            for source, page in itertools.islice(steps, STAY):
                if time.monotonic() >= end:
                    break
                broken, elements = session.open(page, f"source={source}")
                errors += [f"/{page}?source={source}: {text}" for text in broken]
                if not elements:
                    errors.append(f"/{page}?source={source}: an empty page")
                runs += 1
            else:
                steps = itertools.product(sources, PAGES)
    return runs, errors


def soak(address: str, sources: list[str], sessions: int, seconds: float) -> Result:
    """Let so many viewers look at everything for so long."""
    result, began = Result(), time.monotonic()
    with ThreadPoolExecutor(sessions) as pool:
        end = began + seconds
        jobs = [pool.submit(view, address, sources, end, 3 * i) for i in range(sessions)]
        while any(not job.done() for job in jobs):
            result.memory.append(
                (
                    time.monotonic() - began,
                    metric(address, "process_resident_memory_bytes"),
                )
            )
            time.sleep(min(1.0, seconds / 20))
    for job in jobs:
        runs, errors = job.result()
        result.runs += runs
        result.errors += errors
    failed = metric(address, "diagnose_dashboard_diagnoses_total", "error")
    if failed:
        result.errors.append(f"{failed:.0f} diagnoses failed in the program")
    return result
