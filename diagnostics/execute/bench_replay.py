"""A ready ``vllm bench serve`` command; where production's metrics are there it sends production's load."""

from __future__ import annotations

import shlex

import numpy as np

from diagnostics.execute.facts import Facts
from diagnostics.model.requests import Stat

# What is sent where nothing is known of production, tokens and requests/s.
INPUT, OUTPUT, RATE = 1024, 256, 1.0
# Seconds that a run should last, requests it should have at least and at most.
SECONDS, FEWEST, MOST = 300.0, 300, 5000
# Spread of a uniform length around its mean: p90 lies four fifths of the way to the longest.
_P90_OF_SPREAD = 0.8
_MOST_SPREAD = 0.9
# Tokens that the requests of a histogram of lengths add up to.
_COUNTERS = {"prompt_len": "prompt_tokens", "generation_len": "generation_tokens"}
_KEPT = "--percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,99 --save-result --save-detailed"


def command(facts: Facts, model: str | None = None, address: str = "localhost:8000") -> str:
    """A command to copy; it says what it takes from production.

    Args:
        facts: the deployment, with or without metrics.
        model: as a benchmark names it, where one is there.
        address: where the server listens.
    """
    given, made = mean_of(facts, "prompt_len"), mean_of(facts, "generation_len")
    rate, shared = rate_of(facts), shared_of(facts)
    prefix = round(shared * (given or 0.0))
    lengths = f"--random-input-len {max(1, round(given or INPUT) - prefix)} --random-output-len {round(made or OUTPUT)}"
    prefix_flag = f" --random-prefix-len {prefix}" if prefix else ""
    sent = rate or RATE
    prompts = int(min(MOST, max(FEWEST, sent * SECONDS)))
    told = [
        what
        for what, known in (("lengths", given and made), ("arrival rate", rate), ("shared prefix", prefix))
        if known
    ]
    note = f"  # {' and '.join(told)} as in production" if told else "  # repeat at rates up to the knee"
    name = shlex.quote(model or (facts.model if facts.model != "model" else "") or "MODEL")
    return (
        f"vllm bench serve --base-url {shlex.quote(f'http://{address}')} --model {name} --dataset-name random {lengths} "
        f"--random-range-ratio {_spread(facts, given):.2f}{prefix_flag} --ignore-eos --request-rate {sent:.3g} --burstiness 1 "
        f"--num-prompts {prompts} --num-warmups 20 {_KEPT}{note}"
    )


def mean_of(facts: Facts, signal: str) -> float | None:
    """Mean length over all replicas, requests counted alike; by token counters where no histogram tells it, else None."""
    means, counts = facts.hist_mean(signal), facts.column(signal, Stat.HIST_COUNT)
    known = ~np.isnan(means) & (counts > 0)
    if known.any():
        return float(np.average(means[known], weights=counts[known]))
    tokens, finished = (float(np.nansum(facts.increase(s))) for s in (_COUNTERS[signal], "requests_finished"))
    return tokens / finished if tokens > 0 and finished > 0 else None


def rate_of(facts: Facts) -> float | None:
    """Requests a second of all replicas over the time seen; None without times."""
    start, end = facts.observed.start, facts.observed.end
    total = float(np.nansum(facts.increase("requests_finished")))
    return (
        total / (end - start) if start is not None and end is not None and end > start and total > 0 else None
    )


def shared_of(facts: Facts) -> float:
    """Share of prompt tokens that was found in the cache; 0 when unknown."""
    found, asked = (float(np.nansum(facts.increase(s))) for s in ("prefix_hits", "prefix_queries"))
    return min(1.0, found / asked) if asked > 0 else 0.0


def _spread(facts: Facts, mean: float | None) -> float:
    """Half the width of a uniform length by its mean, such that its p90 is that of production."""
    tail = facts.column("prompt_len", Stat.HIST_P90)
    if mean is None or np.isnan(tail).all():
        return 0.5
    return float(np.clip((np.nanmax(tail) / mean - 1) / _P90_OF_SPREAD, 0.0, _MOST_SPREAD))
