"""What is compared: numbers of a whole deployment, each with how far chance alone moves it."""

from __future__ import annotations

import math
from typing import Literal

from msgspec import Struct

from diagnostics.execute.facts import Facts
from diagnostics.model.comparison import Aspect
from diagnostics.model.report import Regime
from diagnostics.signals.quantiles import histogram_quantile

How = Literal["arrivals", "rate", "mean", "p50", "p90", "p99", "ratio", "sum of means", "largest", "keys"]

# Least change worth a word. Source: one server, equal settings, equal requests, twice: up to 9 % apart.
NOISE = 0.10
# Standard errors that a difference must exceed. Source: the usual 95 % interval of a normal mean.
ERRORS = 2.0
# Observations on each side below which a difference is not judged. Source: with fewer, two errors exceed a factor of 2.7.
LEAST = 8
_QUANTILE = {"p50": 0.5, "p90": 0.9, "p99": 0.99}


class Measure(Struct, frozen=True):
    """One number.

    Attributes:
        name: in words.
        aspect: what it is about.
        signal: the canonical signal.
        how: how the number is made of it.
        unit: of the number.
        floor: differences below this, in ``unit``, are never worth a word.
        better: the direction that people want; None where there is none.
        over: the signal below the line of a ratio.
    """

    name: str
    aspect: Aspect
    signal: str
    how: How
    unit: str
    floor: float
    better: Literal["lower", "higher"] | None = None
    over: str = ""


ARRIVING = "requests arriving"
# Begins the names of the shares of time; the regime follows.
UNDER = "time under "
MEASURES = (
    Measure(ARRIVING, "traffic", "requests_finished", "arrivals", "requests/s", 0.02),
    Measure("prompt length, mean", "traffic", "prompt_len", "mean", "tokens", 1.0),
    Measure("prompt length, p90", "traffic", "prompt_len", "p90", "tokens", 1.0),
    Measure("answer length, mean", "traffic", "generation_len", "mean", "tokens", 1.0),
    Measure("prompt tokens found in the prefix cache", "cache", "prefix_hits", "ratio", "ratio", 0.05, None, "prefix_queries"),
    Measure("adapters in use", "traffic", "lora_running", "keys", "adapters", 0.5),
    Measure("time to first token, mean", "latency", "ttft", "mean", "s", 0.005, "lower"),
    Measure("time to first token, p50", "latency", "ttft", "p50", "s", 0.005, "lower"),
    Measure("time to first token, p99", "latency", "ttft", "p99", "s", 0.005, "lower"),
    Measure("wait for the first schedule, mean", "latency", "queue_time", "mean", "s", 0.005, "lower"),
    Measure("gap between tokens, mean", "latency", "itl", "mean", "s", 0.0005, "lower"),
    Measure("gap between tokens, p50", "latency", "itl", "p50", "s", 0.0005, "lower"),
    Measure("gap between tokens, p99", "latency", "itl", "p99", "s", 0.0005, "lower"),
    Measure("whole request, mean", "latency", "e2e", "mean", "s", 0.01, "lower"),
    Measure("whole request, p99", "latency", "e2e", "p99", "s", 0.01, "lower"),
    Measure("generated tokens", "throughput", "generation_tokens", "rate", "tokens/s", 0.5, "higher"),
    Measure("prompt tokens", "throughput", "prompt_tokens", "rate", "tokens/s", 0.5, "higher"),
    Measure("requests finished", "throughput", "requests_finished", "rate", "requests/s", 0.02, "higher"),
    Measure("requests running", "saturation", "running", "sum of means", "requests", 0.5),
    Measure("requests waiting", "saturation", "waiting", "sum of means", "requests", 0.5, "lower"),
    Measure("KV cache in use, fullest replica", "saturation", "kv_usage", "largest", "ratio", 0.05),
    Measure("preemptions", "saturation", "preemptions", "rate", "events/s", 0.02, "lower"),
    Measure("tokens accepted of those drafted", "throughput", "spec_accepted_tokens", "ratio", "ratio", 0.05, "higher",
            "spec_draft_tokens"),
)  # fmt: skip
REGIME_FLOOR = 0.05
_JUDGED_REGIMES = tuple(r for r in Regime if r not in (Regime.UNDECIDED, Regime.UNSATURATED))


class Value(Struct, frozen=True):
    """A number and how many observations stand behind it; NaN where the input does not tell."""

    value: float
    observations: float


def regime_measures() -> tuple[Measure, ...]:
    """Share of the time under each limit."""
    return tuple(
        Measure(f"{UNDER}{r.value}", "saturation", r.value, "largest", "ratio", REGIME_FLOOR,
                None if r is Regime.IDLE else "lower")
        for r in _JUDGED_REGIMES
    )  # fmt: skip


def regime_value(facts: Facts, measure: Measure) -> Value:
    """Share of the replicas' time under the regime of a measure."""
    observed = sum(c.observed for c in facts.courses)
    if not observed:
        return Value(math.nan, 0.0)
    return Value(sum(c.seconds(Regime(measure.signal)) for c in facts.courses) / observed, math.inf)


def values(facts: Facts) -> dict[str, Value]:
    """Every measure of a deployment, by name."""
    found = {m.name: _value(facts, m) for m in MEASURES}
    return found | {m.name: regime_value(facts, m) for m in regime_measures()}


def allowance(measure: Measure, before: Value, after: Value) -> float:
    """The factor, above 1, that a change must exceed to be more than noise.

    Waits and lengths scatter about as widely as their mean (an exponential does so exactly), and arrivals by the
    root of their number; a quantile rests on the observations beyond it.
    """
    beyond = 1 - _QUANTILE.get(measure.how, 0.0)
    scatter = sum(1 / max(1.0, v.observations * beyond) for v in (before, after))
    return math.exp(max(math.log1p(NOISE), ERRORS * math.sqrt(scatter)))


def enough(measure: Measure, before: Value, after: Value) -> bool:
    """Whether both sides saw enough to be held against each other; of events that ceased only one side has any."""
    seen = before.observations, after.observations
    return (max(seen) if measure.how in ("rate", "arrivals") else min(seen)) >= LEAST


def _value(facts: Facts, measure: Measure) -> Value:
    parts = _sums(facts, measure.signal)
    lasted = seconds(facts)
    how = measure.how
    if how == "rate":
        return Value(parts["value"] / lasted, _requests(facts, parts["value"]))
    if how == "arrivals":
        return _arrivals(facts, parts["value"], lasted)
    if how == "mean":
        return Value(_divided(parts["sum"], parts["count"]), parts["count"])
    if how in _QUANTILE:
        return Value(_quantile(facts, measure.signal, _QUANTILE[how]), parts["count"])
    if how == "ratio":
        below = _sums(facts, measure.over)["value"]
        return Value(_divided(parts["value"], below), _requests(facts, below))
    if how == "keys":
        names = {n for key in facts.keys(measure.signal) for n in key.split(",") if n.strip()}
        return Value(float(len(names)) if names else math.nan, math.inf)
    return _gauge(facts, measure, lasted)


def seconds(facts: Facts) -> float:
    """How long a deployment was seen; NaN where it was not seen over time."""
    start, end = facts.observed.start, facts.observed.end
    return end - start if start is not None and end is not None and end > start else math.nan


def _requests(facts: Facts, counted: float) -> float:
    """Independent events behind a counted total: tokens come by the request."""
    finished = _sums(facts, "requests_finished")["value"]
    return min(finished, counted) if not math.isnan(finished) else counted


def _divided(top: float, below: float) -> float:
    return top / below if below > 0 else math.nan


def _chosen(facts: Facts) -> list[int]:
    return [e.number for e in facts.entities]


def _sums(facts: Facts, signal: str) -> dict[str, float]:
    """Growth over the time seen of each part of a signal, all replicas together; NaN where absent."""
    rows = facts.answers.db.execute(
        "SELECT part, sum(inc) FROM points WHERE timed AND signal = ? AND list_contains(?::INTEGER[], e) GROUP BY part",
        [signal, _chosen(facts)],
    ).fetchall()
    found = {str(part): float(grown) for part, grown in rows if grown is not None}
    return {part: found.get(part, math.nan) for part in ("value", "sum", "count")}


def _quantile(facts: Facts, signal: str, q: float) -> float:
    rows = facts.answers.db.execute(
        "SELECT m.le, sum(s.increment) FROM samples s JOIN signal_series m USING (series_id) WHERE m.part = 'bucket'"
        " AND m.timed AND m.signal = ? AND list_contains(?::INTEGER[], m.e) GROUP BY m.le HAVING sum(s.increment) IS NOT NULL"
        " ORDER BY m.le",
        [signal, _chosen(facts)],
    ).fetchall()
    return float(histogram_quantile(q, [le for le, _ in rows], [n for _, n in rows]))


def _arrivals(facts: Facts, finished: float, lasted: float) -> Value:
    """Requests arriving: those that finished, and by how many more are inside at the end than at the start."""
    row = facts.answers.db.execute(
        "SELECT sum(last - first) FROM (SELECT arg_max(value, t) AS last, arg_min(value, t) AS first FROM points WHERE timed"
        " AND signal IN ('running', 'waiting') AND list_contains(?::INTEGER[], e) GROUP BY e, signal, key)",
        [_chosen(facts)],
    ).fetchone()
    # Without gauges nobody knows how many were inside.
    inside = float(row[0]) if row and row[0] is not None else math.nan
    came = math.nan if math.isnan(finished + inside) else max(finished + inside, 0.0)
    return Value(came / lasted, came)


def _gauge(facts: Facts, measure: Measure, lasted: float) -> Value:
    rows = facts.answers.db.execute(
        "SELECT avg(value), count(value) FROM points WHERE timed AND signal = ? AND list_contains(?::INTEGER[], e) GROUP BY e",
        [measure.signal, _chosen(facts)],
    ).fetchall()
    means = [float(mean) for mean, _ in rows if mean is not None]
    if not means or math.isnan(lasted):
        return Value(math.nan, 0.0)
    finished = _sums(facts, "requests_finished")["value"]
    seen = finished if not math.isnan(finished) else float(sum(n for _, n in rows))
    return Value(sum(means) if measure.how == "sum of means" else max(means), seen)
