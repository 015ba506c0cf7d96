"""Tokens, blocks and sequences that a KV pool holds."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, not_negative, positive, positive_share, share, whole


def pool_tokens(kv_bytes: float, bytes_per_token: float, block_size: int) -> int:
    """Count the tokens a paged pool holds.

    Formula: ``floor(KV bytes / (bytes per token x block)) x block``.

    Args:
        kv_bytes: bytes for the cache, on one GPU or on all together.
        bytes_per_token: bytes of one token, on the same GPUs.
        block_size: tokens a block.

    Returns:
        Tokens; 0 when not one block fits.

    Raises:
        CapacityError: for a negative pool, a token of no bytes, or a block below 1.

    Source: S03.
    """
    not_negative("KV cache in bytes", kv_bytes)
    positive("KV bytes per token", bytes_per_token)
    whole("block size in tokens", block_size)
    return math.floor(kv_bytes / (bytes_per_token * block_size)) * block_size


def blocks_held(tokens: int, block_size: int) -> int:
    """Count the blocks a sequence holds.

    Formula: ``ceil(tokens / block)``; the mean loss is half a block.

    Args:
        tokens: tokens of the sequence.
        block_size: tokens a block.

    Returns:
        Blocks.

    Raises:
        CapacityError: for a negative length or a block below 1.

    Source: S03.
    """
    whole("tokens of the sequence", tokens, least=0)
    return -(-tokens // whole("block size in tokens", block_size))


def printed_concurrency(tokens: int, max_model_len: int) -> float:
    """Give the "maximum concurrency" that an engine prints at start.

    Formula: ``pool tokens / maximum model length``: a floor, not what traffic gets.

    Args:
        tokens: tokens of the pool.
        max_model_len: longest sequence the engine admits, tokens.

    Returns:
        Sequences, not rounded.

    Raises:
        CapacityError: for a negative pool or a length below 1.

    Source: S02, S29.
    """
    return whole("pool tokens", tokens, least=0) / whole("maximum model length in tokens", max_model_len)


def mean_occupancy(mean_prompt: float, mean_output: float, block_size: int | None = None) -> float:
    """Give the tokens a running sequence holds on average.

    Formula: ``prompt + output / 2``, plus half a block when blocks are counted.

    Args:
        mean_prompt: tokens.
        mean_output: tokens.
        block_size: tokens a block, or None to leave the rounding out.

    Returns:
        Tokens.

    Raises:
        CapacityError: for negative lengths, or a sequence of nothing.

    Source: S03, S06.
    """
    not_negative("mean output in tokens", mean_output)
    tokens = not_negative("mean prompt in tokens", mean_prompt) + mean_output / 2
    positive("tokens of a running sequence", tokens)
    return tokens + (whole("block size in tokens", block_size) / 2 if block_size is not None else 0)


def mean_concurrency(tokens: int, mean_prompt: float, mean_output: float, block_size: int) -> float:
    """Estimate the sequences that fill the pool when all are of mean length and spread over their life.

    Formula: ``pool tokens / (prompt + output / 2 + block / 2)``. Traffic at this level is preempted at times.

    Args:
        tokens: tokens of the pool.
        mean_prompt: tokens.
        mean_output: tokens.
        block_size: tokens a block.

    Returns:
        Sequences, not rounded.

    Raises:
        CapacityError: as ``mean_occupancy``, and for a negative pool.

    Source: S02, S29.
    """
    whole("pool tokens", tokens, least=0)
    return tokens / mean_occupancy(mean_prompt, mean_output, block_size)


def safe_concurrency(tokens: int, high_total: int, block_size: int) -> int:
    """Count the sequences that fit without preemption even when all grow to a high total length.

    Formula: ``floor(pool blocks / ceil(high total / block))``.

    Args:
        tokens: tokens of the pool.
        high_total: a high percentile of prompt + output, tokens.
        block_size: tokens a block.

    Returns:
        Sequences; 0 when not one fits.

    Raises:
        CapacityError: for a negative pool or a length below 1.

    Source: S02, S12.
    """
    whole("pool tokens", tokens, least=0)
    whole("high total length in tokens", high_total)
    return tokens // block_size // blocks_held(high_total, block_size)


def high_total_length(totals: Sequence[int], percentile: float = 0.95) -> int:
    """Pick a high percentile of observed total lengths by nearest rank.

    Formula: the value of rank ``ceil(percentile x n)``.

    Args:
        totals: prompt + output of finished requests, tokens.
        percentile: 0 to 1, above 0.

    Returns:
        Tokens, one of the observed values.

    Raises:
        CapacityError: without observations, or for a percentile outside.

    Source: S06, S12.
    """
    if not totals:
        raise CapacityError("no observed lengths")
    return sorted(totals)[max(1, math.ceil(positive_share("percentile", percentile) * len(totals))) - 1]


class SlotReservation(Struct, frozen=True):
    """What a contiguous allocator sets aside.

    Attributes:
        reserved: tokens reserved.
        held: tokens in use.
        used_share: held / reserved.
    """

    reserved: int
    held: float
    used_share: float


def slot_reservation(slots: int, max_length: int, mean_held: float) -> SlotReservation:
    """Work out what a contiguous allocator reserves, and how much of it is used.

    Formula: ``reserved = slots x maximum length``; ``used = slots x mean held / reserved``.

    Args:
        slots: sequences that can run.
        max_length: longest sequence a slot is made for, tokens.
        mean_held: tokens a running sequence holds on average.

    Returns:
        Reservation in tokens, and the used share.

    Raises:
        CapacityError: for no slots or no length, or when more is held than reserved.

    Source: S04.
    """
    reserved = whole("slots", slots) * whole("maximum length in tokens", max_length)
    held = slots * not_negative("tokens held", mean_held)
    return SlotReservation(reserved, held, share("held share of a slot", held / reserved))
