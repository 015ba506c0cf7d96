"""Prefix cache hit rate is low for this traffic (S05).

The cache reuses full blocks of a prompt that begins with the same tokens as an earlier one. It misses when caching is off
(``disabled``), prompts differ at the front (``front-differs``), share less than a block (``shorter-than-block``), or the blocks
were evicted (``evicted``). Hit counters alone cannot tell these apart, nor from traffic that has nothing to share: then the variant
is ``unknown`` and this is only a remark.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import bench, bench_cache, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# hits by queries, below which a remark is worth it. Ordinary chat lies at 0.4 and more, which is no fault.
LOW_HITS = 0.05
# Prompt tokens looked up in the window, below which a rate is warm-up noise.
MIN_QUERIES = 10_000.0
MIN_REQUESTS = 20.0
# tokens; ordinary blocks are 16 to 128, a larger one comes from a hybrid model's state page.
LARGE_BLOCK = 512.0
MAX_PREEMPTED = 0.05
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (
    Need(
        (
            "prefix_queries",
            "prefix_hits",
            "enable_prefix_caching",
            "disable_radix_cache",
            "attention_block_size",
        ),
        how_to_get="give metrics over time, or the launch command",
    ),
)


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; a benchmark that counts cached tokens answers where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, bench_cache.outcome)


def _from_engine(facts: Facts) -> Outcome:
    """Prove a variant from configuration or lengths; else remark on a low rate."""
    drafts = []
    for i in range(facts.size):
        draft = _disabled(facts, i) or _shorter_than_block(facts, i) or _unknown(facts, i)
        if draft is not None:
            drafts.append(draft)
    return Fired(tuple(drafts[:1])) if drafts else Passed()


def _off(facts: Facts, i: int) -> str | None:
    """Where caching was switched off, or None."""
    setting = facts.setting(i, "enable_prefix_caching")
    if setting is not None and facts.flag(i, "enable_prefix_caching") is False:
        return setting.where
    setting = facts.setting(i, "disable_radix_cache")
    if setting is not None and facts.flag(i, "disable_radix_cache") is True:
        return setting.where
    return None


def _disabled(facts: Facts, i: int) -> Draft | None:
    """Caching is off; a fault only where prompts are known to share their beginnings."""
    where = _off(facts, i)
    if where is None:
        return None
    distinct = facts.setting(i, "distinct_prompts", "shared_prefix", "repeated_prompts")
    flag = flags.flag_for(facts.engine, facts.version, "prefix-caching")
    return _draft(
        facts, i, "disabled", Severity.WARNING if distinct is not None else Severity.INFO,
        summary=f"Prefix caching is switched off ({where})",
        explanation="Every prompt is computed from its first token, also where it repeats an earlier one."
        + ("" if distinct is not None else " Whether these prompts share anything is not known here."),
        evidence=(Evidence("prefix caching", "setting", 0.0, "0/1", "=", 0.0, facts.entities[i].label, Provenance.CONFIGURED),),
        remedy=Remedy(
            f"Switch prefix caching on{f' ({flag})' if flag else ''}, if prompts share their beginnings.",
            "next-rollout", True, facts.engine, flag, "off", "on", "shared prefixes are computed once",
            "none known for correctness", "switch it off again",
        ),
        refuted_by="Prompts share nothing: then caching would find nothing.",
    )  # fmt: skip


def _shorter_than_block(facts: Facts, i: int) -> Draft | None:
    """No prompt can fill one block, so nothing can ever be reused."""
    block = facts.number(i, "attention_block_size", "effective_attention_block_size", "block_size")
    if block is None or block < LARGE_BLOCK or _hits(facts, i) > 0:
        return None
    longest = facts.number(i, "max_model_len")
    typical = facts.number(i, "prompt_tokens_per_request")
    observed = facts.column("prompt_len", Stat.HIST_P99)[i]
    proof = next(
        (
            (text, value, kind)
            for text, value, kind in (
                ("the maximum model length is", longest, Provenance.CONFIGURED),
                ("99 % of prompts are shorter than", float(observed), Provenance.MEASURED),
                ("prompts are said to have", typical, Provenance.ASSUMED),
            )
            if value is not None and value < block
        ),
        None,
    )
    if proof is None:
        return None
    text, value, kind = proof
    return _draft(
        facts, i, "shorter-than-block", Severity.WARNING,
        summary=f"Nothing can be reused: a cache block holds {words.number(block)} tokens and {text} {words.number(value)}",
        explanation="Only full blocks are reused. Hybrid models get blocks of thousands of tokens so that an attention page is as "
        "large as a state page; a prompt shorter than one block never fills one, so the hit rate is 0 whatever is shared.",
        evidence=(
            Evidence("prompt length", text, value, "tokens", "<", block, facts.entities[i].label, kind),
        ),
        remedy=Remedy(
            "Use an engine release that caches hybrid models in smaller units, or send longer shared prompts "
            "here; a larger pool does not help.",
            "next-rollout", True, facts.engine, None, f"block of {words.number(block)} tokens", None,
            "reuse from the first full block on", "none known", "go back",
        ),
        refuted_by="Prompts longer than two blocks that repeat still find nothing.",
    )  # fmt: skip


def _hits(facts: Facts, i: int) -> float:
    """Hits in the window, or since start where only that is known; 0 when nothing is known."""
    grown = float(facts.increase("prefix_hits")[i])
    return (
        grown if not np.isnan(grown) else float(np.nan_to_num(facts.column("prefix_hits", Stat.LIFETIME)[i]))
    )


def _unknown(facts: Facts, i: int) -> Draft | None:
    """A low rate over enough prompts; why is not in the counters."""
    queries, hits = float(facts.increase("prefix_queries")[i]), float(facts.increase("prefix_hits")[i])
    finished = float(facts.increase("requests_finished")[i])
    if np.isnan(queries) or queries < MIN_QUERIES or finished < MIN_REQUESTS or hits / queries >= LOW_HITS:
        return None
    if float(np.nan_to_num(facts.increase("preemptions")[i])) > MAX_PREEMPTED * finished:
        return None
    return _draft(
        facts, i, "unknown", Severity.INFO,
        summary=f"{words.percent(hits / queries)} of {words.number(queries)} prompt tokens were found in the prefix cache",
        explanation="That is low, and it is a fault only where prompts share their beginnings. The counters do not tell a "
        "timestamp at the front, a shared part shorter than a block, eviction, and traffic with nothing to share apart.",
        evidence=(facts.evidence(i, Request("prefix_hits", Stat.INCREASE, over="prefix_queries"), "<", LOW_HITS),),
        remedy=Remedy(
            "Send one prompt twice and compare its cached tokens: hits then mean that the traffic shares nothing; none mean that "
            "the front differs, the block is larger than the prompt, or the pool is too small.",
            "now", expected="the variant is known", risk="one more request",
        ),
        refuted_by="The traffic has nothing to share.",
        cap=0.4,
    )  # fmt: skip


def _draft(
    facts: Facts, i: int, variant: str, severity: Severity, *, summary: str, explanation: str,
    evidence: tuple[Evidence, ...], remedy: Remedy, refuted_by: str, cap: float = 1.0,
) -> Draft:  # fmt: skip
    return Draft(
        severity=severity,
        role=Role.CAUSE if severity is Severity.WARNING else Role.ADVICE,
        replicas=(i,),
        window=Window(facts.observed.start, facts.observed.end, None),
        variant=variant,
        summary=summary,
        explanation=explanation,
        evidence=evidence,
        chart=ChartHint(("prefix_queries", "prefix_hits"), {"prefix_hit_rate": LOW_HITS}),
        impact=Impact("shared prompt tokens are computed again", None, "", "how much is shared is not known"),
        remedies=(remedy,),
        do_not=("Do not chase the rate under a preemption storm: recomputed tokens count as hits.",),
        refuted_by=refuted_by,
        margin=1.0,
        weakest=Resolution.RANGE if variant != "unknown" else max(facts.resolution[i], Resolution.PAIR),
        verify=(Request("prefix_hits", Stat.INCREASE, over="prefix_queries"),),
        because="the configuration proves it" if variant != "unknown" else "the cause is not in the counters",
        confidence_cap=cap,
    )


RULE = Rule(
    code="PFX001",
    slug="prefix-cache-miss",
    title="Prefix cache hit rate is low for this traffic",
    family="cache",
    concepts=("S05",),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "hits by queries": (LOW_HITS, "ratio"),
        "prompt tokens looked up": (MIN_QUERIES, "tokens"),
    },
)
