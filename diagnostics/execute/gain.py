"""What lifting a limit would return: an interval from what arrives and what is served, or nothing and why.

More than arrives cannot be served, so requests served grow at most by arriving over served; they grow by exactly that when
the limit was the only one. A limit that is lifted by a known factor gives at most that factor, since steps get longer.
What a request waits for its first schedule goes at most to nothing: its prefill stays.
"""

from __future__ import annotations

import math

from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.model.findings import Impact
from diagnostics.model.requests import Stat

# Growth of the queue, as a ratio of what is served, below which the load is taken to be served. Source: one server
# twice under equal requests differed by up to 9 %.
SERVED = 0.10


def offered_by_served(facts: Facts, i: int, during: str) -> float:
    """Requests arriving by requests finished on replica i during a regime; NaN where unknown.

    Arriving is what was counted on arrival, else what finished plus the growth of the queue and of the batch.
    """
    lasted = sum(s.end - s.start for s in facts.courses[i].segments if s.regime.value == during)
    finished = float(facts.increase("requests_finished", during)[i])
    if not finished > 0 or lasted <= 0:
        return math.nan
    received = float(facts.increase("requests_received", during)[i])
    if received > 0:
        return received / finished
    growth = sum(float(facts.column(s, Stat.SLOPE, during)[i]) for s in ("waiting", "running"))
    return 1 + lasted * growth / finished


def lifted(facts: Facts, i: int, during: str, *, most: float = math.inf, by: str = "") -> Impact:
    """What lifting the limit that bound during a regime would return on replica i.

    Args:
        facts: the deployment.
        i: the replica.
        during: the regime.
        most: the factor by which the limit itself would be lifted; infinite where it would go.
        by: why ``most`` bounds the gain, in words.
    """
    waiting = float(facts.column("waiting", Stat.MEAN, during)[i])
    ratio = offered_by_served(facts, i, during)
    waits = f"{words.number(waiting)} requests wait on average"
    sooner = _first_token(facts, i, during)
    if math.isnan(ratio):
        return Impact(
            f"{waits}{sooner}", None, "", "how many requests arrive is not in this input, so no gain is given"
        )
    if ratio < 1 + SERVED:
        return Impact(
            f"{waits}; in all as many requests are served as arrive, so lifting the limit shortens the wait and adds no "
            f"throughput{sooner}",
            None,
            "",
            "measured arrivals and completions",
        )
    top = min(ratio, most)
    return Impact(
        f"{waits}; lifting the limit would serve up to {words.number(top)} times as many requests and tokens a second{sooner}",
        round(top, 3),
        "x throughput",
        f"{words.number(ratio)} requests arrive for each one finished, and no more can be served"
        + (f"; {by}" if by and most <= ratio else "")
        + "; less where each step gets longer or another limit follows, so between 1 and this",
        (1.0, round(top, 3)),
    )


def _first_token(facts: Facts, i: int, during: str) -> str:
    """To what time to first token could fall, in words; empty where unknown."""
    total, queue, prefill = (
        float(facts.hist_mean(s, during)[i]) for s in ("ttft", "queue_time", "prefill_time")
    )
    if not total > queue > 0 or not prefill > 0:
        return ""
    low, high = sorted((prefill, total - queue))
    span = f"between {words.seconds(low)} and {words.seconds(high)}"
    return f"; time to first token could fall from {words.seconds(total)} to {span} at best"
