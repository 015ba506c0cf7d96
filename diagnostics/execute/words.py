"""Numbers as people say them, and the parts of sentences that many rules share."""

from __future__ import annotations

import math

from diagnostics.execute.facts import Facts
from diagnostics.model.findings import Window
from diagnostics.model.requests import Request, Stat

# Waiting grows when its trend over the stretch adds so many requests, and this share of its mean.
GROWTH_REQUESTS = 3.0
GROWTH_SHARE = 0.5
# Stretches of a limit that matter: a minute, or this share of a shorter observation.
MIN_STRETCH_SECONDS = 60.0
MIN_STRETCH_SHARE = 0.25
SHORTEST_STRETCH_SECONDS = 20.0
_NAMED_REPLICAS = 3


def number(value: float) -> str:
    """A number with as many digits as matter."""
    if math.isnan(value):
        return "unknown"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.1f}"


def percent(value: float) -> str:
    """A ratio as percent; what is not nought is never called nought."""
    if math.isnan(value):
        return "unknown"
    size = abs(value)
    if size >= 0.1 or size == 0:
        return f"{100 * value:.0f} %"
    if size >= 0.001:
        return f"{100 * value:.1f} %"
    return f"{100 * value:.2f} %" if size >= 0.0001 else "under 0.01 %"


def seconds(value: float) -> str:
    """A duration with its unit."""
    if math.isnan(value):
        return "unknown time"
    if value < 1:
        return f"{1000 * value:.0f} ms"
    if value < 120:
        return f"{value:.1f} s" if value < 10 else f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 120:
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 10 else "")
    return f"{minutes / 60:.1f} h"


def replicas(facts: Facts, indices: tuple[int, ...]) -> str:
    """Which replicas, in words; all of them are not listed."""
    names = facts.names(indices)
    if len(names) == facts.size:
        return "the replica" if facts.size == 1 else f"all {facts.size} replicas"
    shown = ", ".join(names[:_NAMED_REPLICAS])
    rest = len(names) - _NAMED_REPLICAS
    more = f" and {rest} more" if rest > 0 else ""
    return f"{len(names)} of {facts.size} replicas ({shown}{more})"


def held(window: Window) -> str:
    """How long a stretch lasted and its share of the time seen."""
    if window.start is None or window.end is None:
        return "at the moments seen"
    share = f" ({percent(window.share_of_window)} of the time seen)" if window.share_of_window else ""
    return f"for {seconds(window.end - window.start)}{share}"


def matters(stretch: float, observed: float) -> bool:
    """Whether a limit held long enough to be more than a burst.

    Args:
        stretch: seconds under the limit.
        observed: seconds seen in all.
    """
    if stretch < SHORTEST_STRETCH_SECONDS:
        return False
    return stretch >= MIN_STRETCH_SECONDS or stretch >= MIN_STRETCH_SHARE * observed


def queue_grows(facts: Facts, i: int, during: str) -> bool:
    """Whether the queue of replica i kept growing through a stretch."""
    slope = float(facts.column("waiting", Stat.SLOPE, during)[i])
    mean = float(facts.column("waiting", Stat.MEAN, during)[i])
    duration = sum(s.end - s.start for s in facts.courses[i].segments if s.regime.value == during)
    added = slope * duration
    return added > GROWTH_REQUESTS and added > GROWTH_SHARE * mean


def slo_broken(facts: Facts, i: int, during: str) -> bool:
    """Whether time to first token of replica i breaks an SLO that the user gave."""
    for name, limit in facts.options.slo.items():
        metric, _, stat = name.partition("_")
        signal = "queue_time" if metric == "queue" else metric
        wanted = {"p50": Stat.HIST_P50, "p90": Stat.HIST_P90, "p99": Stat.HIST_P99}.get(stat, Stat.HIST_MEAN)
        value = float(facts.ask(Request(signal, wanted, during))[i])
        if value > limit:
            return True
    return False


def queue_sentence(facts: Facts, i: int, during: str) -> str:
    """How long requests wait for their first schedule, in words; empty when unknown."""
    queue = float(facts.hist_mean("queue_time", during)[i])
    total = float(facts.hist_mean("ttft", during)[i])
    if math.isnan(queue):
        return ""
    share = f", {percent(min(1.0, queue / total))} of the time to first token" if total > 0 else ""
    return f"A request waits {seconds(queue)} on average for its first schedule{share}. "
