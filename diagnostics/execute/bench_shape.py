"""The shape of a benchmark's load: lengths, pace and repetition of its requests."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.samples import Provenance

# Requests from which a spread of lengths, or a pace, is more than chance.
MIN_REQUESTS = 20
# Standard deviation by mean below which lengths are called constant; real traffic has 0.5 and more.
NEARLY_CONSTANT = 0.05
# Seconds within which a request that follows an answer was waiting for it.
FOLLOWS_SECONDS = 0.02
# Share of requests that follow an answer in a closed loop, and that chance may give at most.
FOLLOWS_SHARE = 0.9
CHANCE_SHARE = 0.3
# A total typed by a person can be rounded; lengths are read from a file's exact totals only.
_TYPED = ("console", "table")
_FIXED = re.compile(r"^fixed (\d+)$")


class Length(Struct, frozen=True):
    """A length that does not vary: its tokens, its variation, and how that is known."""

    tokens: float
    variation: float
    source: Provenance


def constant_length(run: BenchRun, step: BenchStep, side: str) -> Length | None:
    """The constant input or output length of a level, or None when it varies or is not known.

    Args:
        run: the run with the lengths that were asked for.
        step: the level with the lengths that were measured.
        side: ``input`` or ``output``.
    """
    mean, deviation = step.stat(f"{side}_len", "mean"), step.stat(f"{side}_len", "sd")
    low, high = step.stat(f"{side}_len", "min"), step.stat(f"{side}_len", "max")
    if mean and low is not None and low == high and deviation is None:
        deviation = 0.0
    if mean and deviation is not None and (step.completed or len(step.requests)) >= MIN_REQUESTS:
        constant = deviation / mean <= NEARLY_CONSTANT
        return Length(mean, deviation / mean, Provenance.MEASURED) if constant else None
    asked = _FIXED.match(getattr(run, f"{side}_len_spec") or "")
    if asked:
        tokens = float(asked.group(1))
        kept = mean is None or abs(mean - tokens) <= NEARLY_CONSTANT * tokens
        source = bench.provenance(run, f"{side}_len_spec")
        source = Provenance.CONFIGURED if source is Provenance.MEASURED else source
        return Length(tokens, 0.0, source) if kept else None
    return _whole_mean(run, step, side)


def _whole_mean(run: BenchRun, step: BenchStep, side: str) -> Length | None:
    """Lengths whose exact total is a whole multiple of the count: all equal, but for a rare chance."""
    total, n = getattr(step, f"{side}_tokens"), step.completed
    if run.format in _TYPED or not total or not n or n < MIN_REQUESTS or total % n:
        return None
    return Length(total / n, 0.0, Provenance.INFERRED)


def follows_answers(step: BenchStep) -> bool:
    """Whether requests start when answers end, as far as their times tell."""
    rows = [r for r in bench.answered(step) if r.start_s is not None and r.e2e_s is not None]
    if len(rows) < MIN_REQUESTS:
        return False
    starts = bench.column(rows, "start_s")
    ends = np.sort(starts + bench.column(rows, "e2e_s"))
    later = starts[starts > ends[0] - FOLLOWS_SECONDS]
    if len(later) < MIN_REQUESTS:
        return False
    before = np.searchsorted(ends, later + FOLLOWS_SECONDS / 10) - 1
    gaps = np.where(before >= 0, later - ends[np.maximum(before, 0)], np.inf)
    chance = 1 - np.exp(-FOLLOWS_SECONDS * len(ends) / max(float(ends[-1] - starts[0]), FOLLOWS_SECONDS))
    return bool(np.mean(gaps <= FOLLOWS_SECONDS) >= FOLLOWS_SHARE and chance <= CHANCE_SHARE)


class Opening(Struct, frozen=True):
    """First tokens of the requests that started before any answer ended, against later ones of equal haste.

    ``ratio`` is the fastest of the first by the median of the later ones.
    """

    first_s: float
    later_s: float
    ratio: float
    later: int


def opening(step: BenchStep) -> Opening | None:
    """How much slower the first requests were than later ones that came in groups as large; None if unknown.

    A group is what starts within the time of the first wave's slowest first token: a server that computes
    every prompt needs as long for a later group as for the first.
    """
    rows = [r for r in bench.answered(step) if None not in (r.start_s, r.ttft_s, r.e2e_s)]
    if len(rows) < MIN_REQUESTS:
        return None
    starts, ttft, e2e = (bench.column(rows, f) for f in ("start_s", "ttft_s", "e2e_s"))
    first = starts < np.min(starts + e2e)
    span = float(np.max(ttft[first]))
    beside = np.searchsorted(starts, starts + span, "right") - np.searchsorted(starts, starts - span, "left")
    later = ~first & (beside >= first.sum() / 2)
    if later.sum() < MIN_REQUESTS or first.sum() > len(rows) / 2:
        return None
    fastest, usual = float(np.min(ttft[first])), float(np.median(ttft[later]))
    return Opening(fastest, usual, fastest / usual, int(later.sum())) if usual > 0 else None


def one_input_length(step: BenchStep) -> bool:
    """Whether every prompt has exactly the same number of tokens."""
    return step.stat("input_len", "min") is not None and (
        step.stat("input_len", "min") == step.stat("input_len", "max")
    )
