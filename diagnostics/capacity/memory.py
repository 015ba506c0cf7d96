"""The memory budget of one GPU: weights, activations, graphs, context, and what is left for the KV cache."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, not_negative, positive, positive_share, whole
from diagnostics.capacity.hardware import GIB
from diagnostics.capacity.model import ModelShape
from diagnostics.capacity.parallelism import kv_heads_per_gpu
from diagnostics.capacity.precision import Precision, kv_value_bytes

# Bytes of CUDA context, kernels and allocator slack on one GPU, and what NCCL adds in a group. With the
# graphs and activations below, a 70B model on two 80 GiB cards keeps 4 to 8 GiB of KV cache, as in practice.
CONTEXT_BYTES = 1.0 * GIB
NCCL_BYTES = 0.5 * GIB
GRAPH_BYTES = 0.5 * GIB
# Used only where the hidden size or MLP size is not known.
DEFAULT_ACTIVATION_BYTES = 1.5 * GIB


class MemoryBudget(Struct, frozen=True):
    """What one GPU's memory is spent on; every figure in bytes.

    Attributes:
        memory: memory of the GPU.
        utilisation: share of it that the engine may use, 0 to 1.
        weights: this GPU's part of the weights.
        activations: the peak of a forward pass.
        graphs: captured graphs.
        context: CUDA context, NCCL and allocator.
    """

    memory: float
    utilisation: float
    weights: float
    activations: float
    graphs: float
    context: float

    def __post_init__(self) -> None:
        positive("GPU memory in bytes", self.memory)
        positive_share("memory utilisation", self.utilisation)
        positive("weights in bytes", self.weights)
        for label in ("activations", "graphs", "context"):
            not_negative(f"{label} in bytes", getattr(self, label))

    @property
    def usable(self) -> float:
        """Bytes the engine may use: ``memory x utilisation``."""
        return self.memory * self.utilisation

    @property
    def left(self) -> float:
        """Bytes left for the KV cache, negative when the other terms alone do not fit."""
        return self.usable - self.weights - self.activations - self.graphs - self.context

    @property
    def kv(self) -> float:
        """Bytes for the KV cache: what is left, and a true zero when nothing is."""
        return max(0.0, self.left)

    @property
    def fits(self) -> bool:
        """Whether anything is left for the KV cache."""
        return self.left > 0


def weight_bytes(parameters: float, stored: Precision, *, tp: int = 1, kept_16bit: float = 0.0) -> float:
    """Give the bytes of weights on one GPU.

    Formula: ``((parameters - kept) x bytes per parameter + kept x 2) / TP``.

    Args:
        parameters: all parameters; all experts count.
        stored: format of the weights.
        tp: GPUs that share them.
        kept_16bit: parameters a quantized checkpoint leaves in 16 bits (embeddings and head).

    Returns:
        Bytes on one GPU.

    Raises:
        CapacityError: for no parameters, more kept than there are, or a degree below 1.

    Source: S02.
    """
    positive("parameters", parameters)
    whole("tensor-parallel degree", tp)
    if not_negative("parameters kept in 16 bits", kept_16bit) > parameters:
        raise CapacityError("more parameters kept in 16 bits than there are")
    kept_bytes = max(2.0, stored.bytes_per_parameter) if stored.bits >= 16 else 2.0
    return ((parameters - kept_16bit) * stored.bytes_per_parameter + kept_16bit * kept_bytes) / tp


def model_weight_bytes(shape: ModelShape, stored: Precision, tp: int = 1) -> float:
    """Give the bytes of a model's weights on one GPU; see ``weight_bytes``.

    Formula: as ``weight_bytes``, with the embeddings and head kept in 16 bits where they are known.

    Args:
        shape: the model.
        stored: format of the weights.
        tp: GPUs that share them.

    Returns:
        Bytes on one GPU.

    Raises:
        CapacityError: for a degree below 1.

    Source: S02.
    """
    return weight_bytes(shape.parameters, stored, tp=tp, kept_16bit=shape.kept_16bit_parameters or 0.0)


def _layer_bytes(shape: ModelShape, dtype: str, heads: int) -> int:
    """Bytes one layer caches for one token."""
    if shape.mla is not None:
        return (shape.mla.rank + shape.mla.rope_size) * kv_value_bytes(dtype)
    return 2 * heads * shape.head_size * kv_value_bytes(dtype)


def kv_bytes_per_token(shape: ModelShape, dtype: str) -> int:
    """Give the KV bytes of one token, all GPUs together and each head counted once.

    Formula: ``2 x layers x KV heads x head size x bytes``; with latent attention
    ``layers x (rank + rope) x bytes``. Layers without a cache are not counted; those with a window are,
    because a token inside it costs the same.

    Args:
        shape: the model.
        dtype: format of the cache, for example ``bfloat16`` or ``fp8``.

    Returns:
        Bytes.

    Raises:
        CapacityError: when the format is not known.

    Source: S02, S03.
    """
    return (shape.layers - shape.stateless_layers) * _layer_bytes(shape, dtype, shape.kv_heads)


def kv_bytes_per_token_per_gpu(shape: ModelShape, dtype: str, tp: int) -> int:
    """Give the KV bytes of one token on each GPU of a tensor-parallel group.

    Formula: as ``kv_bytes_per_token`` with ``max(1, KV heads / TP)`` heads; latent attention in full.

    Args:
        shape: the model.
        dtype: format of the cache.
        tp: tensor-parallel degree.

    Returns:
        Bytes on one GPU.

    Raises:
        CapacityError: when the format is not known, or the degree does not fit the KV heads.

    Source: S03, S23.
    """
    return (shape.layers - shape.stateless_layers) * _layer_bytes(shape, dtype, kv_heads_per_gpu(shape, tp))


def kv_bytes_of_sequence(shape: ModelShape, dtype: str, tokens: float, tp: int = 1) -> float:
    """Give the KV bytes one sequence holds on each GPU, sliding windows respected.

    Formula: ``layer bytes x (full layers x n + window layers x min(n, window))``.

    Args:
        shape: the model.
        dtype: format of the cache.
        tokens: tokens of the sequence.
        tp: tensor-parallel degree.

    Returns:
        Bytes on one GPU. The fixed state of state-space layers is not included.

    Raises:
        CapacityError: for a negative length or an impossible degree.

    Source: S03, S23.
    """
    not_negative("tokens of the sequence", tokens)
    per_layer = _layer_bytes(shape, dtype, kv_heads_per_gpu(shape, tp))
    windowed = min(tokens, shape.window) if shape.window is not None else tokens
    return per_layer * (shape.full_layers * tokens + shape.window_layers * windowed)


def activation_bytes(shape: ModelShape, *, tp: int, batched_tokens: int, sequences: int) -> float | None:
    """Estimate the peak of a forward pass on one GPU.

    Formula: ``step tokens x (4 hidden + 2 MLP / TP) x 2 bytes + sequences x vocabulary x 8 bytes``: a few
    copies of the residual stream, gate and up of one MLP, and the logits in 32 bits with one copy.

    Args:
        shape: the model.
        tp: tensor-parallel degree.
        batched_tokens: most tokens in one step.
        sequences: most sequences that sample in one step.

    Returns:
        Bytes, or None when the hidden or MLP size is not known.

    Raises:
        CapacityError: for counts below 1.

    Source: S02, S19.
    """
    for label, count in (("TP", tp), ("step tokens", batched_tokens), ("sequences", sequences)):
        whole(label, count)
    if shape.hidden is None or shape.intermediate is None:
        return None
    logits = sequences * (shape.vocabulary or 0) * 8
    return batched_tokens * (4 * shape.hidden + 2 * shape.intermediate / tp) * 2 + logits
