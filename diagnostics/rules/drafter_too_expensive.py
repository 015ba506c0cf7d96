"""Drafts are accepted but the drafter costs more than it saves (S17).

A round costs one step of the target and the drafting, and returns one token and those accepted. With good
acceptance and no win the drafting is too dear. Needs the cost itself, which one engine publishes, or the same
work without speculation beside it.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.engines import flags
from diagnostics.execute import bench, bench_ab, peers, speculation, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.rules.low_acceptance import LOSSLESS, LOW_LENGTH
from diagnostics.rules.speculation_at_high_batch import LARGE_BATCH

# Time a token with speculation by that without, from which there is no win beyond noise (repeats differ by
# 0.1).
NO_WIN = 0.9
# Share of a step's time spent drafting. Source: half a step for drafts must be paid by half a token more a
# round.
OVERHEAD = 0.5
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (
    Need(
        ("spec_draft_tokens", "spec_accept_length"),
        how_to_get="speculation is off, or its metrics are not here",
    ),
)


class Cost(Struct, frozen=True):
    """Tokens a round, time a token by that without speculation, share of a step spent drafting."""

    length: float
    time: float
    overhead: float
    plain: int | None


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; an A/B pair of benchmark runs answers where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, bench_ab.drafter_cost)


def _from_engine(facts: Facts) -> Outcome:
    """Judge replicas whose drafts are accepted, where the cost or a baseline is known."""
    numbers = speculation.read(facts)
    good = np.flatnonzero(numbers.enough & (numbers.length >= LOW_LENGTH))
    if not len(good):
        return Passed()
    seen = {int(i): _cost(facts, int(i), float(numbers.length[i])) for i in good}
    known = {i: c for i, c in seen.items() if not (np.isnan(c.time) and np.isnan(c.overhead))}
    if not known:
        return Unanswered(
            Reason.OPTION_NOT_GIVEN, ("baseline",),
            "give the same load without speculation (--baseline): no metric tells what drafting costs",
        )  # fmt: skip
    hit = {i: c for i, c in known.items() if c.time >= NO_WIN or c.overhead >= OVERHEAD}
    return Fired((_draft(facts, hit),)) if hit else Passed()


def _cost(facts: Facts, i: int, length: float) -> Cost:
    plain = peers.without_speculation(facts, i)
    # Several tokens come in one gap, so only the time a token of whole requests compares.
    time, requests = facts.hist_mean("tpot"), facts.column("tpot", Stat.HIST_COUNT)
    fit = plain is not None and min(requests[i], requests[plain]) >= peers.MIN_REQUESTS
    fit = fit and facts.column("running", Stat.MEAN)[i] < LARGE_BATCH
    ratio = float(time[i] / time[plain]) if fit else float("nan")
    return Cost(length, ratio, float(facts.column("spec_draft_overhead", Stat.MEAN)[i]), plain)


def _draft(facts: Facts, hit: dict[int, Cost]) -> Draft:
    worst = max(hit, key=lambda i: float(np.nan_to_num(hit[i].time)))
    cost, name = hit[worst], facts.entities[worst].label
    paired = cost.time >= NO_WIN
    how = speculation.method(facts, worst)
    beside = facts.entities[cost.plain].label if cost.plain is not None else ""
    found = (
        f"a token takes {words.number(cost.time)} times as long as on {beside} without speculation"
        if paired
        else f"drafting takes {words.percent(cost.overhead)} of a step"
    )
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=tuple(hit),
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else
                      None),
        summary=(
            f"Drafts are accepted and nothing is won on {words.replicas(facts, tuple(hit))}: "
            f"{words.number(cost.length)} tokens a round, and {found}"
        ),
        explanation=(
            f"{f'Drafts come from {how}. ' if how else ''}The target keeps what is drafted, so the drafter "
            "fits; what it saves is spent on drafting and on the wider check. A lighter drafter or a shorter "
            "draft costs less for the same text."
        ),
        evidence=(
            Evidence("spec_accept_length", "mean", round(cost.length, 3), "tokens", ">=", LOW_LENGTH, name,
                     Provenance.MEASURED),
            Evidence("tpot", "mean by a replica without speculation", round(cost.time, 3), "ratio", ">=",
                     NO_WIN, name, Provenance.MEASURED) if paired else Evidence("spec_draft_overhead", "mean",
                    round(cost.overhead, 3), "ratio", ">=", OVERHEAD, name, Provenance.MEASURED),
        ),
        chart=ChartHint(("spec_draft_tokens", "spec_accepted_tokens", "generation_tokens"), {}),
        impact=Impact("the drafter's memory and time bring no speed", round(cost.time, 2) if paired else None,
                      "x time a token", "replicas side by side" if paired else "the engine's own figure"),
        remedies=(
            Remedy("Nothing is broken; if latency matters, send traffic to replicas without "
                   "speculation.", "now", expected="the speed of plain decoding",
                   risk="none for the output", undo="route as before"),
            Remedy("Use a lighter drafter (heads of the model, n-grams for copying work) "
                   "or draft fewer tokens.", "next-rollout", True, facts.engine, flags.flag_for(facts.engine,
                        facts.version, "speculative-config"), how, None, "cost falls more than acceptance",
                   "acceptance changes: measure again", "the old settings"),
        ),
        do_not=(LOSSLESS, "Do not train the drafter for more acceptance first: its cost is what is wrong."),
        refuted_by="A pair of runs at production concurrency shows a speed-up beyond their spread.",
        margin=min(1.0, cost.time / NO_WIN - 1) if paired else min(1.0, cost.overhead / OVERHEAD - 1),
        weakest=max(facts.resolution[worst], Resolution.PAIR),
        verify=(
            Request("spec_accepted_tokens", Stat.INCREASE, over="spec_drafts"),
            Request("tpot", Stat.HIST_MEAN),
        ),
        because="a replica without speculation beside it" if paired else "the engine says what drafting "
            "takes",
    )  # fmt: skip


RULE = Rule(
    code="SPC002",
    slug="drafter-too-expensive",
    title="Drafts are accepted but the drafter costs more than it saves",
    family="speculation",
    concepts=("S17",),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    support=Support.SOURCE,
    full=Resolution.PAIR,
    thresholds={"time a token by that without": (NO_WIN, "ratio"), "drafting by step": (OVERHEAD, "ratio")},
)  # fmt: skip
