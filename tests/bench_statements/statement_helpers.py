"""Short ways to the samples: what was read from them, and what is said of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from diagnostics import Options, diagnose
from diagnostics.loading import load
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.report import Report
from diagnostics.walk import grouped_runs

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples" / "bench"


@cache
def runs(*patterns: str) -> list[BenchRun]:
    """Runs of some files or folders, load levels of one deployment together."""
    return grouped_runs(load(_paths(patterns), Options()).captures)


@cache
def report(*patterns: str, baseline: str | None = None) -> Report:
    """What is said of some files or folders."""
    earlier = None if baseline is None else str(SAMPLES / baseline)
    return diagnose(_paths(patterns), Options(baseline=earlier)).report


def step(*patterns: str) -> BenchStep:
    """The only load level of a file."""
    (found,) = (s for run in runs(*patterns) for s in run.steps)
    return found


def warnings(*patterns: str) -> str:
    """What the readers say of some files, in one text."""
    return " | ".join(text for seen in report(*patterns).inputs for text in seen.warnings)


def curve(run: BenchRun, metric: str, stat: str = "p50") -> list[float | None]:
    """A statistic over the levels, in their order."""
    return [s.stat(metric, stat) for s in run.steps]


def _paths(patterns: tuple[str, ...]) -> list[str]:
    found = [str(path) for pattern in patterns for path in sorted(SAMPLES.glob(pattern))]
    assert found, patterns
    return found
