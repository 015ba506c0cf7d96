"""Speculation runs while the batch is already compute-bound (S08, S17).

At a small batch a step waits for the weights, and checking a few more positions is almost free. At a large
one each position is work that plain decoding would spend on tokens. Proved by a replica without speculation
at the same batch; from the size of the steps alone it is a remark.
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

# Positions a step computes from which a step is compute-bound on every common card. Source: rate by
# bandwidth, the largest figure is the L4's (403), H100 has 295 and A100 153.
RIDGE = 403.0
# Requests running from which a batch is called large when a replica without speculation is the proof.
LARGE_BATCH = 32.0
# Tokens a second with speculation by those without, at the same batch; above it speculation pays (noise is
# 0.1).
NO_GAIN = 1.0
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (
    Need(("spec_draft_tokens",), how_to_get="speculation is off, or its counters are not here"),
    Need(("running",)),
)


class Batch(Struct, frozen=True):
    """Requests running, positions a step, and tokens a second by those of a replica without speculation."""

    running: float
    positions: float
    gain: float
    plain: int | None


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; an A/B pair of benchmark runs answers where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, bench_ab.speculation_at_load)


def _from_engine(facts: Facts) -> Outcome:
    """Fire from a pair of replicas, or remark on steps far above the ridge."""
    numbers = speculation.read(facts)
    drafting = np.flatnonzero(numbers.enough & (numbers.drafted > 0))
    if not len(drafting):
        return Unanswered(
            Reason.TOO_FEW_SAMPLES,
            ("spec_draft_tokens",),
            "let it run until a few hundred tokens were drafted",
        )
    seen = {int(i): _batch(facts, int(i)) for i in drafting}
    hit = {
        i: b
        for i, b in seen.items()
        if (b.running >= LARGE_BATCH and b.gain <= NO_GAIN) or _remark(numbers, i, b)
    }
    return Fired((_draft(facts, hit),)) if hit else Passed()


def _remark(numbers: speculation.Speculation, i: int, batch: Batch) -> bool:
    """Steps above the ridge, where nothing shows that speculation pays and drafts are not rejected anyhow."""
    return bool(batch.positions >= RIDGE and not batch.gain > NO_GAIN and not numbers.length[i] < LOW_LENGTH)


def _batch(facts: Facts, i: int) -> Batch:
    drafted, drafts = facts.increase("spec_draft_tokens")[i], facts.increase("spec_drafts")[i]
    steps = facts.column("iteration_tokens", Stat.HIST_COUNT)[i]
    plain = peers.without_speculation(facts, i)
    gain = (
        peers.tokens_a_second(facts, i) / peers.tokens_a_second(facts, plain) if plain is not None else np.nan
    )
    return Batch(
        float(facts.column("running", Stat.MEAN)[i]),
        float((drafted + drafts) / steps) if steps > 0 else float("nan"),
        float(gain), plain,
    )  # fmt: skip


def _draft(facts: Facts, hit: dict[int, Batch]) -> Draft:
    worst = min(hit, key=lambda i: (np.isnan(hit[i].gain), hit[i].gain, -hit[i].positions))
    batch, name = hit[worst], facts.entities[worst].label
    proved = batch.plain is not None and batch.gain <= NO_GAIN and batch.running >= LARGE_BATCH
    beside = facts.entities[batch.plain].label if batch.plain is not None else ""
    flag = flags.flag_for(facts.engine, facts.version, "speculative-config")
    found = (
        f"{name} makes {words.number(batch.gain)} times the tokens a second of {beside}, which runs the same "
        "batch without it"
        if proved
        else f"a step computes {words.number(batch.positions)} positions, enough to be bound by compute"
    )
    return Draft(
        severity=Severity.WARNING if proved else Severity.INFO,
        role=Role.CAUSE if proved else Role.ADVICE,
        replicas=tuple(hit),
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else
                      None),
        summary=(
            f"Speculation at a batch of {words.number(batch.running)} on "
            f"{words.replicas(facts, tuple(hit))}: {found}"
        ),
        explanation=(
            "Each sequence brings its drafted positions into the step, and all of them are computed to keep "
            "some. At a small batch that is nearly free; at this one the GPU has no compute to spare."
            + ("" if proved else " Only the same load with and without it shows whether it still pays.")
        ),
        evidence=(
            *((Evidence("generation_tokens", "tokens a second by a replica without speculation",
                        round(batch.gain, 3), "ratio", "<=", NO_GAIN, name, Provenance.MEASURED),)
              if proved else
              (Evidence("spec_draft_tokens", "positions computed a step", round(batch.positions, 1), "tokens",
                        ">=", RIDGE, name, Provenance.MEASURED),)),
            facts.evidence(worst, Request("running", Stat.MEAN), ">=", LARGE_BATCH if proved else None),
        ),
        chart=ChartHint(("running", "generation_tokens", "spec_draft_tokens"), {}),
        impact=Impact("throughput at peak is no better for the drafts" if proved else
                      "unknown without a comparison", round(batch.gain, 2) if proved else None,
                      "x throughput", "replicas side by side at the same batch"),
        remedies=(
            Remedy("Spread the load over more replicas, so that each runs a smaller batch.",
                   "now", expected="drafts pay again", risk="none for the output", undo="route as before"),
            Remedy("Draft fewer tokens, or fewer at a large batch where the release can.",
                   "next-rollout", True, facts.engine, flag, None, None, "compute goes into tokens",
                   "slower single streams at night", "the old draft length"),
        ),
        do_not=(LOSSLESS,),
        refuted_by="The same load makes more tokens a second with speculation than without.",
        margin=min(1.0, 1 - batch.gain) if proved else 0.3,
        weakest=Resolution.RANGE if facts.resolution[worst] is Resolution.RANGE else Resolution.PAIR,
        verify=(
            Request("running", Stat.MEAN),
            Request("spec_draft_tokens", Stat.INCREASE),
            Request("generation_tokens", Stat.INCREASE),
        ),
        because="a replica without speculation beside it" if proved else "the size of the steps, no "
            "comparison",
        confidence_cap=1.0 if proved else 0.5,
    )  # fmt: skip


RULE = Rule(
    code="SPC005",
    slug="speculation-at-high-batch",
    title="Speculation runs while the batch is already compute-bound",
    family="speculation",
    concepts=("S08", "S17"),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    support=Support.SOURCE,
    full=Resolution.PAIR,
    thresholds={"positions a step": (RIDGE, "tokens"), "requests running": (LARGE_BATCH, "requests"),
                "tokens a second by those without": (NO_GAIN, "ratio"),},
)  # fmt: skip
