"""One tensor-parallel group put together: its memory budget, the sequences that fit, the speed of a step."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, UnknownFigureError, positive, positive_share, whole
from diagnostics.capacity.communication import tensor_parallel_traffic
from diagnostics.capacity.hardware import GIB, Gpu
from diagnostics.capacity.memory import (
    CONTEXT_BYTES,
    DEFAULT_ACTIVATION_BYTES,
    GRAPH_BYTES,
    NCCL_BYTES,
    MemoryBudget,
    activation_bytes,
    kv_bytes_of_sequence,
    kv_bytes_per_token_per_gpu,
    model_weight_bytes,
)
from diagnostics.capacity.model import ModelShape
from diagnostics.capacity.parallelism import check_tp
from diagnostics.capacity.pool import blocks_held, pool_tokens
from diagnostics.capacity.precision import Precision, kv_value_bytes
from diagnostics.capacity.roofline import StepFloor, compute_rate, decode_floor


class EngineSettings(Struct, frozen=True, kw_only=True):
    """How the engine is set; every figure is explicit here, whoever fills it in says what was assumed.

    Attributes:
        stored: format of the weights.
        kv_dtype: format of the KV cache.
        utilisation: share of GPU memory the engine may use, 0 to 1.
        block_size: tokens a KV block.
        batched_tokens: most tokens in one step.
        max_sequences: most sequences that run together.
    """

    stored: Precision
    kv_dtype: str
    utilisation: float
    block_size: int
    batched_tokens: int
    max_sequences: int

    def __post_init__(self) -> None:
        kv_value_bytes(self.kv_dtype)
        positive_share("memory utilisation", self.utilisation)
        whole("block size in tokens", self.block_size)
        whole("tokens of a step", self.batched_tokens)
        whole("running sequences at most", self.max_sequences)


class GroupMemory(Struct, frozen=True):
    """The memory of one group of GPUs that hold a model together.

    Attributes:
        budget: of each GPU.
        bytes_per_token: KV bytes of one token on each GPU.
        tokens: tokens of the pool; 0 when the model does not fit.
    """

    budget: MemoryBudget
    bytes_per_token: int
    tokens: int


class StepEstimate(Struct, frozen=True):
    """The least time of one decode step of a group.

    Attributes:
        batch: sequences in the step.
        floor: reading and computing.
        communication: seconds of all-reduces beside it, 0 for one GPU; None when not known.
        seconds: floor plus what is known of communication.
        tokens_per_second: output tokens/s at this step, at most.
    """

    batch: int
    floor: StepFloor
    communication: float | None
    seconds: float
    tokens_per_second: float


def group_memory(shape: ModelShape, gpu: Gpu, tp: int, settings: EngineSettings) -> GroupMemory:
    """Work out the memory of a tensor-parallel group.

    Formula: ``memory x utilisation - weights / TP - activations - graphs - context``, then whole blocks.

    Args:
        shape: the model.
        gpu: the hardware.
        tp: tensor-parallel degree.
        settings: of the engine.

    Returns:
        The budget of each GPU in bytes, and the pool in tokens.

    Raises:
        CapacityError: when the degree is not possible.

    Source: S02, S03, S20, S23.
    """
    check_tp(shape, tp, settings.stored)
    estimated = activation_bytes(
        shape, tp=tp, batched_tokens=settings.batched_tokens, sequences=settings.max_sequences
    )
    budget = MemoryBudget(
        memory=gpu.usable_gib * GIB,
        utilisation=settings.utilisation,
        weights=model_weight_bytes(shape, settings.stored, tp),
        activations=DEFAULT_ACTIVATION_BYTES if estimated is None else estimated,
        graphs=GRAPH_BYTES,
        context=CONTEXT_BYTES + (NCCL_BYTES if tp > 1 else 0.0),
    )
    per_token = kv_bytes_per_token_per_gpu(shape, settings.kv_dtype, tp)
    return GroupMemory(budget, per_token, pool_tokens(budget.kv, per_token, settings.block_size))


def pool_share_tokens(shape: ModelShape, kv_dtype: str, tokens: float) -> float:
    """Give the part of the pool a sequence takes, in tokens of all layers.

    Formula: the sequence's KV bytes / bytes of one token; less than its length once it outgrows a window.

    Args:
        shape: the model.
        kv_dtype: format of the KV cache.
        tokens: length of the sequence.

    Returns:
        Tokens of the pool.

    Raises:
        CapacityError: for a negative length, or a model without any KV cache.

    Source: S03.
    """
    one = kv_bytes_of_sequence(shape, kv_dtype, 1)
    return kv_bytes_of_sequence(shape, kv_dtype, tokens) / positive("KV bytes per token", one)


def sequences_that_fit(
    shape: ModelShape, settings: EngineSettings, tokens: int, length: float, *, rounded: bool = True
) -> float:
    """Count the sequences of one length that fill a pool, sliding windows respected.

    Formula: ``pool tokens / pool share of a sequence``; lengths are rounded up to whole blocks, or lose half
    a block on average when they are a mean.

    Args:
        shape: the model.
        settings: of the engine.
        tokens: tokens of the pool.
        length: tokens a sequence holds.
        rounded: True for one definite length, False for a mean.

    Returns:
        Sequences, not rounded.

    Raises:
        CapacityError: for a length of zero or a negative pool.

    Source: S02, S12, S29.
    """
    positive("tokens of a sequence", length)
    block = settings.block_size
    held = blocks_held(int(-(-length // 1)), block) * block if rounded else length + block / 2
    return whole("pool tokens", tokens, least=0) / pool_share_tokens(shape, settings.kv_dtype, held)


def communication_seconds(shape: ModelShape, gpu: Gpu, tp: int, batch: int) -> float | None:
    """Estimate the all-reduces of one step, without latency.

    Formula: ``2 x layers x 2 (TP - 1) / TP x batch x hidden x 2 bytes / link rate``.

    Args:
        shape: the model.
        gpu: the hardware.
        tp: tensor-parallel degree.
        batch: sequences in the step.

    Returns:
        Seconds, 0 for one GPU, or None when the hidden size or the link is not known.

    Raises:
        CapacityError: for counts below 1.

    Source: S14.
    """
    if tp == 1:
        return 0.0
    if shape.hidden is None:
        return None
    try:
        rate = gpu.link_rate(tp)
    except UnknownFigureError:
        return None
    return tensor_parallel_traffic(layers=shape.layers, hidden=shape.hidden, batch=batch, tp=tp).seconds(rate)


def step_estimate(
    shape: ModelShape, gpu: Gpu, settings: EngineSettings, *, tp: int, batch: int, held_tokens: float
) -> StepEstimate:
    """Estimate the least time of one decode step, and the tokens a second it allows.

    Formula: ``roofline floor + communication``; tokens/s ``batch / step``.

    Args:
        shape: the model.
        gpu: the hardware.
        settings: of the engine.
        tp: tensor-parallel degree.
        batch: sequences that decode together.
        held_tokens: tokens each of them holds on average.

    Returns:
        Seconds and tokens/s of one group.

    Raises:
        CapacityError: for counts below 1 or an impossible degree.

    Source: S08, S13, S14, S20.
    """
    floor = decode_floor(
        shape, gpu, settings.stored, tp=tp, batch=batch, held_tokens=held_tokens, kv_dtype=settings.kv_dtype
    )
    sent = communication_seconds(shape, gpu, tp, batch)
    seconds = floor.seconds + (0.0 if sent is None else sent)
    return StepEstimate(batch, floor, sent, seconds, batch / seconds)


def prompt_bound(
    shape: ModelShape, gpu: Gpu, stored: Precision, *, tp: int, computed_prompt: float, output: float
) -> float | None:
    """Give the output tokens a second that computing prompts and outputs allows at most.

    Formula: ``FLOPS x TP x output / (2 x active x (computed prompt + output))``.

    Args:
        shape: the model.
        gpu: the hardware.
        stored: format of the weights.
        tp: tensor-parallel degree.
        computed_prompt: prompt tokens of a request that no cache serves.
        output: output tokens of a request.

    Returns:
        Output tokens/s of one group, or None when the compute rate is not known.

    Raises:
        CapacityError: for a negative prompt or no output.

    Source: S06, S19.
    """
    rate = compute_rate(gpu, stored)
    if rate is None:
        return None
    if computed_prompt < 0:
        raise CapacityError(f"computed prompt must be zero or more tokens, not {computed_prompt:g}")
    tokens = computed_prompt + positive("output in tokens", output)
    return rate * whole("tensor-parallel degree", tp) * output / (2 * shape.active * tokens)
