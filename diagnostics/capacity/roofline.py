"""The floor of one decode step from memory bandwidth and from compute."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diagnostics.capacity.checks import UnknownFigureError, not_negative, positive, positive_share, whole
from diagnostics.capacity.hardware import Gpu
from diagnostics.capacity.memory import kv_bytes_of_sequence, model_weight_bytes
from diagnostics.capacity.model import ModelShape
from diagnostics.capacity.precision import Precision

# Share of the vendor's figure that well-run servers reach.
USUAL_EFFICIENCY = (0.6, 0.85)


class StepFloor(Struct, frozen=True):
    """The least time one decode step can take.

    Attributes:
        read_seconds: time to read weights and KV.
        compute_seconds: time to multiply, or None when the rate of the hardware is not known.
        seconds: the larger of the two.
        bound: which one decides.
    """

    read_seconds: float
    compute_seconds: float | None
    seconds: float
    bound: Literal["bandwidth", "compute"]


def decode_flop(active_parameters: float, batch: float) -> float:
    """Count the operations of a decode step, attention left out.

    Formula: ``2 x active parameters x batch``.

    Args:
        active_parameters: parameters one token passes.
        batch: tokens in the step.

    Returns:
        FLOP.

    Raises:
        CapacityError: for no parameters or no batch.

    Source: S08, S13.
    """
    return 2 * positive("active parameters", active_parameters) * positive("batch", batch)


def step_floor(
    *,
    read_bytes: float,
    flop: float,
    bandwidth: float,
    flops: float | None,
    bandwidth_efficiency: float = 1.0,
    compute_efficiency: float = 1.0,
) -> StepFloor:
    """Give the least time of one decode step on one GPU.

    Formula: ``max(read bytes / bandwidth, FLOP / FLOPS)``, each rate times its efficiency.

    Args:
        read_bytes: bytes of weights and KV that this GPU reads in the step.
        flop: operations this GPU does in the step.
        bandwidth: bytes/s.
        flops: FLOP/s, or None when not known: the floor is then that of reading alone.
        bandwidth_efficiency: share of the bandwidth that is reached, above 0 to 1.
        compute_efficiency: share of the rate that is reached, above 0 to 1.

    Returns:
        The floor in seconds, and what decides it.

    Raises:
        CapacityError: for a rate or an efficiency of zero, or nothing to read.

    Source: S08, S13, S20.
    """
    positive("bytes read in a step", read_bytes)
    rate = positive("memory bandwidth in bytes/s", bandwidth)
    read = read_bytes / (rate * positive_share("bandwidth efficiency", bandwidth_efficiency))
    not_negative("operations of a step", flop)
    positive_share("compute efficiency", compute_efficiency)
    compute = (
        None if flops is None else flop / (positive("compute rate in FLOP/s", flops) * compute_efficiency)
    )
    if compute is not None and compute > read:
        return StepFloor(read, compute, compute, "compute")
    return StepFloor(read, compute, read, "bandwidth")


def crossing_batch(flops: float, bandwidth: float, bytes_per_parameter: float) -> float:
    """Give the batch at which computing overtakes reading the weights.

    Formula: ``FLOPS x bytes per parameter / (2 x bandwidth)``. Below the number of a 4-bit format,
    weight-only quantization can be up to four times faster; above the 16-bit number that is gone.

    Args:
        flops: FLOP/s of the format the multiplication runs in.
        bandwidth: bytes/s.
        bytes_per_parameter: bytes of one stored parameter.

    Returns:
        Sequences, not rounded.

    Raises:
        CapacityError: for a zero.

    Source: S08.
    """
    positive("compute rate in FLOP/s", flops)
    positive("bytes per parameter", bytes_per_parameter)
    return flops * bytes_per_parameter / (2 * positive("memory bandwidth in bytes/s", bandwidth))


def compute_rate(gpu: Gpu, stored: Precision) -> float | None:
    """Give the dense rate at which a GPU multiplies weights of a format.

    Formula: the format's own rate where the hardware has it, else the 16-bit rate (weights expanded first).

    Args:
        gpu: the hardware.
        stored: format of the weights.

    Returns:
        FLOP/s, or None when the table has no figure. INT8 and FP32 rates are not in the table.

    Source: S08, S15.
    """
    if stored.compute in ("int8", "fp32"):
        return None
    own = stored.compute
    dtype = "16-bit" if own == "16-bit" or gpu.supports(own) is False else own
    try:
        return gpu.dense_flops(dtype)
    except UnknownFigureError:
        return None


def decode_floor(
    shape: ModelShape, gpu: Gpu, stored: Precision, *, tp: int, batch: int, held_tokens: float, kv_dtype: str
) -> StepFloor:
    """Give the least time of a decode step of a model on a tensor-parallel group, communication left out.

    Formula: ``max((weights read + batch x KV of a sequence) / bandwidth, 2 x active x batch / TP / FLOPS)``.

    Args:
        shape: the model.
        gpu: the hardware.
        stored: format of the weights.
        tp: tensor-parallel degree.
        batch: sequences that decode together.
        held_tokens: tokens a running sequence holds on average.
        kv_dtype: format of the KV cache.

    Returns:
        The floor in seconds, and what decides it.

    Raises:
        CapacityError: for counts below 1 or an impossible degree.

    Source: S08, S13, S20.
    """
    whole("batch", batch)
    read_share = shape.parameters_read(batch) / shape.parameters
    weights = model_weight_bytes(shape, stored, tp) * read_share
    kv = batch * kv_bytes_of_sequence(shape, kv_dtype, held_tokens, tp)
    return step_floor(
        read_bytes=weights + kv,
        flop=decode_flop(shape.active, batch) / tp,
        bandwidth=gpu.bandwidth,
        flops=compute_rate(gpu, stored),
    )


def efficiency(floor_seconds: float, measured_seconds: float) -> float:
    """Compare a measured step with its floor.

    Formula: ``floor / measured``; 0.6 to 0.85 is usual. Above 1 the inputs do not describe the server.

    Args:
        floor_seconds: the floor.
        measured_seconds: the measured step.

    Returns:
        A ratio.

    Raises:
        CapacityError: for a zero.

    Source: S08, S13.
    """
    return positive("floor in seconds", floor_seconds) / positive(
        "measured step in seconds", measured_seconds
    )
