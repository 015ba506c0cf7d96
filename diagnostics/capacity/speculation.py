"""Whether speculative decoding pays, and with which draft length. It never changes the output (S26)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, not_negative, share, whole

# Two speed-ups closer than this are the same length of draft in practice; it also absorbs rounding.
_SAME = 1e-9
_LONGEST_DRAFT = 64


class BestLength(Struct, frozen=True):
    """The draft length that pays most.

    Attributes:
        length: drafted tokens a round; 0 means that no length is faster than not speculating.
        speed_up: ratio to decoding without speculation; 1 at length 0.
        tokens_per_round: expected tokens a round, the verified one included.
    """

    length: int
    speed_up: float
    tokens_per_round: float


def independent_curve(acceptance: float, length: int) -> tuple[float, ...]:
    """Give the acceptance at each position when every token is accepted alike and independently.

    Formula: ``p_i = a^i``, because position i counts only when all before it were accepted.

    Args:
        acceptance: chance that one drafted token is accepted, 0 to 1.
        length: drafted tokens a round.

    Returns:
        Shares by position.

    Raises:
        CapacityError: for a share outside 0 to 1 or a negative length.

    Source: S17.
    """
    share("acceptance", acceptance)
    return tuple(acceptance**position for position in range(1, whole("draft length", length, least=0) + 1))


def _checked(curve: Sequence[float]) -> Sequence[float]:
    for position, value in enumerate(curve, start=1):
        share(f"acceptance at position {position}", value)
        # A position can be reached only through the one before; a rising curve is counted otherwise.
        if position > 1 and value > curve[position - 2] + _SAME:
            raise CapacityError(
                f"acceptance rises at position {position}: it must be counted over all drafts"
            )
    return curve


def tokens_per_round(curve: Sequence[float]) -> float:
    """Give the expected tokens of a round from the acceptance at each position.

    Formula: ``E(k) = 1 + p_1 + ... + p_k``, the verified token included.

    Args:
        curve: accepted share by position, counted over all drafts.

    Returns:
        Tokens.

    Raises:
        CapacityError: for a share outside 0 to 1, or a curve that rises.

    Source: S09, S17.
    """
    return 1 + sum(_checked(curve))


def tokens_per_round_independent(acceptance: float, length: int) -> float:
    """Give the expected tokens of a round for independent acceptance.

    Formula: ``(1 - a^(k+1)) / (1 - a)``; ``k + 1`` for an acceptance of 1.

    Args:
        acceptance: chance that one drafted token is accepted, 0 to 1.
        length: drafted tokens a round.

    Returns:
        Tokens.

    Raises:
        CapacityError: for a share outside 0 to 1 or a negative length.

    Source: S09, S17.
    """
    share("acceptance", acceptance)
    whole("draft length", length, least=0)
    return length + 1.0 if acceptance == 1 else (1 - acceptance ** (length + 1)) / (1 - acceptance)


def average_acceptance(curve: Sequence[float]) -> float:
    """Give accepted / drafted, the rate that engines print.

    Formula: ``(p_1 + ... + p_k) / k``; it falls with k by arithmetic alone.

    Args:
        curve: accepted share by position, counted over all drafts.

    Returns:
        A ratio.

    Raises:
        CapacityError: without positions, or as ``tokens_per_round``.

    Source: S17.
    """
    if not curve:
        raise CapacityError("an acceptance rate needs at least one drafted position")
    return sum(_checked(curve)) / len(curve)


def speed_up(curve: Sequence[float], draft_cost: float, verification_cost: float = 1.0) -> float:
    """Give the speed of speculation relative to plain decoding.

    Formula: ``E(k) / (v + k c)``.

    Args:
        curve: accepted share by position, counted over all drafts; its length is k.
        draft_cost: time to draft one token / time of a target step (c).
        verification_cost: time to verify k + 1 positions / time of a target step (v): 1 at small batch,
            up to k + 1 where the batch already fills the compute units.

    Returns:
        A ratio; above 1 is faster.

    Raises:
        CapacityError: for a negative cost, or a verification that costs less than a step or more than k + 1.

    Source: S09, S17.
    """
    not_negative("draft cost", draft_cost)
    if not 1 <= verification_cost <= len(curve) + 1:
        raise CapacityError(f"verification costs 1 to {len(curve) + 1} steps, not {verification_cost:g}")
    return tokens_per_round(curve) / (verification_cost + len(curve) * draft_cost)


def break_even_acceptance(length: int, draft_cost: float, verification_cost: float = 1.0) -> float:
    """Give the average acceptance above which speculation is faster than plain decoding.

    Formula: ``p_1 + ... + p_k > k c + (v - 1)``, divided by k.

    Args:
        length: drafted tokens a round (k).
        draft_cost: time to draft one token / time of a target step (c).
        verification_cost: time to verify / time of a target step (v).

    Returns:
        Accepted / drafted; above 1 means that no acceptance pays.

    Raises:
        CapacityError: for a length below 1, or costs out of range.

    Source: S17.
    """
    whole("draft length", length)
    not_negative("draft cost", draft_cost)
    if not 1 <= verification_cost <= length + 1:
        raise CapacityError(f"verification costs 1 to {length + 1} steps, not {verification_cost:g}")
    return draft_cost + (verification_cost - 1) / length


def pays(curve: Sequence[float], draft_cost: float, verification_cost: float = 1.0) -> bool:
    """Say whether speculation is faster than plain decoding.

    Formula: ``p_1 + ... + p_k > k c + (v - 1)``; exactly even does not pay.

    Args:
        curve: accepted share by position, counted over all drafts.
        draft_cost: time to draft one token / time of a target step (c).
        verification_cost: time to verify / time of a target step (v).

    Returns:
        True when it pays.

    Raises:
        CapacityError: as ``speed_up``.

    Source: S17.
    """
    return speed_up(curve, draft_cost, verification_cost) > 1 + _SAME


def best_length(curve: Sequence[float], draft_cost: float) -> BestLength:
    """Find the draft length that pays most, within the measured positions.

    Formula: the k with the largest ``E(k) / (1 + k c)``; the gain ends where the next ``p`` no longer
    exceeds ``c x E / (1 + k c)``. The shortest of equals is taken.

    Args:
        curve: accepted share by position, counted over all drafts. Longer drafts than it were not seen.
        draft_cost: time to draft one token / time of a target step (c).

    Returns:
        Length, gain and tokens a round.

    Raises:
        CapacityError: as ``speed_up``.

    Source: S17.
    """
    best = BestLength(0, 1.0, 1.0)
    for length in range(1, len(curve) + 1):
        gain = speed_up(curve[:length], draft_cost)
        if gain > best.speed_up + _SAME:
            best = BestLength(length, gain, tokens_per_round(curve[:length]))
    return best


def best_length_independent(acceptance: float, draft_cost: float) -> BestLength:
    """Find the draft length that pays most for independent acceptance, up to 64 tokens.

    Formula: as ``best_length`` with ``p_i = a^i``.

    Args:
        acceptance: chance that one drafted token is accepted, 0 to 1.
        draft_cost: time to draft one token / time of a target step (c).

    Returns:
        Length, gain and tokens a round.

    Raises:
        CapacityError: as ``speed_up``.

    Source: S17.
    """
    return best_length(independent_curve(acceptance, _LONGEST_DRAFT), draft_cost)
