"""Two sides of a comparison: the same work before and after, and whether the difference is more than noise."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.grouping import taken_at

# Mean lengths of two sides that are the same work, and loads that are the same load.
SAME_LENGTH = 0.05
SAME_LOAD = 0.02
# Requests of each side from which an interval over them is worth having.
MIN_REQUESTS = 50
# Repeats of each side from which their spread is worth having, and spreads between two means that are beyond noise.
MIN_REPEATS = 2
SPREADS = 3.0
# Dated runs among which an upgrade is looked for; every pair is.
_MOST_DATED = 200
# What an A/B can be about, or what else can differ beside it.
SETTINGS = (
    "engine", "engine_version", "engine_args", "model", "weight_format", "kv_format", "gpu_model", "gpus", "interconnect",
    "tp", "pp", "dp", "ep", "replicas", "prefill_gpus", "decode_gpus", "routing", "spec_method", "spec_draft_tokens",
    "draft_model", "max_num_seqs", "max_batched_tokens", "max_model_len", "prefix_caching", "chunked_prefill", "kv_offload",
    "dataset", "input_len_spec", "output_len_spec", "multi_turn", "ignore_eos", "streaming",
)  # fmt: skip


# What a reader sets before settings that only its tool has.
_OWN = "setting:"


class Change(Struct, frozen=True):
    """One figure on both sides at one load.

    ``worse`` is the loss as a ratio (0.2: a fifth worse), ``beyond_noise`` whether intervals or repeats prove it.
    """

    metric: str
    a: float
    b: float
    worse: float
    beyond_noise: bool
    noise: str


def same_load(a: BenchStep, b: BenchStep) -> bool:
    """Whether two levels are the same load."""
    if a.load_mode != b.load_mode or a.concurrency_cap != b.concurrency_cap or a.batch_size != b.batch_size:
        return False
    one, other = a.requested_rps, b.requested_rps
    if one is None or other is None:
        return one is other
    return abs(one - other) <= SAME_LOAD * max(one, other)


def same_work(a: BenchStep, b: BenchStep) -> bool:
    """Whether the mean lengths of two levels agree; unknown agrees with nothing else known against it."""
    for metric in ("input_len", "output_len"):
        one, other = a.stat(metric, "mean"), b.stat(metric, "mean")
        if one and other and abs(one - other) > SAME_LENGTH * max(one, other):
            return False
    return True


def differences(a: BenchRun, b: BenchRun) -> list[str]:
    """Settings of two runs that are both known and differ."""
    found = []
    for field in SETTINGS:
        one, other = getattr(a, field), getattr(b, field)
        if one is not None and other is not None and one != other:
            found.append(field)
    own = [key for key in a.extra if key.startswith(_OWN) and key != bench.BASELINE]
    return found + [
        key.removeprefix(_OWN) for key in own if key in b.extra and str(a.extra[key]) != str(b.extra[key])
    ]


def upgrades(runs: list[BenchRun]) -> list[tuple[BenchRun, BenchRun]]:
    """Pairs (earlier, later) by the dates in the files, of runs that differ in the engine's release and in nothing else."""
    dated = [(t, r) for r in runs[:_MOST_DATED] if (t := taken_at(r)) is not None]
    dated.sort(key=lambda x: x[0])
    return [
        (a, b)
        for (early, a), (late, b) in itertools.combinations(dated, 2)
        if early < late
        and a.tool == b.tool
        and a.model is not None
        and differences(a, b) == ["engine_version"]
    ]


def matched(a: BenchRun, b: BenchRun) -> Iterator[tuple[list[BenchStep], list[BenchStep]]]:
    """Levels of both runs at the same load and work, repeats together."""
    used: set[int] = set()
    for step in bench.levels(a):
        if id(step) in used:
            continue
        mine = [s for s in bench.levels(a) if same_load(s, step) and same_work(s, step)]
        theirs = [s for s in bench.levels(b) if same_load(s, step) and same_work(s, step)]
        used |= {id(s) for s in mine}
        if mine and theirs:
            yield mine, theirs


def changes(before: list[BenchStep], after: list[BenchStep]) -> list[Change]:
    """Throughput and latency of both sides at one load."""
    found = [_rate(before, after), *(_latency(metric, before, after) for metric in ("ttft", "tpot", "e2e"))]
    return [c for c in found if c is not None]


def _rate(before: list[BenchStep], after: list[BenchStep]) -> Change | None:
    a, b = ([s.output_tps for s in side if s.output_tps] for side in (before, after))
    if not a or not b:
        return None
    one, other = float(np.mean(a)), float(np.mean(b))
    beyond = _repeats(a, b)
    return Change("output_tps", one, other, (one - other) / one, beyond, "repeats" if _repeated(a, b) else "")


def _latency(metric: str, before: list[BenchStep], after: list[BenchStep]) -> Change | None:
    a, b = ([v for s in side if (v := bench.central(s, metric)) is not None] for side in (before, after))
    if not a or not b or min(a) <= 0:
        return None
    one, other = float(np.mean(a)), float(np.mean(b))
    worse = (other - one) / one
    if _repeated(a, b):
        return Change(metric, one, other, worse, _repeats(a, b), "repeats")
    sides = [
        bench.column((r for s in side for r in bench.answered(s)), f"{metric}_s") for side in (before, after)
    ]
    if min(map(len, sides)) < MIN_REQUESTS:
        return Change(metric, one, other, worse, False, "")
    (low, high), (low_b, high_b) = (bench.interval(v, lambda x: float(np.median(x))) for v in sides)
    return Change(metric, one, other, worse, low_b > high or high_b < low, "requests")


def _repeated(a: list[float], b: list[float]) -> bool:
    return min(len(a), len(b)) >= MIN_REPEATS


def _repeats(a: list[float], b: list[float]) -> bool:
    """Whether two sets of repeats lie apart by several of their spreads."""
    if not _repeated(a, b):
        return False
    noise = math.hypot(float(np.std(a, ddof=1)), float(np.std(b, ddof=1)))
    return abs(float(np.mean(a)) - float(np.mean(b))) > max(SPREADS * noise, 0.0)
