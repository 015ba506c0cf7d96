"""The memory of one GPU added up: weights, KV cache, graphs, the rest; printed or estimated (S02)."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.hardware import GIB, Gpu
from diagnostics.capacity.memory import (
    CONTEXT_BYTES,
    DEFAULT_ACTIVATION_BYTES,
    GRAPH_BYTES,
    NCCL_BYTES,
    kv_bytes_per_token_per_gpu,
    model_weight_bytes,
    weight_bytes,
)
from diagnostics.engines.defaults import default_of
from diagnostics.execute import deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.model.samples import Provenance

# Share of GPU memory that is planned with where an engine's own share means something else or is not known.
USUAL_SHARE = 0.9
# Options that take weights off the GPU; nothing is estimated with one of these.
_OFFLOADS = ("cpu_offload_gb", "offload_folder", "kt_method", "enable_hierarchical_cache_weights")


class Terms(Struct, frozen=True):
    """Memory of one GPU of a replica, GiB; None for what is not known.

    Attributes:
        granted: what the engine may use.
        rest: activations, context and what else is not told apart.
        kv_tokens: tokens that the KV part holds, by estimate.
        provenance: ``configured`` where the engine printed it, ``inferred`` where it is estimated.
        basis: where the figures come from, in words.
    """

    granted: float | None
    weights: float | None
    kv: float | None
    graphs: float | None
    rest: float | None
    provenance: Provenance
    basis: str
    kv_tokens: float | None = None

    @property
    def sentence(self) -> str:
        """The terms that are known, added up, in words; empty when fewer than two are."""
        parts = (
            (self.weights, "weights"), (self.graphs, "graphs"), (self.rest,
                                                                 "activations, context and the rest"),
            (self.kv, "KV cache"),
        )  # fmt: skip
        known = [f"{words.number(value)} GiB {name}" for value, name in parts if value is not None]
        total = (
            f" = {words.number(self.granted)} GiB granted"
            if self.granted is not None and len(known) > 2
            else ""
        )
        return f"On one GPU: {' + '.join(known)}{total} ({self.basis}). " if len(known) > 1 else ""


def share_of_memory(facts: Facts, i: int) -> float:
    """The part of GPU memory that the engine may use."""
    value = facts.number(i, "gpu_memory_utilization")
    default = default_of(facts.engine, facts.version, None, "gpu_memory_utilization")
    return value or (float(default.value) if default else USUAL_SHARE)


def printed(facts: Facts, i: int) -> Terms | None:
    """The terms that the engine printed while it started; None when it printed none."""
    weights, kv = facts.number(i, "weights_gib"), facts.number(i, "kv_memory_gib")
    graphs = facts.number(i, "graph_memory_gib", "graph_memory_estimate_gib")
    if weights is None and kv is None:
        return None
    rows = deployment.gpus(facts, i)
    granted = rows[0].usable_gib * share_of_memory(facts, i) if len(rows) == 1 else None
    rest = None
    if granted is not None and weights is not None and kv is not None:
        rest = granted - weights - kv - (graphs or 0.0)
        granted, rest = (granted, rest) if rest > 0 else (None, None)
    return Terms(granted, weights, kv, graphs, rest, Provenance.CONFIGURED, "as the engine printed it")


def estimated(facts: Facts, i: int, gpu: Gpu) -> Terms | None:
    """The terms by arithmetic, from the model's structure or the size in its name; None without either."""
    tp = deployment.degree(facts, i, deployment.TP_NAMES)
    pp = deployment.degree(facts, i, deployment.PP_NAMES)
    small = deployment.stored(facts, i)
    if tp is None or pp is None or small is None or facts.setting(i, *_OFFLOADS) is not None:
        return None
    shape, size = deployment.shape(facts, i), deployment.parameters(facts, i)
    if shape is not None:
        weights = model_weight_bytes(shape, shape.quantization or small, tp)
        basis = "estimated from the model's structure"
    elif size is not None:
        weights, basis = weight_bytes(size, small, tp=tp), "estimated from the size in the model's name"
    else:
        return None
    weights /= pp * GIB
    granted = gpu.usable_gib * share_of_memory(facts, i)
    rest = (CONTEXT_BYTES + DEFAULT_ACTIVATION_BYTES + (NCCL_BYTES if tp > 1 else 0.0)) / GIB
    graphs = 0.0 if facts.flag(i, "enforce_eager", "disable_cuda_graph") else GRAPH_BYTES / GIB
    left = granted - weights - rest - graphs
    tokens = None
    if shape is not None:
        dtype = facts.setting(i, "kv_cache_dtype")
        kind = dtype.value if dtype and dtype.value != "auto" else shape.dtype or "bf16"
        try:
            tokens = max(left, 0.0) * GIB * pp / kv_bytes_per_token_per_gpu(shape, kind, tp)
        except CapacityError:
            tokens = None
    return Terms(granted, weights, max(left, 0.0), graphs, rest, Provenance.INFERRED, basis, tokens)
