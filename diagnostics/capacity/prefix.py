"""What prefix caching can save, on one replica and spread over several."""

from __future__ import annotations

from diagnostics.capacity.checks import not_negative, whole


def reusable_tokens(shared_run: int, block_size: int, prompt: int | None = None) -> int:
    """Give the tokens of a prompt that a prefix cache can skip.

    Formula: ``floor(shared run / block) x block``. Of a prompt that is cached whole, at least the last
    token is computed again, so the run is cut to ``prompt - 1`` where the prompt is given.

    Args:
        shared_run: tokens from the start that an earlier prompt had too.
        block_size: tokens a block.
        prompt: tokens of the whole prompt, or None to leave the last rule out.

    Returns:
        Tokens; 0 when the run is shorter than a block.

    Raises:
        CapacityError: for negative lengths or a block below 1.

    Source: S05.
    """
    run = whole("shared run in tokens", shared_run, least=0)
    if prompt is not None:
        run = min(run, whole("prompt in tokens", prompt) - 1)
    return run // whole("block size in tokens", block_size) * block_size


def hit_share_one_replica(requests: int) -> float:
    """Give the hit share of the shared part when all requests of a prefix reach one replica.

    Formula: ``(R - 1) / R``.

    Args:
        requests: requests that share the prefix (R).

    Returns:
        A share of the shared part, 0 to 1.

    Raises:
        CapacityError: for fewer than one request.

    Source: S05, S28.
    """
    return (whole("requests of a prefix", requests) - 1) / requests


def hit_share_blind(requests: int, replicas: int) -> float:
    """Give the hit share of the shared part when requests are spread blindly over replicas.

    Formula: ``(R - N) / R``, every replica computing the prefix once; 0 when there are fewer requests
    than replicas.

    Args:
        requests: requests that share the prefix (R).
        replicas: replicas they are spread over (N).

    Returns:
        A share of the shared part, 0 to 1.

    Raises:
        CapacityError: for counts below 1.

    Source: S28.
    """
    return max(0, whole("requests of a prefix", requests) - whole("replicas", replicas)) / requests


def working_set_tokens(distinct_prefixes: int, mean_length: float) -> float:
    """Give the tokens that all live prefixes take together.

    Formula: ``distinct prefixes x their length``; it must fit the part of the pool that sequences leave free.

    Args:
        distinct_prefixes: prefixes that return while they are still of use.
        mean_length: tokens.

    Returns:
        Tokens.

    Raises:
        CapacityError: for negative numbers.

    Source: S05, S28.
    """
    return whole("distinct prefixes", distinct_prefixes, least=0) * not_negative(
        "length in tokens", mean_length
    )


def working_set_fits(working_set: float, pool_tokens: int, held_by_running: float) -> bool:
    """Say whether the prefixes stay cached beside the running sequences.

    Formula: ``working set <= pool - held by running sequences``.

    Args:
        working_set: tokens of all live prefixes.
        pool_tokens: tokens of the pool.
        held_by_running: tokens of running sequences that are not prefixes.

    Returns:
        True when they fit.

    Raises:
        CapacityError: for negative numbers.

    Source: S05, S28.
    """
    not_negative("working set in tokens", working_set)
    free = whole("pool tokens", pool_tokens, least=0) - not_negative(
        "tokens held by running", held_by_running
    )
    return working_set <= free
