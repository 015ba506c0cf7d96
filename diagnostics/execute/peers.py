"""Replicas as each other's reference: the same work, slower at it, or without speculation."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import fleet
from diagnostics.execute.facts import Facts
from diagnostics.execute.sql import Array
from diagnostics.model.requests import Stat

# Largest by smallest count, work and length for which replicas do the same (recordings of equal traffic: 1.4
# at most).
SAME_WORK = 1.5
# Gaps between tokens, or requests, below which a mean of one replica means nothing.
MIN_GAPS = 500.0
MIN_REQUESTS = 20.0
# Largest by smallest mean of running at which two replicas carry the same batch.
SAME_BATCH = 1.25


class Slow(Struct, frozen=True):
    """The slowest of several replicas: seconds a token of it, of its peers (median), and their ratio."""

    replica: int
    seconds: float
    peers: float
    ratio: float
    signal: str


def token_seconds(facts: Facts) -> tuple[str, Array]:
    """Mean time a token by replica, and the signal it is from; NaN where too few were seen."""
    gaps, requests = facts.column("itl", Stat.HIST_COUNT), facts.column("tpot", Stat.HIST_COUNT)
    if (gaps >= MIN_GAPS).any():
        return "itl", np.where(gaps >= MIN_GAPS, facts.hist_mean("itl"), np.nan)
    return "tpot", np.where(requests >= MIN_REQUESTS, facts.hist_mean("tpot"), np.nan)


def slowest(facts: Facts, chosen: list[int]) -> Slow | None:
    """The slowest of these replicas; None with fewer than two that can be compared."""
    signal, seconds = token_seconds(facts)
    known = [i for i in chosen if not np.isnan(seconds[i])]
    if len(known) < 2:
        return None
    worst = max(known, key=lambda i: float(seconds[i]))
    peers = float(np.median([seconds[i] for i in known if i != worst]))
    ratio = float(seconds[worst]) / peers if peers > 0 else float("nan")
    return Slow(worst, float(seconds[worst]), peers, ratio, signal)


def same_work(facts: Facts, chosen: list[int]) -> bool:
    """Whether these replicas were given equal requests: in number, in tokens, and in length."""
    measures = (
        facts.increase("requests_finished"),
        fleet.work(facts),
        facts.increase("generation_tokens"),
    )
    return all(fleet.balance(m, chosen).ratio <= SAME_WORK for m in measures)


def without_speculation(facts: Facts, i: int) -> int | None:
    """A replica that carries the same batch as replica i without speculation; None when there is none."""
    running, drafted = facts.column("running", Stat.MEAN), facts.increase("spec_draft_tokens")
    plain = [
        j
        for j in fleet.comparable(facts)
        if j != i and not drafted[j] > 0 and fleet.balance(running, [i, j]).ratio <= SAME_BATCH
    ]
    return plain[0] if plain else None


def tokens_a_second(facts: Facts, i: int) -> float:
    """Generated tokens a second of replica i."""
    observed = facts.courses[i].observed
    return float(facts.increase("generation_tokens")[i]) / observed if observed > 0 else float("nan")
