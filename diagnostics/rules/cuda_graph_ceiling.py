"""Batches above the largest captured CUDA graph run eagerly (S13).

A captured graph replays a decode step with one launch. A batch above the largest size captured is launched
kernel by kernel, and the time a token jumps there. Not this where the jump is memory, preemption or a queue,
or where there is no jump.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.engines import flags
from diagnostics.execute import bench, bench_ceiling, courses, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason, Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.regimes import KV_FULL

# Time a token just above the ceiling by that just below; the batch itself grows by a quarter at most across
# the bands, and time a token by less.
JUMP = 1.3
# The bands on both sides, by the ceiling.
BELOW, ABOVE = 0.8, 1.25
MIN_TOKENS = 2000.0
# Share of the time above the ceiling from which it matters.
ABOVE_SHARE = 0.05
CEILING_NAMES = ("max_cudagraph_capture_size", "cuda_graph_max_bs", "cuda_graph_max_bs_decode")
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (
    Need(CEILING_NAMES, how_to_get="give the start-up log: it names the largest graph captured"),
    Need(("running",)),
)


class Jump(Struct, frozen=True):
    """One replica around its ceiling: sequences, seconds a token on both sides, share of time above."""

    ceiling: float
    below: float
    above: float
    share: float


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; a sweep over concurrency answers where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, _from_bench)


def _from_bench(facts: Facts) -> Outcome:
    """A sweep, with the ceiling of the log or configuration beside it."""
    known = [c for i in range(facts.size) if not np.isnan(c := _ceiling(facts, i))]
    return bench_ceiling.outcome(facts, min(known, default=None))


def _from_engine(facts: Facts) -> Outcome:
    """Compare the time a token on both sides of the ceiling."""
    ceilings = np.array([_ceiling(facts, i) for i in range(facts.size)])
    over = facts.column("running", Stat.MAX) > ceilings
    if np.isnan(ceilings).all():
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT,
            CEILING_NAMES[:1],
            "give the start-up log: it names the largest graph captured",
        )
    if not over.any():
        return Passed()
    seen = {int(i): _jump(facts, int(i), float(ceilings[i])) for i in np.flatnonzero(over & facts.is_range())}
    known = {i: jump for i, jump in seen.items() if jump is not None}
    hit = {i: j for i, j in known.items() if j.above >= JUMP * j.below and j.share >= ABOVE_SHARE}
    if hit:
        return Fired((_draft(facts, hit),))
    if known:
        return Passed()
    return Unanswered(
        Reason.TOO_FEW_SAMPLES,
        ("itl",),
        "watch until the batch has been just below and just above the largest graph",
    )


def _ceiling(facts: Facts, i: int) -> float:
    """Sequences that fit the largest graph; speculation puts several tokens of a sequence into a step."""
    largest = facts.number(i, *CEILING_NAMES)
    drafted = facts.number(i, "num_speculative_tokens") if facts.engine == "vllm" else None
    return float("nan") if not largest else float(int(largest / (1 + (drafted or 0))))


def _jump(facts: Facts, i: int, ceiling: float) -> Jump | None:
    course = courses.course(facts, i)
    # Outside memory pressure and queues, which have jumps of their own.
    clean = ~(course.preempted > 0) & ~(course.kv >= KV_FULL) & ~(course.waiting > 0)
    below, few = course.token_seconds(course.between(BELOW * ceiling, ceiling) & clean)
    above, many = course.token_seconds(course.between(ceiling, ABOVE * ceiling) & clean)
    if min(few, many) < MIN_TOKENS or facts.courses[i].share(Regime.PREEMPTING) > 0:
        return None
    return Jump(ceiling, below, above, float((course.running > ceiling).mean()))


def _draft(facts: Facts, hit: dict[int, Jump]) -> Draft:
    worst = max(hit, key=lambda i: hit[i].above / hit[i].below)
    jump, name = hit[worst], facts.entities[worst].label
    known = facts.setting(worst, *CEILING_NAMES)
    flag = flags.flag_for(facts.engine, facts.version, "cuda-graph-sizes")
    cap = flags.flag_for(facts.engine, facts.version, "concurrency-cap")
    ceiling = words.number(jump.ceiling)
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=tuple(hit),
        window=Window(facts.observed.start, facts.observed.end, jump.share),
        summary=(
            f"Decode batches above {ceiling} run without a CUDA graph on "
            f"{words.replicas(facts, tuple(hit))}: a token takes {words.seconds(jump.above)} just above and "
            f"{words.seconds(jump.below)} just below"
        ),
        explanation=(
            f"The largest graph holds {ceiling} sequences ({known.where if known else 'configured'}), and "
            f"for {words.percent(jump.share)} of the time more were running. At the times compared nothing "
            "waited, nothing was preempted and the KV cache had room, so launching each kernel from the host "
            "is what the jump is made of."
        ),
        evidence=(
            Evidence("itl", "just above the ceiling by just below", round(jump.above / jump.below, 2),
                     "ratio", ">=", JUMP, name, Provenance.MEASURED),
            Evidence("running", "share of time above the ceiling", round(jump.share, 3), "ratio", ">=",
                     ABOVE_SHARE, name, Provenance.MEASURED),
            facts.evidence(worst, Request("running", Stat.MAX), ">", jump.ceiling, Provenance.CONFIGURED),
        ),
        chart=ChartHint(("running", "itl", "generation_tokens"), {"running": jump.ceiling}),
        impact=Impact("streams get slower by a step at peak load", round(jump.above / jump.below, 2),
                      "x time a token", "the bands on both sides of the ceiling"),
        remedies=(
            Remedy(f"Keep fewer than {ceiling} requests open on this replica, or send some to another "
                   "one.", "now", expected="every step replays a graph",
                   risk="the rest waits or goes elsewhere", undo="lift the limit"),
            Remedy("Capture larger graphs.", "next-rollout", True, facts.engine, flag,
                   ceiling, f"{2 * jump.ceiling:.0f}", "no jump at peak", "a longer start, and graph memory "
                   "out of the KV cache", "the old sizes"),
            Remedy("Or set the concurrency cap to the largest graph.", "next-rollout", True, facts.engine,
                   cap, None, ceiling, "every step stays fast", "a queue at peak", "the old cap"),
        ),
        do_not=("Do not raise the concurrency cap further: more steps would run without a graph.",),
        refuted_by="A token takes as long just below the ceiling as just above; large models hide the "
            "launches.",
        margin=min(1.0, jump.above / jump.below / JUMP - 1),
        weakest=Resolution.RANGE,
        verify=(
            Request("running", Stat.MAX),
            Request("itl", Stat.HIST_MEAN),
            Request("preemptions", Stat.INCREASE),
        ),
        explains=("decode-bound",),
        because="the jump lies at the size of the largest graph",
    )  # fmt: skip


RULE = Rule(
    code="SCH010",
    slug="cuda-graph-ceiling",
    title="Batches above the largest captured CUDA graph run eagerly",
    family="scheduler",
    concepts=("S13",),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    support=Support.REPORT,
    thresholds={"time a token above by below the ceiling": (JUMP, "ratio"), "time above the ceiling":
                (ABOVE_SHARE, "ratio")},
)  # fmt: skip
