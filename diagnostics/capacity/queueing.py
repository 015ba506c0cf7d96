"""Queue, batch and preemption: what follows from counts and times alone."""

from __future__ import annotations

from collections.abc import Sequence

from diagnostics.capacity.checks import CapacityError, not_negative, positive, whole


def mean_in_system(arrival_rate: float, mean_time: float) -> float:
    """Give the mean number in a system by Little's law.

    Formula: ``arrival rate x mean time``. A client of N connections without a queue shows N running.

    Args:
        arrival_rate: requests/s.
        mean_time: seconds in the system.

    Returns:
        Requests.

    Raises:
        CapacityError: for a negative rate or time.

    Source: S13, S29.
    """
    return not_negative("arrival rate in 1/s", arrival_rate) * not_negative("mean time in s", mean_time)


def arrival_rate(in_system: float, mean_time: float) -> float:
    """Give the throughput that keeps a number of requests in a system, by Little's law.

    Formula: ``in system / mean time``.

    Args:
        in_system: requests.
        mean_time: seconds in the system.

    Returns:
        Requests/s.

    Raises:
        CapacityError: for a negative number or a time of zero.

    Source: S13.
    """
    return not_negative("requests in the system", in_system) / positive("mean time in s", mean_time)


def throughput_ceiling(cap: int, time_per_output_token: float) -> float:
    """Give the tokens a second that a concurrency cap allows at most.

    Formula: ``cap / time per output token``. Raising the cap helps only while that time grows more slowly.

    Args:
        cap: sequences that may run together.
        time_per_output_token: seconds.

    Returns:
        Output tokens/s.

    Raises:
        CapacityError: for a cap below 1 or a time of zero.

    Source: S13, S29.
    """
    return whole("concurrency cap", cap) / positive("time per output token in s", time_per_output_token)


def static_idle_share(lengths: Sequence[float]) -> float:
    """Give the share of slot time that static batching leaves idle.

    Formula: ``1 - mean length / longest length`` of the batch.

    Args:
        lengths: output tokens of the sequences of one batch.

    Returns:
        A share, 0 to 1.

    Raises:
        CapacityError: for an empty batch or one of no tokens.

    Source: S01.
    """
    if not lengths:
        raise CapacityError("an empty batch has no idle share")
    longest = positive("longest length in tokens", max(lengths))
    return 1 - sum(not_negative("length in tokens", length) for length in lengths) / len(lengths) / longest


def prefill_tokens_left(step_budget: int, decoding: int) -> int:
    """Give the prompt tokens that a step has room for.

    Formula: ``budget - decoding sequences``.

    Args:
        step_budget: most tokens in one step.
        decoding: sequences that decode, one token each.

    Returns:
        Tokens; 0 when decoding takes the whole budget.

    Raises:
        CapacityError: for a budget below 1 or a negative count.

    Source: S19.
    """
    whole("step budget in tokens", step_budget)
    return max(0, step_budget - whole("decoding sequences", decoding, least=0))


def prefill_rate_ceiling(step_budget: int, decoding: int, step_time: float) -> float:
    """Give the prompt tokens a second that the step budget allows at most.

    Formula: ``(budget - decoding) / step time``.

    Args:
        step_budget: most tokens in one step.
        decoding: sequences that decode.
        step_time: seconds.

    Returns:
        Prompt tokens/s.

    Raises:
        CapacityError: as ``prefill_tokens_left``, and for a step of no time.

    Source: S19.
    """
    return prefill_tokens_left(step_budget, decoding) / positive("step time in s", step_time)


def preemption_waste(preemptions: float, mean_held_tokens: float) -> float:
    """Estimate the tokens that preemption with recompute threw away.

    Formula: ``preemptions x mean tokens held by a running sequence``; engines count the event only.

    Args:
        preemptions: events.
        mean_held_tokens: prompt plus output so far of a running sequence, tokens.

    Returns:
        Tokens.

    Raises:
        CapacityError: for negative numbers.

    Source: S12.
    """
    return not_negative("preemptions", preemptions) * not_negative("tokens held", mean_held_tokens)
