"""Price of tokens, said with which tokens are meant."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, not_negative, positive, share

SECONDS_AN_HOUR = 3600
MILLION = 1e6


class TokenRates(Struct, frozen=True):
    """Tokens a second by kind.

    Attributes:
        output: generated tokens/s.
        computed_input: prompt tokens/s that were computed.
        cached_input: prompt tokens/s that a prefix cache served.
    """

    output: float
    computed_input: float
    cached_input: float = 0.0

    def __post_init__(self) -> None:
        for label in ("output", "computed_input", "cached_input"):
            not_negative(f"{label.replace('_', ' ')} tokens/s", getattr(self, label))


class CostViews(Struct, frozen=True):
    """The same bill divided by different counts of tokens; US dollars a million, in this order of size.

    Attributes:
        output: the whole bill on output tokens.
        computed: on output and computed input tokens.
        everything: on output, computed and cached input tokens. A good cache makes this figure small
            without a single token becoming cheaper to compute.
    """

    output: float
    computed: float
    everything: float


class CostByKind(Struct, frozen=True):
    """The bill split between prefill and decode by the time each takes; US dollars a million.

    Attributes:
        computed_input: a computed prompt token, or None when none was computed.
        input_with_cache: a prompt token of either kind, or None when there were none.
        output: a generated token, or None when none was generated.
    """

    computed_input: float | None
    input_with_cache: float | None
    output: float | None


def usd_per_million(price_per_hour: float, tokens_per_second: float) -> float:
    """Give the price of a million tokens.

    Formula: ``price per hour / (tokens per second x 3600) x 1e6``.

    Args:
        price_per_hour: US dollars an hour, of all GPUs that make these tokens.
        tokens_per_second: measured rate of the tokens that are meant; say at which load.

    Returns:
        US dollars a million tokens.

    Raises:
        CapacityError: for a price below zero or a rate of zero: an idle server has no price a token.

    Source: S11.
    """
    rate = positive("tokens/s", tokens_per_second)
    return not_negative("price per hour", price_per_hour) / (rate * SECONDS_AN_HOUR) * MILLION


def cost_views(price_per_hour: float, rates: TokenRates) -> CostViews:
    """Divide one bill by output, by computed and by all tokens.

    Formula: ``usd_per_million`` of ``output``, of ``output + computed`` and of all three kinds.

    Args:
        price_per_hour: US dollars an hour, of all GPUs.
        rates: tokens a second by kind.

    Returns:
        Three prices in US dollars a million.

    Raises:
        CapacityError: when no output is produced.

    Source: S06, S11.
    """
    computed = rates.output + rates.computed_input
    return CostViews(
        usd_per_million(price_per_hour, rates.output),
        usd_per_million(price_per_hour, computed),
        usd_per_million(price_per_hour, computed + rates.cached_input),
    )


def cost_by_kind(price_per_hour: float, rates: TokenRates, prefill_time_share: float) -> CostByKind:
    """Split one bill between input and output by the time that prefill and decode take.

    Formula: input ``price x share / input rate``, output ``price x (1 - share) / output rate``.

    Args:
        price_per_hour: US dollars an hour, of all GPUs.
        rates: tokens a second by kind.
        prefill_time_share: share of busy time that goes to prefill, 0 to 1, measured.

    Returns:
        Prices in US dollars a million; None for a kind that did not occur.

    Raises:
        CapacityError: for a share outside 0 to 1, or time spent on a kind that did not occur.

    Source: S06, S11.
    """
    share("prefill share of time", prefill_time_share)
    if (prefill_time_share and not rates.computed_input) or (prefill_time_share < 1 and not rates.output):
        raise CapacityError("time is charged to a kind of token that did not occur")
    for_input, for_output = price_per_hour * prefill_time_share, price_per_hour * (1 - prefill_time_share)

    def each(bill: float, rate: float) -> float | None:
        return usd_per_million(bill, rate) if rate else None

    return CostByKind(
        each(for_input, rates.computed_input),
        each(for_input, rates.computed_input + rates.cached_input),
        each(for_output, rates.output),
    )
