"""Weights leave almost no room for KV cache (S02, S20).

A pool is thin when it holds few sequences of the length that they really have; where that is not known, of the configured length. The
four terms are shown added up. Not this when the load never needs more than the pool has.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnostics.execute import budget, deployment, remedies, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Sequences of the real length; S02's example of a server that serves almost no concurrency holds two or three.
FEW_REAL = 4.0
# Sequences of the maximum length, which few requests reach: below this a second long one waits for the first.
FEW_CONFIGURED = 2.0
# tokens; with a shorter maximum requests do come near it, so the pool is held against FEW_REAL of it.
SHORT_MAXIMUM = 8192.0
# ratio; KV usage from which the load needs the pool, and below which one sequence's share of it is too coarse to measure.
NEEDED, MEASURABLE = 0.9, 0.05
# ratio of the granted memory that an estimate leaves for KV; S02's example leaves 4 to 8 of 144 GiB.
THIN_SHARE = 0.10
MIN_REQUESTS = 20.0


@dataclass(frozen=True, slots=True)
class Fill:
    """How many sequences the pool of replica i holds."""

    i: int
    sequences: float
    limit: float
    of: str
    provenance: Provenance
    resolution: Resolution


def evaluate(facts: Facts) -> Outcome:
    """Fire for the replica whose pool holds fewest sequences, if those are few and the load needs them."""
    if deployment.refusals(facts, "kv-refused", "out-of-memory"):
        return Passed()  # it did not start; that is another finding
    fills = [fill for i in range(facts.size) if (fill := _fill(facts, i)) is not None]
    thin = [f for f in fills if f.sequences < f.limit and _needed(facts, f)]
    if thin:
        return Fired((_draft(facts, min(thin, key=lambda f: f.sequences), tuple(f.i for f in thin)),))
    if fills:
        return Passed()
    return _estimate(facts)


def capacity(facts: Facts, i: int) -> float | None:
    """Tokens that the pool of replica i holds."""
    value = facts.number(i, "kv_capacity_tokens") or float(facts.column("kv_capacity_tokens", Stat.LAST)[i])
    return None if np.isnan(value) or value <= 0 else value


def _fill(facts: Facts, i: int) -> Fill | None:
    """Sequences that fit, by the best length that is known: measured, told, configured."""
    running, usage = (float(facts.column(s, Stat.MEAN)[i]) for s in ("running", "kv_usage"))
    if running >= 1 and usage >= MEASURABLE:
        return Fill(i, running / usage, FEW_REAL, "as measured (running by KV usage)", Provenance.MEASURED, facts.resolution[i])
    tokens = capacity(facts, i)
    if tokens is None:
        return None
    if float(np.nan_to_num(facts.column("prompt_len", Stat.HIST_COUNT)[i])) >= MIN_REQUESTS:
        length = float(facts.hist_mean("prompt_len")[i]) + float(np.nan_to_num(facts.hist_mean("generation_len")[i])) / 2
        return Fill(i, tokens / length, FEW_REAL, f"of {words.number(length)} tokens, the mean held", Provenance.MEASURED,
                    facts.resolution[i])  # fmt: skip
    told = facts.number(i, "prompt_tokens_per_request")
    if told:
        length = told + (facts.number(i, "output_tokens_per_request") or 0.0) / 2
        return Fill(i, tokens / length, FEW_REAL, f"of {words.number(length)} tokens", Provenance.ASSUMED, Resolution.SNAPSHOT)
    longest = facts.number(i, "max_model_len", "context_length", "context_len")
    if not longest:
        return None
    limit = max(FEW_CONFIGURED, FEW_REAL * min(1.0, SHORT_MAXIMUM / longest))
    return Fill(i, tokens / longest, limit, f"of the configured {words.number(longest)} tokens", Provenance.CONFIGURED,
                Resolution.SNAPSHOT)  # fmt: skip


def _needed(facts: Facts, fill: Fill) -> bool:
    """Whether the load reaches what the pool holds; taken for so where no load was seen."""
    i, of = fill.i, facts.column
    if np.isnan(of("kv_usage", Stat.MAX)[i]):
        return True
    thrown = np.nansum([of("preemptions", Stat.INCREASE)[i], of("preemptions", Stat.LIFETIME)[i] * facts.is_thin()[i]])
    return bool(of("kv_usage", Stat.MAX)[i] >= NEEDED or thrown > 0)


def _draft(facts: Facts, worst: Fill, hit: tuple[int, ...]) -> Draft:
    i, tokens = worst.i, capacity(facts, worst.i)
    pool = f"KV cache of {words.number(tokens)} tokens" if tokens else "KV cache"
    terms = budget.printed(facts, i)
    loaded = worst.provenance is Provenance.MEASURED
    value = round(worst.sequences, 2)
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"{pool} holds {words.number(value)} sequences {worst.of}, on {words.replicas(facts, hit)}",
        explanation=(terms.sentence if terms else "")
        + "The KV cache gets what weights, activations, graphs and context leave, and only sequences whose tokens are all in it can "
        "run together. " + ("" if loaded else "Real requests may be shorter; the printed maximum concurrency is a floor."),
        evidence=(Evidence("sequences that the KV cache holds", worst.of, value, "requests", "<", round(worst.limit, 2),
                           facts.entities[i].label, worst.provenance),),
        chart=ChartHint(("kv_usage", "running", "waiting"), {"kv_usage": NEEDED}),
        impact=Impact(f"about {words.number(worst.sequences)} requests run at once; more wait or are preempted", value, "requests",
                      worst.of),
        remedies=remedies.more_kv_memory(facts, i),
        do_not=("Do not lower the maximum length to gain memory: in a paged engine the pool stays, only the printed number grows.",),
        refuted_by="KV usage stays low under the real load: then the pool is small and large enough.",
        margin=1 - worst.sequences / worst.limit,
        weakest=worst.resolution,
        verify=(Request("kv_usage", Stat.MAX), Request("running", Stat.MAX)),
        because="sequences measured in the pool" if loaded else "the pool is divided by a length that is not measured",
        confidence_cap=1.0 if loaded and worst.resolution is Resolution.RANGE else 0.5,
    )  # fmt: skip


def _estimate(facts: Facts) -> Outcome:
    """Without a pool in the input, add the terms up."""
    for i in range(facts.size):
        rows = deployment.gpus(facts, i)
        terms = budget.estimated(facts, i, rows[0]) if len(rows) == 1 and not deployment.serves(facts) else None
        if terms is None or terms.kv is None or not terms.granted:
            continue
        longest = facts.number(i, "max_model_len", "context_length", "max_position_embeddings")
        by_length = terms.kv_tokens / longest if terms.kv_tokens is not None and longest else None
        thin = by_length < FEW_CONFIGURED if by_length is not None else terms.kv / terms.granted < THIN_SHARE
        return Fired((_estimated(facts, i, terms, by_length),)) if thin and terms.kv > 0 else Passed()
    return Unanswered(
        Reason.NOT_IN_THIS_INPUT, ("kv_capacity_tokens",),
        "give the start-up log (its line 'KV cache size'), metrics, or the launch command with config.json and --gpu",
    )  # fmt: skip
