"""Choosing a GPU: capacity gates, bandwidth ranks, price decides between what is left (S20)."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from diagnostics.capacity.checks import positive, whole
from diagnostics.capacity.cost import usd_per_million
from diagnostics.capacity.hardware import GIB, Gpu
from diagnostics.capacity.model import ModelShape
from diagnostics.capacity.parallelism import tp_obstacles
from diagnostics.capacity.sizing import (
    EngineSettings,
    GroupMemory,
    StepEstimate,
    group_memory,
    prompt_bound,
    sequences_that_fit,
    step_estimate,
)

# Steps closer than this are equally fast in practice, so that price may decide between them.
SAME_SPEED = 0.10
DEFAULT_COUNTS = (1, 2, 4, 8)


class Need(Struct, frozen=True, kw_only=True):
    """What the hardware must carry.

    Attributes:
        shape: the model.
        settings: of the engine.
        sequences: sequences that must run together.
        held_tokens: tokens each of them holds on average.
        longest: longest sequence that must fit, tokens; an engine refuses to start when it does not.
        target_step: seconds a decode step may take at most, or None without a target.
        request_tokens: computed prompt tokens and output tokens of a mean request; the ceiling then also
            pays for prompts. None leaves them out.
        counts: GPUs that may be put together, smallest first.
    """

    shape: ModelShape
    settings: EngineSettings
    sequences: int
    held_tokens: float
    longest: int
    target_step: float | None = None
    request_tokens: tuple[float, float] | None = None
    counts: tuple[int, ...] = DEFAULT_COUNTS

    def __post_init__(self) -> None:
        whole("sequences", self.sequences)
        positive("tokens held", self.held_tokens)
        whole("longest sequence in tokens", self.longest)
        if self.target_step is not None:
            positive("target step in s", self.target_step)


class GpuChoice(Struct, frozen=True):
    """One kind of GPU judged against a need.

    Attributes:
        gpu: the hardware.
        count: the smallest number of them that carries the need, or the largest tried when none does.
        fits: whether it does.
        reasons: why it does not, or what to know, in words.
        kv_tokens: tokens of the pool, or None when it does not fit.
        concurrency: sequences of mean length that fit, or None when it does not fit.
        step: the step at the sequences that were asked for, or None when it does not fit.
        ceiling: output tokens/s at the sequences that fit, at most, or None when it does not fit.
        meets_target: whether the step is within the target; None without a target.
        hourly: US dollars an hour of all of them, lowest and highest seen, or None when not known.
        usd_per_million: US dollars a million output tokens at the ceiling, or None when not known.
    """

    gpu: Gpu
    count: int
    fits: bool
    reasons: tuple[str, ...]
    kv_tokens: int | None = None
    concurrency: float | None = None
    step: StepEstimate | None = None
    ceiling: float | None = None
    meets_target: bool | None = None
    hourly: tuple[float, float] | None = None
    usd_per_million: tuple[float, float] | None = None


def _shortfall(need: Need, memory: GroupMemory) -> str | None:
    """Say what does not fit, or None when all does."""
    if not memory.budget.fits:
        return f"weights and overhead exceed the memory by {-memory.budget.left / GIB:.1f} GiB a GPU"
    fitting = sequences_that_fit(need.shape, need.settings, memory.tokens, need.longest)
    if fitting < 1:
        return f"one sequence of {need.longest:,} tokens does not fit {memory.tokens:,} tokens of KV cache"
    mean = sequences_that_fit(need.shape, need.settings, memory.tokens, need.held_tokens, rounded=False)
    if mean < need.sequences:
        return f"{mean:.1f} sequences fit, {need.sequences} are needed"
    return None


def judge_gpu(need: Need, gpu: Gpu) -> GpuChoice:
    """Find the smallest number of one kind of GPU that carries a need, and meets the target if one does.

    Formula: capacity as in ``group_memory``; speed as in ``step_estimate``; price ``count x hourly``.

    Args:
        need: model, settings and load.
        gpu: the hardware.

    Returns:
        The judgement; a kind that does not fit carries the reasons for every number tried.

    Raises:
        CapacityError: for impossible figures in the need.

    Source: S20, S23.
    """
    reasons: list[str] = []
    first: GpuChoice | None = None
    for count in need.counts:
        if obstacles := tp_obstacles(need.shape, count, need.settings.stored):
            reasons.append(f"{count} GPUs: {'; '.join(obstacles)}")
            continue
        memory = group_memory(need.shape, gpu, count, need.settings)
        if (short := _shortfall(need, memory)) is not None:
            reasons.append(f"{count} GPU{'s' if count > 1 else ''}: {short}")
            continue
        choice = _fitting(need, gpu, count, memory)
        if choice.meets_target is not False:
            return choice
        first = choice if first is None else first
    return GpuChoice(gpu, max(need.counts), False, tuple(reasons)) if first is None else first


def _fitting(need: Need, gpu: Gpu, count: int, memory: GroupMemory) -> GpuChoice:
    shape, settings = need.shape, need.settings
    fit = sequences_that_fit(shape, settings, memory.tokens, need.held_tokens, rounded=False)
    batch = max(1, min(int(fit), settings.max_sequences))
    step = step_estimate(shape, gpu, settings, tp=count, batch=need.sequences, held_tokens=need.held_tokens)
    full = step_estimate(shape, gpu, settings, tp=count, batch=batch, held_tokens=need.held_tokens)
    ceiling = _ceiling(need, gpu, count, full)
    hourly = None if gpu.price_range is None else (gpu.price_range[0] * count, gpu.price_range[1] * count)
    per_million = None
    if hourly is not None:
        low, high = (usd_per_million(price, ceiling) for price in hourly)
        per_million = (low, high)
    return GpuChoice(
        gpu,
        count,
        True,
        _remarks(need, gpu, count),
        memory.tokens,
        fit,
        step,
        ceiling,
        None if need.target_step is None else step.seconds <= need.target_step,
        hourly,
        per_million,
    )


def _ceiling(need: Need, gpu: Gpu, count: int, full: StepEstimate) -> float:
    """Output tokens/s at most: of the step, or of computing prompts where those are known and decide."""
    if need.request_tokens is None:
        return full.tokens_per_second
    prompt, output = need.request_tokens
    bound = prompt_bound(
        need.shape, gpu, need.settings.stored, tp=count, computed_prompt=prompt, output=output
    )
    return full.tokens_per_second if bound is None else min(bound, full.tokens_per_second)


def _remarks(need: Need, gpu: Gpu, count: int) -> tuple[str, ...]:
    notes: list[str] = []
    own = need.settings.stored.compute
    if own in ("fp8", "fp4") and gpu.supports(own) is False:
        notes.append(f"no {own} units: weights are expanded to 16 bits before they are multiplied")
    if gpu.supports("bf16") is False and own == "16-bit":
        notes.append("no bf16: runs in fp16")
    if count > gpu.fast_domain:
        notes.append(f"{count} of them do not share a fast link")
    if gpu.notes:
        notes.append(gpu.notes)
    return tuple(notes)


def _price(choice: GpuChoice) -> float:
    """Middle of the price range; an unknown price sorts behind every known one."""
    return float("inf") if choice.hourly is None else sum(choice.hourly) / 2


def _seconds(choice: GpuChoice) -> float:
    return float("inf") if choice.step is None else choice.step.seconds


def _rank(fitting: list[GpuChoice]) -> list[GpuChoice]:
    """Fastest first; among equally fast ones the cheaper first."""
    ranked: list[GpuChoice] = []
    waiting = sorted(fitting, key=_seconds)
    while waiting:
        limit = _seconds(waiting[0]) * (1 + SAME_SPEED)
        peers = [choice for choice in waiting if _seconds(choice) <= limit]
        ranked += sorted(peers, key=lambda choice: (_price(choice), _seconds(choice)))
        waiting = waiting[len(peers) :]
    return ranked


def rank_gpus(need: Need, gpus: Iterable[Gpu]) -> tuple[GpuChoice, ...]:
    """Rank GPUs for a need: what fits first, then speed, then price; what does not fit comes last.

    Formula: with a target, all that meet it are fast enough, so the price decides between them and the
    rest follow by speed. Without one the faster step leads, and price decides within 10 %.

    Args:
        need: model, settings and load.
        gpus: the kinds of hardware to judge.

    Returns:
        One judgement a kind, best first. A kind of unknown price stands behind its priced peers.

    Raises:
        CapacityError: for impossible figures in the need.

    Source: S20.
    """
    judged = [judge_gpu(need, gpu) for gpu in gpus]
    fitting = [choice for choice in judged if choice.fits]
    meeting = [choice for choice in fitting if choice.meets_target]
    slower = [choice for choice in fitting if not choice.meets_target]
    meeting.sort(key=lambda choice: (_price(choice), _seconds(choice)))
    return (*meeting, *_rank(slower), *(choice for choice in judged if not choice.fits))
