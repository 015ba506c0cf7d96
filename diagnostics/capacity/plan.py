"""Capacity and cost of one deployment, from the few facts that are known, with every assumption in words."""

from __future__ import annotations

from msgspec.structs import replace

from diagnostics.capacity.choice import GpuChoice, Need, rank_gpus
from diagnostics.capacity.cost import TokenRates, cost_views, usd_per_million
from diagnostics.capacity.hardware import GIB, Gpu, load_gpus
from diagnostics.capacity.memory import kv_bytes_per_token
from diagnostics.capacity.parallelism import tp_options
from diagnostics.capacity.plan_assumed import (
    Notes,
    cached_share_of,
    degree_of,
    longest_of,
    occupancy_of,
    request_tokens_of,
    settings_of,
)
from diagnostics.capacity.plan_types import Concurrency, Plan, PlanCost, PlanRequest, Speed
from diagnostics.capacity.precision import Precision
from diagnostics.capacity.render import render_text
from diagnostics.capacity.roofline import USUAL_EFFICIENCY, compute_rate, crossing_batch, efficiency
from diagnostics.capacity.sizing import (
    EngineSettings,
    GroupMemory,
    StepEstimate,
    group_memory,
    prompt_bound,
    sequences_that_fit,
    step_estimate,
)

__all__ = ["Concurrency", "Plan", "PlanCost", "PlanRequest", "Speed", "make_plan", "render_text"]


def make_plan(request: PlanRequest) -> Plan:
    """Work out capacity, speed and cost of a deployment.

    Formula: the budget of each GPU, the pool in tokens, the sequences that fit, the roofline of a step and
    the price a million tokens, each as in its own module.

    Args:
        request: the facts; what is None is either assumed and listed, or left out of the plan.

    Returns:
        The plan. A model that does not fit gives a plan with ``problems`` and without ``speed``.

    Raises:
        CapacityError: for a tensor-parallel degree the model forbids, or more GPUs in a group than there are.

    Source: S02, S06, S08, S11, S14, S20, S23, S29.
    """
    notes = Notes(assumptions=list(request.shape.assumptions))
    settings = settings_of(request, notes)
    longest = longest_of(request, notes)
    tp = degree_of(request, settings, longest, notes)
    replicas, idle = divmod(request.gpu_count, tp)
    if idle:
        notes.problems.append(f"{idle} of {request.gpu_count} GPUs are left over at TP {tp}")
    memory = _memory(request, settings, tp, notes)
    concurrency = _concurrency(request, settings, memory.tokens, longest, notes)
    speed = None
    if memory.tokens:
        speed = _speed(request, settings, notes, tp=tp, replicas=replicas, concurrency=concurrency)
    return Plan(
        request=request,
        settings=settings,
        tp=tp,
        replicas=replicas,
        idle_gpus=idle,
        budget=memory.budget,
        kv_bytes_per_token=kv_bytes_per_token(request.shape, settings.kv_dtype),
        kv_bytes_per_token_per_gpu=memory.bytes_per_token,
        kv_tokens=memory.tokens,
        kv_tokens_measured=request.measured_kv_tokens is not None,
        concurrency=concurrency,
        speed=speed,
        tp_options=tp_options(request.shape, request.gpu_count, stored=settings.stored, gpu=request.gpu),
        ranked=_ranked(request, settings, longest, notes),
        cost=_cost(request, speed, notes),
        problems=tuple(notes.problems),
        assumptions=tuple(notes.assumptions),
    )


def _memory(request: PlanRequest, settings: EngineSettings, tp: int, notes: Notes) -> GroupMemory:
    memory = group_memory(request.shape, request.gpu, tp, settings)
    shape, gpu = request.shape, request.gpu
    if shape.hidden is None or shape.intermediate is None:
        notes.assumptions.append("activations take 1.5 GiB a GPU: hidden and MLP size are not known")
    else:
        notes.assumptions.append("activations are estimated from the tokens of a step and the layer sizes")
    notes.assumptions.append(
        "graphs take 0.5 GiB a GPU; context 1.0 GiB, and NCCL 0.5 GiB where TP is above 1"
    )
    if gpu.visible_gib is not None:
        notes.assumptions.append(
            f"{gpu.name}: {gpu.visible_gib:g} GiB are visible to software of {gpu.memory_gib:g} GiB"
        )
    if shape.window_layers:
        notes.assumptions.append("the engine frees KV blocks that fell out of the sliding window")
    if shape.stateless_layers:
        notes.assumptions.append("the fixed state of layers without a KV cache is not counted")
    if request.measured_kv_tokens is not None:
        return GroupMemory(memory.budget, memory.bytes_per_token, request.measured_kv_tokens)
    if not memory.budget.fits:
        notes.problems.append(
            f"the model does not fit: weights and overhead exceed the memory "
            f"by {-memory.budget.left / GIB:.1f} GiB a GPU"
        )
    elif memory.tokens == 0:
        notes.problems.append("not one KV block fits beside the weights")
    return memory


def _concurrency(
    request: PlanRequest, settings: EngineSettings, tokens: int, longest: int | None, notes: Notes
) -> Concurrency:
    held = occupancy_of(request)

    def fit(length: float | None, *, rounded: bool = True) -> float | None:
        if length is None:
            return None
        return sequences_that_fit(request.shape, settings, tokens, length, rounded=rounded)

    printed, mean, safe = fit(longest), fit(held, rounded=False), fit(request.high_total)
    if tokens and printed is not None and printed < 1:
        notes.problems.append(
            f"one sequence of {longest:,} tokens does not fit {tokens:,} tokens of KV cache: "
            "engines refuse to start"
        )
    needed = request.needed_sequences
    if tokens and needed is not None and mean is not None and mean < needed:
        notes.problems.append(f"{mean:.1f} sequences of mean length fit on a replica, {needed} are needed")
    if request.high_total is None:
        notes.assumptions.append("no high percentile of prompt + output given: safe concurrency is left out")
    return Concurrency(printed, mean, None if safe is None else int(safe))


def _speed(
    request: PlanRequest,
    settings: EngineSettings,
    notes: Notes,
    *,
    tp: int,
    replicas: int,
    concurrency: Concurrency,
) -> Speed:
    shape, gpu, held = request.shape, request.gpu, occupancy_of(request)
    batch = 1
    if held is None or concurrency.mean is None:
        notes.assumptions.append("mean lengths are not known: the step floor is that of one short sequence")
    else:
        batch = max(1, min(int(concurrency.mean), settings.max_sequences))
    step = step_estimate(shape, gpu, settings, tp=tp, batch=batch, held_tokens=held or 0.0)
    _speed_notes(request, settings.stored, step, notes)
    ceiling, limited_by = None, _step_limit(step)
    if held is not None:
        ceiling, limited_by = _ceiling(request, settings.stored, tp, step, notes)
        ceiling *= replicas
    measured = request.measured_tokens_per_second
    reached = None if ceiling is None or measured is None else efficiency(1 / ceiling, 1 / measured)
    if reached is not None and reached > 1:
        notes.problems.append(
            f"the measured rate is {reached:.1f} times the ceiling: a fact given does not describe this "
            "deployment (GPUs, precision, lengths, cached share), or it decodes speculatively"
        )
    return Speed(
        batch=batch,
        floor=step.floor,
        communication=step.communication,
        step_seconds=step.seconds,
        ceiling=ceiling,
        usual=None if ceiling is None else (ceiling * USUAL_EFFICIENCY[0], ceiling * USUAL_EFFICIENCY[1]),
        limited_by=limited_by,
        crossing_batch=_crossing(request, settings.stored),
        efficiency=reached,
    )


def _crossing(request: PlanRequest, stored: Precision) -> float | None:
    """Give the batch where compute overtakes weight reading, or None when the rate is not known."""
    rate = compute_rate(request.gpu, stored)
    if rate is None:
        return None
    dense = crossing_batch(rate, request.gpu.bandwidth, stored.bytes_per_parameter)
    # At such a batch every expert is read, while a token still computes with its few.
    return dense * request.shape.parameters / request.shape.active


def _speed_notes(request: PlanRequest, stored: Precision, step: StepEstimate, notes: Notes) -> None:
    gpu, tp_words = request.gpu, notes.assumptions
    if request.shape.experts is not None:
        tp_words.append("experts are chosen evenly and independently: a larger batch reads more of them")
    if step.floor.compute_seconds is None:
        tp_words.append(f"the {stored.compute} rate of {gpu.name} is not known: the floor is that of reading")
    elif stored.compute in ("fp8", "fp4") and gpu.supports(stored.compute) is False:
        tp_words.append(f"{gpu.name} has no {stored.compute} units: weights are expanded to 16 bits first")
    if gpu.supports("bf16") is False and stored.compute == "16-bit":
        tp_words.append(f"{gpu.name} has no bf16: the model runs in fp16")
    if step.communication is None:
        tp_words.append("communication is left out of the step: the link or the hidden size is not known")
    elif step.communication:
        tp_words.append("all-reduces cost their bytes only; their latency is left out")
    if request.target_step is not None and step.seconds > request.target_step:
        notes.problems.append(
            f"at {step.batch} sequences a step takes at least {step.seconds * 1e3:.1f} ms, "
            f"the target is {request.target_step * 1e3:.1f} ms"
        )


def _step_limit(step: StepEstimate) -> str:
    return "communication" if (step.communication or 0.0) > step.floor.seconds else step.floor.bound


def _ceiling(
    request: PlanRequest, stored: Precision, tp: int, step: StepEstimate, notes: Notes
) -> tuple[float, str]:
    """Give the output tokens/s of one replica at most, and what decides it."""
    prompt, output = request.mean_prompt, request.mean_output
    if prompt is None or output is None:
        return step.tokens_per_second, _step_limit(step)
    cached = cached_share_of(request, notes)
    bound = prompt_bound(
        request.shape, request.gpu, stored, tp=tp, computed_prompt=prompt * (1 - cached), output=output
    )
    if bound is not None and bound < step.tokens_per_second:
        return bound, "compute of prompts"
    return step.tokens_per_second, _step_limit(step)


def _ranked(
    request: PlanRequest, settings: EngineSettings, longest: int | None, notes: Notes
) -> tuple[GpuChoice, ...]:
    held = occupancy_of(request)
    longest = longest if longest is not None else request.high_total
    if longest is None and request.mean_prompt is not None and request.mean_output is not None:
        longest = max(1, round(request.mean_prompt + request.mean_output))
    if longest is None:
        notes.assumptions.append("no length is known, so that GPUs cannot be ranked")
        return ()
    sequences = notes.default(
        request.needed_sequences,
        1,
        "GPUs are ranked for one sequence at a time: no number of sequences given",
    )
    need = Need(
        shape=request.shape,
        settings=settings,
        sequences=sequences,
        held_tokens=held if held is not None else longest,
        longest=longest,
        target_step=request.target_step,
        request_tokens=request_tokens_of(request, notes),
    )
    return rank_gpus(need, _priced(request, notes))


def _priced(request: PlanRequest, notes: Notes) -> list[Gpu]:
    """The table, with the deployment's own GPU at its own price."""
    own = request.gpu
    if request.gpu_hourly is not None:
        own = replace(own, price_range=(request.gpu_hourly, request.gpu_hourly))
    notes.assumptions.append("prices in the ranking are on-demand ranges of the hardware table unless given")
    others = [gpu for gpu in load_gpus() if gpu.name != own.name]
    return [own, *others]


def _cost(request: PlanRequest, speed: Speed | None, notes: Notes) -> PlanCost | None:
    if request.gpu_hourly is None:
        notes.assumptions.append("no price per GPU and hour given: cost is left out")
        return None
    hourly = request.gpu_hourly * request.gpu_count
    measured, views = request.measured_tokens_per_second, None
    if measured is not None and request.mean_prompt is not None and request.mean_output is not None:
        inputs = measured * request.mean_prompt / request.mean_output
        cached = inputs * cached_share_of(request, notes)
        views = cost_views(hourly, TokenRates(measured, inputs - cached, cached))
    ceiling = None if speed is None else speed.ceiling
    return PlanCost(
        hourly,
        None if ceiling is None else usd_per_million(hourly, ceiling),
        views,
        None if measured is None else usd_per_million(hourly, measured),
    )
