"""Which tensor-parallel degrees a model's structure allows, and what they cost in replicated KV heads."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, UnknownFigureError, whole
from diagnostics.capacity.hardware import Gpu
from diagnostics.capacity.model import ModelShape
from diagnostics.capacity.precision import Precision

COMMON_DEGREES = (1, 2, 4, 8, 16)


class TpOption(Struct, frozen=True):
    """One tensor-parallel degree.

    Attributes:
        degree: GPUs that share every layer.
        valid: whether the structure allows it.
        reasons: what forbids it, or what to know about it, in words.
        kv_heads_per_gpu: KV heads each GPU holds, or None when the degree is not valid.
        replication: how many GPUs hold the same KV head; 1 is no replication. None when not valid.
        within_fast_link: whether the GPUs share the fast link; None when no GPU was named.
    """

    degree: int
    valid: bool
    reasons: tuple[str, ...]
    kv_heads_per_gpu: int | None
    replication: int | None
    within_fast_link: bool | None


def kv_heads_per_gpu(shape: ModelShape, tp: int) -> int:
    """Count the KV heads that each GPU of a tensor-parallel group holds.

    Formula: ``max(1, KV heads / TP)``; latent attention counts as one head, held in full everywhere.

    Args:
        shape: the model.
        tp: tensor-parallel degree.

    Returns:
        Heads on one GPU.

    Raises:
        CapacityError: when neither of KV heads and TP divides the other.

    Source: S23.
    """
    whole("tensor-parallel degree", tp)
    if shape.mla is not None:
        return 1
    if shape.kv_heads % tp and tp % shape.kv_heads:
        raise CapacityError(
            f"TP {tp} neither divides the {shape.kv_heads} KV heads nor is a multiple of them"
        )
    return max(1, shape.kv_heads // tp)


def kv_replication(shape: ModelShape, tp: int) -> int:
    """Count the GPUs that hold the same KV head.

    Formula: ``max(1, TP / KV heads)``; latent attention is held by all ``TP`` GPUs.

    Args:
        shape: the model.
        tp: tensor-parallel degree.

    Returns:
        Copies of each head; 1 is no replication.

    Raises:
        CapacityError: when neither of KV heads and TP divides the other.

    Source: S23.
    """
    kv_heads_per_gpu(shape, tp)
    return tp if shape.mla is not None else max(1, tp // shape.kv_heads)


def _mlp_reasons(label: str, size: int, tp: int, group: int | None) -> list[str]:
    if size % tp:
        return [f"{label} {size} is no multiple of {tp}"]
    if group is not None and size // tp % group:
        return [f"{label} {size} / {tp} = {size // tp} is no multiple of the quantization group {group}"]
    return []


def tp_obstacles(shape: ModelShape, tp: int, stored: Precision | None = None) -> tuple[str, ...]:
    """List what forbids a tensor-parallel degree.

    Formula: heads, MLP size (in whole quantization groups) and expert MLP size must be multiples of TP;
    KV heads must divide TP or be divided by it.

    Args:
        shape: the model; structure that is not known is not checked.
        tp: tensor-parallel degree.
        stored: format of the weights; the model's own when None.

    Returns:
        Reasons in words, empty when nothing known forbids it.

    Raises:
        CapacityError: for a degree below 1.

    Source: S23.
    """
    whole("tensor-parallel degree", tp)
    weights = stored if stored is not None else shape.quantization
    group = weights.group_size if weights is not None and tp > 1 else None
    reasons: list[str] = []
    if shape.heads is not None and shape.heads % tp:
        reasons.append(f"{shape.heads} attention heads are no multiple of {tp}")
    try:
        kv_heads_per_gpu(shape, tp)
    except CapacityError as error:
        reasons.append(str(error))
    # In a model of experts alone the field of the dense MLP describes no layer, but engines check it as well.
    if shape.intermediate is not None:
        reasons += _mlp_reasons("MLP size", shape.intermediate, tp, group)
    size = shape.experts.intermediate if shape.experts is not None else None
    if size is not None and size != shape.intermediate:
        reasons += _mlp_reasons("expert MLP size", size, tp, group)
    return tuple(reasons)


def check_tp(shape: ModelShape, tp: int, stored: Precision | None = None) -> None:
    """Refuse a tensor-parallel degree that the structure forbids.

    Args:
        shape: the model.
        tp: tensor-parallel degree.
        stored: format of the weights; the model's own when None.

    Raises:
        CapacityError: with every reason.

    Source: S23.
    """
    if reasons := tp_obstacles(shape, tp, stored):
        raise CapacityError(f"TP {tp} is not possible: {'; '.join(reasons)}")


def _option(shape: ModelShape, degree: int, stored: Precision | None, gpu: Gpu | None) -> TpOption:
    obstacles = tp_obstacles(shape, degree, stored)
    fast = None if gpu is None else degree <= gpu.fast_domain
    if obstacles:
        return TpOption(degree, False, obstacles, None, None, fast)
    heads, copies = kv_heads_per_gpu(shape, degree), kv_replication(shape, degree)
    notes: list[str] = []
    if shape.mla is not None and degree > 1:
        notes.append(f"the latent KV cache is held in full on all {degree} GPUs")
    elif copies > 1:
        notes.append(
            f"each KV head is held {copies} times: KV memory a GPU stops shrinking at TP {shape.kv_heads}"
        )
    if gpu is not None and not fast:
        notes.append(f"{degree} {gpu.name} do not share a fast link: all-reduces cross PCIe or the network")
    return TpOption(degree, True, tuple(notes), heads, copies, fast)


def tp_options(
    shape: ModelShape, most: int, *, stored: Precision | None = None, gpu: Gpu | None = None
) -> tuple[TpOption, ...]:
    """Judge every common degree up to a number of GPUs, and that number itself.

    Args:
        shape: the model.
        most: GPUs at hand.
        stored: format of the weights; the model's own when None.
        gpu: the hardware, to tell whether the group shares a fast link.

    Returns:
        One option a degree, smallest first.

    Raises:
        CapacityError: for fewer than one GPU.

    Source: S14, S23.
    """
    whole("GPUs", most)
    degrees = sorted({degree for degree in COMMON_DEGREES if degree <= most} | {most})
    return tuple(_option(shape, degree, stored, gpu) for degree in degrees)


def largest_tp(shape: ModelShape, most: int, stored: Precision | None = None) -> int:
    """Find the largest valid degree that the GPUs at hand allow.

    Args:
        shape: the model.
        most: GPUs at hand.
        stored: format of the weights; the model's own when None.

    Returns:
        A degree; 1 is possible for every real structure.

    Raises:
        CapacityError: for fewer than one GPU.
        UnknownFigureError: when not even one GPU is possible.

    Source: S23.
    """
    whole("GPUs", most)
    for degree in range(most, 0, -1):
        if not tp_obstacles(shape, degree, stored):
            return degree
    raise UnknownFigureError("no tensor-parallel degree is possible for this structure")
