"""Most drafted tokens are rejected (S09, S17, S26).

Each round drafts a few tokens and verifies them in one step of the target model. When nearly all are rejected, the drafts and
the wider verification are wasted. Not this when speculation is off, and never a reason to distrust the output: verification is
lossless.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import bench, bench_acceptance, speculation, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# accepted by drafted. Source: public alert rules use 0.3; recordings: 0.016 (misfit) and 0.71 (fit).
LOW_RATE = 0.3
# tokens a round, bonus included. Below it a round brings less than half a token more than no speculation.
LOW_LENGTH = 1.5
LOSSLESS = (
    "Do not switch speculation off to restore quality: verification is lossless, the output is distributed as the target "
    "model's own (S26). A difference in quality is a defect to report."
)
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (
    Need(
        ("spec_draft_tokens", "spec_accept_rate"),
        how_to_get="speculation is off, or its metrics are not here",
    ),
)


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; a benchmark that prints its acceptance answers where that is not there."""
    return bench.either(
        facts, NEEDS, _from_engine, lambda f: bench_acceptance.outcome(f, LOW_RATE, LOW_LENGTH, LOSSLESS)
    )


def _from_engine(facts: Facts) -> Outcome:
    """Fire where both the rate and the accepted length are below break-even."""
    numbers = speculation.read(facts)
    if not numbers.enough.any():
        return Unanswered(
            Reason.TOO_FEW_SAMPLES,
            ("spec_draft_tokens",),
            "let it run until a few hundred tokens were drafted",
        )
    low = (
        numbers.enough
        & (numbers.rate < LOW_RATE)
        & ((numbers.length < LOW_LENGTH) | np.isnan(numbers.length))
    )
    return Fired((_draft(facts, tuple(np.flatnonzero(low).tolist()), numbers),)) if low.any() else Passed()


def _draft(facts: Facts, hit: tuple[int, ...], numbers: speculation.Speculation) -> Draft:
    worst = min(hit, key=lambda i: float(numbers.rate[i]))
    rate, length = float(numbers.rate[worst]), float(numbers.length[worst])
    curve = [float(column[worst]) for column in numbers.curve]
    by_position = ", ".join(f"{p:.2f}" for p in curve)
    how = speculation.method(facts, worst)
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else None),
        summary=f"Speculation drafts in vain on {words.replicas(facts, hit)}: {words.percent(rate)} of drafted tokens are "
        f"accepted, {words.number(length)} tokens a round instead of 1 without speculation",
        explanation=(
            f"{f'Drafts come from {how}. ' if how else ''}"
            f"{f'Acceptance by position: {by_position}. ' if curve else ''}"
            "Every round pays for drafting and for verifying all positions; with so few accepted, the round brings hardly more "
            "than one token. The drafter does not fit this text or this model. Acceptance falls with draft length by "
            "arithmetic, so the accepted length and the speed decide, not the rate alone."
        ),
        evidence=(
            Evidence("spec_accepted_tokens", "accepted by drafted", round(rate, 4), "ratio", "<", LOW_RATE,
                     facts.entities[worst].label, Provenance.MEASURED),
            Evidence("spec_accept_length", "mean", round(length, 3), "tokens", "<", LOW_LENGTH,
                     facts.entities[worst].label, Provenance.MEASURED),
        ),
        chart=ChartHint(("spec_draft_tokens", "spec_accepted_tokens", "spec_accepted_per_pos"), {"spec_accept_rate": LOW_RATE}),
        impact=Impact(
            f"at best {words.number(length)} times the speed without speculation, less what drafting costs",
            round(length, 2), "x tokens a step", "mean accepted length; draft cost is not published",
        ),
        remedies=_remedies(facts, worst),
        do_not=(LOSSLESS,),
        refuted_by="The same requests run slower without speculation at the same load.",
        margin=1 - rate / LOW_RATE,
        weakest=max(facts.resolution[worst], Resolution.PAIR) if numbers.drafted[worst] > 0 else Resolution.RANGE,
        verify=(
            Request("spec_accepted_tokens", Stat.INCREASE, over="spec_draft_tokens"),
            Request("spec_accepted_tokens", Stat.INCREASE, over="spec_drafts"),
        ),
        because="counted over the whole window" if numbers.drafted[worst] > 0 else "from printed lines",
    )  # fmt: skip


def _remedies(facts: Facts, i: int) -> tuple[Remedy, ...]:
    flag = flags.flag_for(facts.engine, facts.version, "speculative-config")
    how = speculation.method(facts, i)
    return (
        Remedy(
            "Route traffic that copies its input (summaries, edits) here and open-ended traffic to a replica without "
            "speculation.",
            "now",
            expected="acceptance rises where drafts fit",
            risk="none for correctness",
            undo="route as before",
        ),
        Remedy(
            "Use a drafter that fits the model (EAGLE-3, MTP or a small model of the family), draft fewer "
            "tokens, or run without speculation; compare tokens a second at the same load.",
            "next-rollout",
            restart=True,
            engine=facts.engine,
            flag=flag,
            current=how,
            suggested=None,
            expected="no wasted verification",
            risk="a draft model takes memory from the KV cache",
            undo="restore the speculative settings",
        ),
    )


RULE = Rule(
    code="SPC001",
    slug="low-acceptance",
    title="Most drafted tokens are rejected",
    family="speculation",
    concepts=("S09", "S17", "S26"),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={"accepted by drafted tokens": (LOW_RATE, "ratio"), "tokens a round": (LOW_LENGTH, "tokens")},
)
