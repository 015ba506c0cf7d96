"""The benchmark repeats prompts so the prefix cache answers (S21).

A repeated prompt finds its blocks in the prefix cache and skips prefill, so the result counts prompt tokens that nobody
computed. Proved by a count of distinct prompts or by cached tokens; the shape of first-token times alone is a sign only. Not
this where the benchmark shares prefixes on purpose, or caching is off.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench, bench_shape, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Distinct prompts by requests; at half, each prompt is sent twice.
DISTINCT_SHARE = 0.5
# Prompt tokens answered from the cache. Recordings: 0.99 with one prompt, 0.02 with unlike ones; chat that goes on has less.
CACHED_SHARE = 0.9
# First-token time of the first requests by that of later ones in groups as large (recordings: 3.7 with one prompt, 0.8 without).
COLD_RATIO = 3.0
# Requests after the first wave, and prompt tokens looked up, below which a ratio is chance.
MIN_LATER = 50
MIN_QUERIES = 10_000.0
_SHARED_ON_PURPOSE = ("shared-prefix", "shared_prefix", "prefix_repetition", "gsp", "mooncake", "multi")


class Sign(Struct, frozen=True):
    """One sign of repetition: its evidence, a sentence, and how sure it can be."""

    evidence: Evidence
    sentence: str
    cap: float = 1.0


def evaluate(facts: Facts) -> Outcome:
    """Look for repetition in every run, and in the server's hit counters beside a benchmark."""
    runs = [r for r in bench.measured(facts) if not _on_purpose(r) and r.prefix_caching is not False]
    signs = [(r, s) for r in runs if (s := _of_run(r)) is not None]
    served = _of_server(facts) if runs or _command_beside(facts) else None
    if not signs and served is None:
        if not facts.runs:
            return bench.nothing()
        return Passed() if runs and all(map(_is_known, runs)) else _unknown()
    return Fired((_draft(facts, [r for r, _ in signs], [s for _, s in signs], served),))


def _unknown() -> Unanswered:
    how = "give the number of distinct prompts, the server's prefix hits beside the run, or --save-detailed output"
    return Unanswered(Reason.NOT_IN_THIS_INPUT, ("distinct prompts",), how)


def _command_beside(facts: Facts) -> bool:
    return any(facts.setting(i, "bench_kind") is not None for i in range(facts.size))


def _on_purpose(run: BenchRun) -> bool:
    shared = any(word in (run.dataset or "").lower() for word in _SHARED_ON_PURPOSE)
    return bool(run.multi_turn or run.shared_prefix_tokens or run.prefix_groups or shared)


def _is_known(run: BenchRun) -> bool:
    """Whether anything in the run could have shown repetition."""
    told = run.distinct_prompts is not None
    return told or any(
        s.cache_hit is not None or bench_shape.opening(s) is not None for s in bench.levels(run)
    )


def _of_run(run: BenchRun) -> Sign | None:
    steps = bench.levels(run) or [BenchStep()]
    return _few_prompts(run, steps[0]) or next(
        (x for s in steps if (x := _cached(run, s) or _cold(run, s))), None
    )


def _few_prompts(run: BenchRun, step: BenchStep) -> Sign | None:
    distinct, sent = run.distinct_prompts, step.requested or step.completed
    if distinct is None or (distinct > DISTINCT_SHARE * sent if sent else distinct > 1):
        return None
    source = bench.provenance(run, "distinct_prompts")
    share = distinct / sent if sent else 0.0
    number = bench.evidence(
        run, step, "distinct prompts", "by requests", share, "ratio", "<=", DISTINCT_SHARE, source
    )
    of = f" for {words.number(sent)} requests" if sent else ""
    return Sign(
        number, f"It sends {words.number(distinct)} distinct prompt{'s' if distinct > 1 else ''}{of}."
    )


def _cached(run: BenchRun, step: BenchStep) -> Sign | None:
    hit = step.cache_hit
    if hit is None and step.cached_input_tokens is not None and step.input_tokens:
        hit = step.cached_input_tokens / step.input_tokens
    if hit is None or hit < CACHED_SHARE:
        return None
    number = bench.evidence(run, step, "cached prompt tokens", "share", hit, "ratio", ">=", CACHED_SHARE)
    return Sign(number, f"The cache answered {words.percent(hit)} of its prompt tokens.", 0.8)


def _cold(run: BenchRun, step: BenchStep) -> Sign | None:
    found = bench_shape.opening(step)
    if (
        not bench_shape.one_input_length(step)
        or found is None
        or found.later < MIN_LATER
        or found.ratio < COLD_RATIO
    ):
        return None
    number = bench.evidence(
        run,
        step,
        "ttft",
        "first requests by later ones",
        found.ratio,
        "ratio",
        ">=",
        COLD_RATIO,
        Provenance.INFERRED,
    )
    said = (
        f"Every prompt has the same length, and first tokens fell from {words.seconds(found.first_s)} to "
        f"{words.seconds(found.later_s)} after the first requests. A start-up inside the run can look the same."
    )
    return Sign(number, said, 0.5)


def _of_server(facts: Facts) -> Sign | None:
    """The server's own hit counters while the benchmark ran."""
    hits, queries = facts.increase("prefix_hits"), facts.increase("prefix_queries")
    for i in np.flatnonzero(queries >= MIN_QUERIES):
        share = float(hits[i] / queries[i])
        if share >= CACHED_SHARE:
            request = Request("prefix_hits", Stat.INCREASE, over="prefix_queries")
            return Sign(
                facts.evidence(int(i), request, ">=", CACHED_SHARE),
                f"The server found {words.percent(share)} of the prompt tokens in its prefix cache.", 0.9,
            )  # fmt: skip
    return None


def _draft(facts: Facts, runs: list[BenchRun], signs: list[Sign], served: Sign | None) -> Draft:
    proofs = ([served] if served else []) + sorted(signs, key=lambda s: -s.cap)
    best = max(proofs, key=lambda s: s.cap)
    which = bench.several(runs, len(facts.runs)) if runs else "the benchmark"
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Prompts repeat in {which}, so the prefix cache answers and the result does not hold for production",
        explanation=f"{' '.join(dict.fromkeys(s.sentence for s in proofs[:3]))} A repeated prompt skips its prefill, so "
        "throughput counts prompt tokens that were never computed and first tokens come at the speed of a cache hit.",
        evidence=tuple(s.evidence for s in proofs[:5]),
        chart=ChartHint(("prefix_hits", "prefix_queries", "ttft"), {"prefix_hit_rate": CACHED_SHARE}),
        impact=Impact("throughput and time to first token look better than production will see", None, "", best.sentence),
        remedies=(
            Remedy("Repeat the run with as many distinct prompts as requests, drawn from production's mix, and another seed "
                   "than the last run.", "now", flag="--seed", expected="first tokens cost their prefill again",
                   risk="none for the server", undo="use the old data set and seed"),
        ),
        do_not=("Do not size replicas or compare hardware by this result.",),
        refuted_by="Production's own prefix hit rate is as high, or the prompts were all different.",
        margin=1.0,
        weakest=Resolution.RANGE,
        verify=(Request("prefix_hits", Stat.INCREASE), Request("prefix_queries", Stat.INCREASE)),
        because="repetition is counted" if best.cap > 0.5 else "the shape of first-token times alone",
        confidence_cap=best.cap,
    )  # fmt: skip


RULE = Rule(
    code="BEN001",
    slug="identical-prompts",
    title="The benchmark repeats prompts so the prefix cache answers",
    family="benchmark",
    concepts=("S21",),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={
        "distinct prompts by requests": (DISTINCT_SHARE, "ratio"),
        "prompt tokens from the cache": (CACHED_SHARE, "ratio"),
        "first-token time of the first requests by later ones": (COLD_RATIO, "ratio"),
    },
)
