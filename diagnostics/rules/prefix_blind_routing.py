"""Requests that share a prefix are spread over replicas (S28).

A prefix cache lives in one replica's memory, so a continuing conversation skips prefill only on the replica that has it. Spread
blindly over N replicas each prefix must be computed N times. Not this with one replica, or when hit rates are already high.
"""

from __future__ import annotations

import numpy as np

from diagnostics.execute import fleet, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# A middling hit rate: something is shared, and much of it is missed (recordings: 0.30 blind, 0.63 kept on one replica).
SOME_HITS, MANY_HITS = 0.1, 0.5
# Largest difference of hit rates between replicas that is "spread evenly".
EVEN = 0.15
# Prompt tokens looked up on each replica, below which a rate says nothing.
MIN_QUERIES = 10_000.0
# Preemptions put recomputed tokens into the hits, so a rate under a storm says nothing.
MAX_PREEMPTIONS = 3.0


def evaluate(facts: Facts) -> Outcome:
    """Fire, as advice, where all replicas show the same middling hit rate."""
    chosen = fleet.comparable(facts)
    if len({facts.entities[i].replica for i in chosen}) < 2:
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("replicas",), "needs at least two replicas that can be told apart"
        )
    if not facts.is_range()[chosen].all():
        # Dumps of several replicas are not taken at the same moments, so their rates cannot be laid side by side.
        return Unanswered(
            Reason.NEEDS_TIME_SERIES, ("prefix_queries",), "give a metrics API that scrapes every replica"
        )
    queries, hits = facts.increase("prefix_queries")[chosen], facts.increase("prefix_hits")[chosen]
    if np.isnan(queries).any() or np.isnan(hits).any():
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("prefix_queries",), "give metrics of every replica over time"
        )
    if queries.min() < MIN_QUERIES:
        return Unanswered(
            Reason.TOO_FEW_SAMPLES, ("prefix_queries",), "watch until each replica has seen more prompts"
        )
    rates = hits / queries
    preempted = np.nan_to_num(facts.increase("preemptions")[chosen]).max() > MAX_PREEMPTIONS
    pooled = float(hits.sum() / queries.sum())
    if not preempted and SOME_HITS <= pooled < MANY_HITS and float(rates.max() - rates.min()) <= EVEN:
        return Fired((_draft(facts, tuple(chosen), pooled, rates),))
    return Passed()


def _draft(facts: Facts, chosen: tuple[int, ...], pooled: float, rates: np.ndarray) -> Draft:
    n = len(chosen)
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=chosen,
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else None),
        summary=f"Prefixes may be spread blindly over {n} replicas: each finds {words.percent(float(rates.min()))} to "
        f"{words.percent(float(rates.max()))} of prompt tokens in its cache",
        explanation=(
            f"Something is shared, since {words.percent(pooled)} of prompt tokens were found, and every replica misses alike. "
            f"Routed blindly, each of {n} replicas must compute a prefix before it can reuse it; kept together, one does. How much "
            "would be gained is not in these numbers: it needs the same traffic with affinity, or prompts that are known to repeat."
        ),
        evidence=(
            Evidence("prefix_hits", "hits by queries, all replicas", round(pooled, 4), "ratio", "<", MANY_HITS,
                     facts.names(chosen)[0], Provenance.MEASURED),
        ),
        chart=ChartHint(("prefix_queries", "prefix_hits"), {"prefix_hit_rate": MANY_HITS}),
        impact=Impact("prompts are computed again on every replica", None, "", "the reuse lost is not proved"),
        remedies=(
            Remedy(
                "Try prefix-aware routing (hash of the leading tokens, or of the conversation) on part of the traffic and "
                "compare hit rates.",
                "now", False, None, None, "blind", "prefix-aware", "hit rate rises, time to first token falls",
                "with mostly unique prompts affinity only makes load uneven: bound it by load", "switch the policy back",
            ),
        ),
        do_not=("Do not enlarge the KV cache for this: the blocks are on the wrong replica, not evicted.",),
        refuted_by="One replica with the same traffic reaches no higher hit rate.",
        margin=(MANY_HITS - pooled) / MANY_HITS,
        weakest=Resolution.RANGE if Resolution.RANGE in facts.resolution else Resolution.PAIR,
        verify=(Request("prefix_hits", Stat.INCREASE, over="prefix_queries"),),
        because="the potential is not known",
        confidence_cap=0.45,
    )  # fmt: skip


RULE = Rule(
    code="PFX002",
    slug="prefix-blind-routing",
    title="Requests that share a prefix are spread over replicas",
    family="cache",
    concepts=("S28",),
    needs=(Need(("prefix_queries",)),),
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "hit rate that shows something is shared": (SOME_HITS, "ratio"),
        "hit rate that is high": (MANY_HITS, "ratio"),
        "difference between replicas": (EVEN, "ratio"),
    },
)
