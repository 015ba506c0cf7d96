"""How real the load of a benchmark is, beside production's where its metrics are there."""

from __future__ import annotations

import numpy as np

from diagnostics.execute import bench, bench_replay, bench_shape, words
from diagnostics.execute.facts import Facts
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.bench_view import RealismRow, Scorecard
from diagnostics.model.requests import Stat

# Share of answers that failed, seconds and requests, as in the rule on trust.
FAILED, SECONDS, REQUESTS = 0.01, 30.0, 100
REAL, UNREAL, UNKNOWN = "real", "unreal", "unknown"
_ARRIVALS = {
    "poisson": "at random (Poisson)",
    "gamma": "in bursts (gamma)",
    "constant": "evenly spaced",
    "trace": "replayed",
}


def scorecard(facts: Facts, run: BenchRun) -> Scorecard:
    """The aspects that decide whether a figure holds in production."""
    steps = bench.levels(run) or run.steps
    rows = (_arrival(facts, steps), _lengths(facts, run, steps, "input"), _lengths(facts, run, steps, "output"),
            _sharing(facts, run, steps), _duration(steps), _failures(steps))  # fmt: skip
    return Scorecard(bench.name(run), rows)


def _arrival(facts: Facts, steps: list[BenchStep]) -> RealismRow:
    modes = {s.load_mode for s in steps}
    rate = bench_replay.rate_of(facts)
    production = f"{words.number(rate)} requests/s on average" if rate else ""
    if modes & {"closed", "open-capped"}:
        return RealismRow("Arrival", "closed loop: a request follows an answer", production, UNREAL)
    if "burst" in modes:
        return RealismRow("Arrival", "all at once", production, UNREAL)
    if modes & {"offline", "single-stream"}:
        return RealismRow("Arrival", "offline: no clients", production, UNREAL)
    ways = {_ARRIVALS.get(s.arrival, "") for s in steps} - {""}
    if ways == {_ARRIVALS["constant"]}:
        return RealismRow("Arrival", "evenly spaced: no bursts", production, UNREAL)
    if "open" in modes or "replay" in modes:
        return RealismRow(
            "Arrival", ", ".join(sorted(ways)) or "open loop", production, REAL if ways else UNKNOWN
        )
    return RealismRow("Arrival", "not recorded", production, UNKNOWN)


def _lengths(facts: Facts, run: BenchRun, steps: list[BenchStep], side: str) -> RealismRow:
    aspect, signal = (
        ("Prompt length", "prompt_len") if side == "input" else ("Answer length", "generation_len")
    )
    mean = bench_replay.mean_of(facts, signal)
    tail = facts.column(signal, Stat.HIST_P99)
    production = f"mean {words.number(mean)}" if mean else ""
    if mean and not np.isnan(tail).all():
        production += f", p99 {words.number(float(np.nanmax(tail)))}"
    production += " tokens" if production else ""
    constant = next((c for s in steps if (c := bench_shape.constant_length(run, s, side))), None)
    if constant is not None:
        return RealismRow(aspect, f"all {words.number(constant.tokens)} tokens", production, UNREAL)
    for step in steps:
        value, deviation = step.stat(f"{side}_len", "mean"), step.stat(f"{side}_len", "sd")
        if value and deviation is not None:
            return RealismRow(
                aspect, f"mean {words.number(value)}, sd {words.number(deviation)} tokens", production, REAL
            )
    means = [v for s in steps if (v := s.stat(f"{side}_len", "mean"))]
    known = f"mean {words.number(means[0])} tokens, spread not recorded" if means else "not recorded"
    return RealismRow(aspect, known, production, UNKNOWN)


def _sharing(facts: Facts, run: BenchRun, steps: list[BenchStep]) -> RealismRow:
    share = bench_replay.shared_of(facts)
    production = f"{words.percent(share)} of prompt tokens found in the cache" if share else ""
    hits = [s.cache_hit for s in steps if s.cache_hit is not None]
    if run.distinct_prompts == 1:
        return RealismRow("Prefix sharing", "one prompt, repeated", production, UNREAL)
    if hits:
        said = f"{words.percent(min(hits))} to {words.percent(max(hits))} of prompt tokens cached"
        return RealismRow("Prefix sharing", said, production, REAL)
    if run.shared_prefix_tokens:
        said = f"{words.number(run.shared_prefix_tokens)} tokens shared by design"
        return RealismRow("Prefix sharing", said, production, REAL)
    return RealismRow("Prefix sharing", "not recorded", production, UNKNOWN)


def _duration(steps: list[BenchStep]) -> RealismRow:
    seconds = [s.duration_s for s in steps if s.duration_s]
    counts = [s.completed for s in steps if s.completed]
    if not seconds and not counts:
        return RealismRow("Duration", "not recorded", "", UNKNOWN)
    said = [f"{words.seconds(min(seconds))} at the shortest level"] if seconds else []
    said += [f"{words.number(min(counts))} requests at the smallest"] if counts else []
    # The lightest level of a sweep is always small: most of them must be.
    short = [float(np.median(seconds)) < SECONDS] if seconds else []
    short += [float(np.median(counts)) < REQUESTS] if counts else []
    return RealismRow("Duration", ", ".join(said), "", UNREAL if any(short) else REAL)


def _failures(steps: list[BenchStep]) -> RealismRow:
    known = [s for s in steps if s.failed is not None]
    if not known:
        return RealismRow("Failures", "not recorded", "", UNKNOWN)
    failed, sent = sum(s.failed or 0 for s in known), sum((s.failed or 0) + (s.completed or 0) for s in known)
    said = f"{words.number(failed)} of {words.number(sent)} requests"
    return RealismRow("Failures", said, "", UNREAL if failed >= FAILED * max(sent, 1) and failed else REAL)
