"""Weights leave almost no room for KV cache (S02, S20).

A pool is thin when it holds few sequences of the length that they really have; where that is not known, of
the configured length. The four terms are shown added up. Not this when the load never needs more than the
pool has.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import budget, deployment, remedies, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Sequences of the real length; S02's example of a server that serves almost no concurrency holds two or
# three.
FEW_REAL = 4.0
# Sequences of the maximum length, which few requests reach: below this a second long one waits for the first.
FEW_CONFIGURED = 2.0
# tokens; requests do come near a shorter maximum, so the pool is then held against more than FEW_CONFIGURED
# of it.
SHORT_MAXIMUM = 8192.0
# ratio; KV usage from which the load needs the pool, and below which one sequence's share is too coarse to
# measure.
NEEDED, MEASURABLE = 0.9, 0.05
# ratio of the granted memory that is left for KV by estimate; S02's example leaves 4 to 8 of 144 GiB.
THIN_SHARE = 0.10
# Requests that make a mean length.
MIN_REQUESTS = 20.0
_HOW = (
    "give the start-up log (line 'KV cache size'), metrics, or the launch command with config.json and --gpu"
)


class Fill(Struct, frozen=True):
    """How much the pool of replica i holds, beside the least that is not thin; ``value`` in ``unit``."""

    i: int
    value: float
    limit: float
    of: str
    provenance: Provenance
    resolution: Resolution = Resolution.SNAPSHOT
    unit: str = "requests"
    terms: budget.Terms | None = None

    def sentence(self, tokens: float | None) -> str:
        """What the pool holds, in words."""
        if self.unit == "ratio":
            return f"Only {words.percent(self.value)} of the memory {self.of} is left for KV cache"
        pool = f"The KV cache of {words.number(tokens)} tokens" if tokens else "The KV cache"
        return f"{pool} holds {words.number(round(self.value, 1))} sequences {self.of}"


def evaluate(facts: Facts) -> Outcome:
    """Fire for the replica whose pool holds fewest sequences, if those are few and the load needs them."""
    if deployment.refusals(facts, "kv-refused", "out-of-memory"):
        return Passed()  # it did not start; that is another finding
    fills = [fill for i in range(facts.size) if (fill := _fill(facts, i) or _estimate(facts, i)) is not None]
    if not fills:
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("kv_capacity_tokens",), _HOW)
    thin = [f for f in fills if f.value < f.limit and _needed(facts, f.i)]
    return (
        Fired((_draft(facts, min(thin, key=lambda f: f.value), tuple(f.i for f in thin)),))
        if thin
        else Passed()
    )


def capacity(facts: Facts, i: int) -> float | None:
    """Tokens that the pool of replica i holds."""
    value = facts.number(i, "kv_capacity_tokens", "max_total_num_tokens") or float(
        facts.column("kv_capacity_tokens", Stat.LAST)[i]
    )
    return None if np.isnan(value) or value <= 0 else value


def _fill(facts: Facts, i: int) -> Fill | None:
    """Sequences that fit, by the best length that is known: measured, told, configured."""
    seen, tokens = facts.resolution[i], capacity(facts, i)
    running, usage = (float(facts.column(s, Stat.MEAN)[i]) for s in ("running", "kv_usage"))
    if running >= 1 and usage >= MEASURABLE:
        return Fill(
            i,
            running / usage,
            FEW_REAL,
            "of the length they have (running by KV usage)",
            Provenance.MEASURED,
            seen,
        )
    if tokens is None:
        return None
    if float(np.nan_to_num(facts.column("prompt_len", Stat.HIST_COUNT)[i])) >= MIN_REQUESTS:
        held = (
            float(facts.hist_mean("prompt_len")[i])
            + float(np.nan_to_num(facts.hist_mean("generation_len")[i])) / 2
        )
        return Fill(
            i,
            tokens / held,
            FEW_REAL,
            f"of {words.number(held)} tokens, the mean held",
            Provenance.MEASURED,
            seen,
        )
    if told := facts.number(i, "prompt_tokens_per_request"):
        held = told + (facts.number(i, "output_tokens_per_request") or 0.0) / 2
        return Fill(i, tokens / held, FEW_REAL, f"of {words.number(held)} tokens", Provenance.ASSUMED)
    if longest := facts.number(i, "max_model_len", "context_length", "context_len"):
        limit = max(FEW_CONFIGURED, FEW_REAL * min(1.0, SHORT_MAXIMUM / longest))
        return Fill(
            i,
            tokens / longest,
            limit,
            f"of the configured {words.number(longest)} tokens",
            Provenance.CONFIGURED,
        )
    return None


def _estimate(facts: Facts, i: int) -> Fill | None:
    """Without a pool in the input, add the terms up."""
    rows = deployment.gpus(facts, i)
    terms = budget.estimated(facts, i, rows[0]) if len(rows) == 1 and not deployment.serves(facts) else None
    if terms is None or not terms.kv or not terms.granted:
        return None
    longest = facts.number(i, "max_model_len", "context_length", "max_position_embeddings")
    if terms.kv_tokens is not None and longest:
        of = f"of the configured {words.number(longest)} tokens"
        return Fill(i, terms.kv_tokens / longest, FEW_CONFIGURED, of, Provenance.INFERRED, terms=terms)
    of = f"that the engine may use of one {rows[0].name}"
    return Fill(i, terms.kv / terms.granted, THIN_SHARE, of, Provenance.INFERRED, unit="ratio", terms=terms)


def _needed(facts: Facts, i: int) -> bool:
    """Whether the load reaches what the pool holds; taken for so where no load was seen."""
    usage, thrown = facts.column("kv_usage", Stat.MAX)[i], facts.increase("preemptions")[i]
    since_start = facts.column("preemptions", Stat.LIFETIME)[i] if facts.is_thin()[i] else 0.0
    return bool(
        np.isnan(usage) or usage >= NEEDED or np.nan_to_num(thrown) > 0 or np.nan_to_num(since_start) > 0
    )


def _draft(facts: Facts, worst: Fill, hit: tuple[int, ...]) -> Draft:
    tokens, terms = capacity(facts, worst.i), worst.terms or budget.printed(facts, worst.i)
    loaded, value = worst.provenance is Provenance.MEASURED, round(worst.value, 2)
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"{worst.sentence(tokens)}, on {words.replicas(facts, hit)}",
        explanation=(terms.sentence if terms else "")
        + "The KV cache gets what weights, activations, graphs and context leave, and only sequences whose "
          "tokens are all in it can run together." + ("" if loaded else " Real requests may be shorter than "
                                                                        "the length used here."),
        evidence=(
            Evidence("what the KV cache holds", worst.of, value, worst.unit, "<", round(worst.limit, 2),
                     facts.entities[worst.i].label, worst.provenance),
        ),
        chart=ChartHint(("kv_usage", "running", "waiting"), {"kv_usage": NEEDED}),
        impact=Impact("few requests run at once; further ones wait or are preempted", value, worst.unit,
                      worst.of),
        remedies=remedies.more_kv_memory(facts, worst.i),
        do_not=(
            "Do not lower the maximum length to gain memory: in a paged engine the pool stays, only the "
            "printed number grows.",
        ),
        refuted_by="KV usage stays low under the real load: then the pool is small and yet large enough.",
        margin=1 - worst.value / worst.limit,
        weakest=worst.resolution,
        verify=(Request("kv_usage", Stat.MAX), Request("running", Stat.MAX)),
        because="sequences measured in the pool" if loaded else "the real length of requests is not measured",
        confidence_cap=1.0 if loaded else 0.5,
    )  # fmt: skip


RULE = Rule(
    code="MEM001",
    slug="kv-budget-thin",
    title="Weights leave almost no room for KV cache",
    family="memory",
    concepts=("S02", "S20"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={
        "sequences of the real length": (FEW_REAL, "requests"),
        "sequences of the configured length": (FEW_CONFIGURED, "requests"),
        "KV usage that shows the need": (NEEDED, "ratio"),
        "memory left for KV by estimate": (THIN_SHARE, "ratio"),
    },
)
