"""A/B pairs among benchmark runs: one setting differs, the work does not; compared at every load both have."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Callable

from msgspec import Struct

from diagnostics.execute import bench, bench_compare
from diagnostics.model.bench import BenchRun, BenchStep

# Output of single runs differs by so much when nothing changed.
NOISE = 0.05
# Loads in common from which a trend is more than two bare means.
MIN_TREND = 3
# Weight formats by what they are: stored in four bits and computed in sixteen, or not quantized at all.
WEIGHT_ONLY = ("awq", "gptq", "w4a16", "int4", "autoround", "squeezellm", "bnb", "nf4", "q4")
SIXTEEN_BIT = ("bf16", "fp16", "bfloat16", "float16", "16-bit", "none", "unquantized")
_MOST_RUNS = 400


class Point(Struct, frozen=True):
    """One load that both sides have: size of the batch asked for, and output of B by A."""

    load: float
    a: BenchStep
    b: BenchStep
    ratio: float
    repeated: bool


class Pair(Struct, frozen=True):
    """Two runs, ``a`` without and ``b`` with the setting, over the loads they share, lightest first."""

    a: BenchRun
    b: BenchRun
    points: tuple[Point, ...]
    confounders: tuple[str, ...]

    @property
    def is_trend(self) -> bool:
        """Whether more than bare means speak: three loads, or repeats at the last."""
        return len(self.points) >= MIN_TREND or self.points[-1].repeated

    @property
    def is_clean(self) -> bool:
        """Whether nothing else is known to differ."""
        return not self.confounders


def is_weight_only(run: BenchRun) -> bool:
    """Whether the weights are four bits that are computed in sixteen."""
    word = (run.weight_format or "").lower()
    return any(x in word for x in WEIGHT_ONLY) and not any(x in word for x in ("nvfp4", "mxfp4"))


def is_sixteen_bit(run: BenchRun) -> bool:
    """Whether the weights are known not to be quantized."""
    return (run.weight_format or "").lower() in SIXTEEN_BIT


def speculates(run: BenchRun) -> bool | None:
    """Whether a run drafts; None where it does not say."""
    method = (run.spec_method or "unknown").lower()
    if method != "unknown":
        return method not in ("none", "off", "false")
    return True if run.spec_draft_tokens or run.draft_model or reports_drafts(run) else None


def reports_drafts(run: BenchRun) -> bool:
    """Whether a level holds an acceptance of its own minutes."""
    return any(
        s.spec_scope != "lifetime" and (s.spec_acceptance is not None or s.spec_tokens_per_step is not None)
        for s in run.steps
    )


def speculating(runs: list[BenchRun]) -> list[Pair]:
    """Pairs without and with speculation.

    A tool that writes acceptance whenever the server drafts says by its silence that the server does not.
    """
    told = {(r.format, r.format_era) for r in runs if reports_drafts(r) and r.format_era is not None}

    def is_off(run: BenchRun) -> bool:
        drafts = speculates(run)
        return drafts is False or (drafts is None and (run.format, run.format_era) in told)

    return pairs(
        runs, is_off, lambda r: speculates(r) is True, ("spec_method", "spec_draft_tokens", "draft_model")
    )


def pairs(
    runs: list[BenchRun],
    without: Callable[[BenchRun], bool],
    having: Callable[[BenchRun], bool],
    about: tuple[str, ...],
) -> list[Pair]:
    """Pairs of a run without and a run with a setting that share work and loads, those with most loads first.

    Pairs that differ in more are only asked where no pair differs in this alone.

    Args:
        runs: measured runs.
        without: picks side A.
        having: picks side B.
        about: settings that are meant to differ.
    """
    found = []
    some = runs[:_MOST_RUNS]
    for a, b in itertools.product(filter(without, some), filter(having, some)):
        if a is b or _are_both_earlier(a, b) or a.tool != b.tool or not _same_machine(a, b):
            continue
        points = _points(a, b)
        if points:
            others = tuple(d for d in bench_compare.differences(a, b) if d not in about)
            found.append(Pair(a, b, points, others))
    return sorted(
        [p for p in found if p.is_clean] or found, key=lambda p: (len(p.confounders), -len(p.points))
    )


def _are_both_earlier(a: BenchRun, b: BenchRun) -> bool:
    """Whether neither run is one that is asked about: both are of the baseline."""
    return bench.BASELINE in a.extra and bench.BASELINE in b.extra


def _same_machine(a: BenchRun, b: BenchRun) -> bool:
    return all(
        None in (x, y) or x == y
        for x, y in ((a.gpu_model, b.gpu_model), (a.gpus, b.gpus), (a.engine, b.engine), (a.input_len_spec, b.input_len_spec),
                     (a.output_len_spec, b.output_len_spec), (a.dataset, b.dataset))
    )  # fmt: skip


def _points(a: BenchRun, b: BenchRun) -> tuple[Point, ...]:
    found = []
    for mine, theirs in bench_compare.matched(a, b):
        one, other = _rates(mine, theirs)
        load = mine[0].concurrency_cap or mine[0].batch_size or mine[0].requested_rps
        if one and other and load:
            ratio = statistics.median(other) / statistics.median(one)
            found.append(Point(float(load), mine[0], theirs[0], ratio, min(len(one), len(other)) > 1))
    return tuple(sorted(found, key=lambda p: p.load))


def _rates(mine: list[BenchStep], theirs: list[BenchStep]) -> tuple[list[float], list[float]]:
    """Output tokens a second of both sides; all tokens where a file counts no others: the prompts are the same."""
    for field in ("output_tps", "total_tps"):
        one, other = ([v for s in side if (v := getattr(s, field))] for side in (mine, theirs))
        if one and other:
            return one, other
    return [], []


def curve(pair: Pair) -> str:
    """Output of B by A over the loads, in words."""
    shown = (
        pair.points
        if len(pair.points) <= 4
        else (pair.points[0], pair.points[len(pair.points) // 2], pair.points[-1])
    )
    return ", ".join(f"{p.ratio:.2f} at {bench.load(p.a)}" for p in shown)
