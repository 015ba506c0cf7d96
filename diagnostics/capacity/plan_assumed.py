"""What a plan takes for granted where its request is silent, each time written down in words."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct, field

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.parallelism import check_tp, largest_tp, tp_obstacles
from diagnostics.capacity.plan_types import PlanRequest
from diagnostics.capacity.pool import mean_occupancy
from diagnostics.capacity.precision import kv_value_bytes, precision
from diagnostics.capacity.sizing import EngineSettings, group_memory, sequences_that_fit

# What engines do when nothing is set; used only where the request is silent, and then listed.
DEFAULT_UTILISATION = 0.90
DEFAULT_BLOCK_SIZE = 16
DEFAULT_BATCHED_TOKENS = 8192
DEFAULT_MAX_SEQUENCES = 256

T = TypeVar("T")


class Notes(Struct):
    """Assumptions and problems, gathered while the plan is made."""

    assumptions: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def default(self, value: T | None, fallback: T, words: str) -> T:
        """Take the fallback only where the value is absent, and write down that it was taken."""
        if value is not None:
            return value
        self.assumptions.append(words)
        return fallback


def settings_of(request: PlanRequest, notes: Notes) -> EngineSettings:
    """Fill in the engine's settings."""
    shape = request.shape
    stored = request.stored or shape.quantization
    if stored is None and shape.dtype is not None:
        stored = precision(shape.dtype)
    weights = notes.default(stored, precision("bf16"), "weights are taken as bf16")
    if weights.bits < 16 and shape.kept_16bit_parameters is None:
        notes.assumptions.append("all parameters are taken as quantized; embeddings often stay in 16 bits")
    return EngineSettings(
        stored=weights,
        kv_dtype=_kv_dtype(request, notes),
        utilisation=notes.default(
            request.utilisation,
            DEFAULT_UTILISATION,
            f"the engine may use {100 * DEFAULT_UTILISATION:.0f} % of GPU memory",
        ),
        block_size=notes.default(
            request.block_size, DEFAULT_BLOCK_SIZE, f"KV blocks of {DEFAULT_BLOCK_SIZE} tokens"
        ),
        batched_tokens=notes.default(
            request.batched_tokens,
            DEFAULT_BATCHED_TOKENS,
            f"at most {DEFAULT_BATCHED_TOKENS:,} tokens in a step",
        ),
        max_sequences=notes.default(
            request.max_sequences,
            DEFAULT_MAX_SEQUENCES,
            f"at most {DEFAULT_MAX_SEQUENCES} sequences run together on a replica",
        ),
    )


def _kv_dtype(request: PlanRequest, notes: Notes) -> str:
    if request.kv_dtype is not None and request.kv_dtype != "auto":
        kv_value_bytes(request.kv_dtype)
        return request.kv_dtype
    if request.shape.dtype is not None:
        return request.shape.dtype
    notes.assumptions.append("the KV cache is kept in 16 bits")
    return "bfloat16"


def degree_of(request: PlanRequest, settings: EngineSettings, longest: int | None, notes: Notes) -> int:
    """Take the degree asked for, else the smallest that fits: fewer all-reduces, more replicas."""
    stored = settings.stored
    if request.tp is None:
        for degree in range(1, request.gpu_count + 1):
            if not tp_obstacles(request.shape, degree, stored) and _carries(
                request, settings, degree, longest
            ):
                if request.gpu_count > 1:
                    notes.assumptions.append(f"TP {degree}: the smallest degree at which the model fits")
                return degree
        tp = largest_tp(request.shape, request.gpu_count, stored)
        if request.gpu_count > 1:
            notes.assumptions.append(f"TP {tp}: the largest possible degree, as none carries what is asked")
        return tp
    check_tp(request.shape, request.tp, stored)
    if request.tp > request.gpu_count:
        raise CapacityError(f"TP {request.tp} needs {request.tp} GPUs; {request.gpu_count} given")
    return request.tp


def _carries(request: PlanRequest, settings: EngineSettings, degree: int, longest: int | None) -> bool:
    """Whether the weights, one longest sequence and the sequences asked for fit at a degree."""
    tokens = group_memory(request.shape, request.gpu, degree, settings).tokens
    if longest is not None and sequences_that_fit(request.shape, settings, tokens, longest) < 1:
        return False
    held = occupancy_of(request)
    if request.needed_sequences is None or held is None:
        return tokens > 0
    return (
        sequences_that_fit(request.shape, settings, tokens, held, rounded=False) >= request.needed_sequences
    )


def longest_of(request: PlanRequest, notes: Notes) -> int | None:
    """Take the longest sequence from the request or the model, tokens; None when neither says."""
    if request.max_model_len is not None:
        return request.max_model_len
    if request.shape.max_positions is not None:
        notes.assumptions.append(
            f"the longest sequence is the model's own limit, {request.shape.max_positions:,} tokens"
        )
        return request.shape.max_positions
    return None


def occupancy_of(request: PlanRequest) -> float | None:
    """Tokens a running sequence holds on average, or None when a mean length is not known."""
    if request.mean_prompt is None or request.mean_output is None:
        return None
    return mean_occupancy(request.mean_prompt, request.mean_output)


def cached_share_of(request: PlanRequest, notes: Notes) -> float:
    """Take the cached share of prompt tokens, 0 to 1; zero is an assumption and listed once."""
    words = "no prompt token is served by a prefix cache"
    if words in notes.assumptions:
        return 0.0
    return notes.default(request.cached_prompt_share, 0.0, words)


def request_tokens_of(request: PlanRequest, notes: Notes) -> tuple[float, float] | None:
    """Computed prompt tokens and output tokens of a mean request, or None when a length is not known."""
    if request.mean_prompt is None or request.mean_output is None:
        return None
    return request.mean_prompt * (1 - cached_share_of(request, notes)), request.mean_output
