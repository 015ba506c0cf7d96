"""Weight-only 4-bit at a batch where the server is compute-bound (S08).

A quarter of the bytes helps while a step waits for the weights. At a large batch a step waits for arithmetic,
and every product must first turn the weights back into 16 bit, which 16-bit weights never need. Where that
begins follows from the card.
"""

from __future__ import annotations

import numpy as np

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.hardware import match_gpus
from diagnostics.capacity.roofline import crossing_batch
from diagnostics.engines import flags
from diagnostics.execute import bench, bench_ab, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Words by which engines call 4-bit weights with 16-bit arithmetic.
FORMATS = ("awq", "gptq", "w4a16", "autoround", "auto-round", "auto_round", "squeezellm")
# Bytes of a stored parameter; above the batch of 16 bit the advantage of 4 bit is gone, above that of 4 bit
# it shrinks.
FOUR_BIT, SIXTEEN_BIT = 0.5, 2.0
# Sequences, where the card is not known: the largest 16-bit figure of common cards is the L4's.
UNKNOWN_CARD = 403.0
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (
    Need(("quantization",), how_to_get="give the start-up log or the launch command"),
    Need(("running",)),
)


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; an A/B pair of benchmark runs answers where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, bench_ab.weight_only)


def _from_engine(facts: Facts) -> Outcome:
    """Hold the running batch against the card's turning point."""
    quantized = [
        i for i in range(facts.size) if (s := facts.setting(i, "quantization")) and _is_weight_only(s.value)
    ]
    if not quantized:
        return Passed()
    batch = facts.column("running", Stat.P50)
    if np.isnan(batch[quantized]).all():
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("running",), "give the engine's metrics under its usual load"
        )
    gone, shrinking, card = _turning_points(facts)
    hit = tuple(i for i in quantized if batch[i] >= (gone if not card else shrinking))
    return Fired((_draft(facts, hit, gone, shrinking, card),)) if hit else Passed()


def _is_weight_only(value: str) -> bool:
    word = value.strip("'\"").lower()
    return any(name in word for name in FORMATS)


def _turning_points(facts: Facts) -> tuple[float, float, str]:
    """Batches at which the advantage is gone and at which it begins to shrink, and the card they hold for."""
    name = facts.options.gpu or ""
    found = match_gpus(name) if name else ()
    try:
        rates = [(gpu.dense_flops("16-bit"), gpu.bandwidth) for gpu in found]
    except CapacityError:
        rates = []
    if not rates:
        return UNKNOWN_CARD, UNKNOWN_CARD, ""
    # Where a name fits several cards, the one that turns last.
    gone, shrinking = (max(crossing_batch(f, b, size) for f, b in rates) for size in (SIXTEEN_BIT, FOUR_BIT))
    return gone, shrinking, name


def _draft(facts: Facts, hit: tuple[int, ...], gone: float, shrinking: float, card: str) -> Draft:
    batch = facts.column("running", Stat.P50)
    worst = max(hit, key=lambda i: float(batch[i]))
    setting = facts.setting(worst, "quantization")
    word, where = (setting.value, setting.where) if setting else ("4-bit", "")
    loud = bool(card) and batch[worst] >= gone
    limit = gone if loud or not card else shrinking
    cap = flags.flag_for(facts.engine, facts.version, "concurrency-cap")
    name = facts.entities[worst].label
    turn = (
        f"On {card} the advantage of 4 bit begins to shrink at about {words.number(round(shrinking))} "
        "sequences a step and is gone at "
        f"{words.number(round(gone))}."
        if card
        else f"Card unknown; on every common one the advantage is gone at {words.number(gone)} sequences."
    )
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.CAUSE if loud else Role.ADVICE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=(
            f"4-bit weights ({word}) at a batch of {words.number(float(batch[worst]))} on "
            f"{words.replicas(facts, hit)}: arithmetic is the limit there, and dequantizing adds to it"
        ),
        explanation=(
            f"{turn} The format is from the {where}. Prefill is bound by arithmetic at any batch. Memory is "
            "still saved, and the larger KV cache may be why the format was chosen; only both formats under "
            "the same load tell what it costs."
        ),
        evidence=(
            facts.evidence(worst, Request("running", Stat.P50), ">=", round(limit, 1)),
            Evidence("quantization", word, FOUR_BIT, "bytes a parameter", "<", SIXTEEN_BIT, name,
                     Provenance.CONFIGURED),
        ),
        chart=ChartHint(("running", "generation_tokens"), {"running": limit}),
        impact=Impact("fewer tokens a second at peak than 16 bit or 8 bit would make", None, "x throughput",
                      "arithmetic of the card; the loss itself needs both formats side by side"),
        remedies=(
            Remedy("Spread the load over more replicas; below the turning point 4 bit is the faster "
                   "format.", "now", expected="each batch falls", risk="none",
                   undo="route as before"),
            Remedy("Serve a format the card computes in: FP8 on Ada, Hopper and newer, "
                   "INT8 on Ampere, or 16 bit where it fits.", "next-rollout", True, facts.engine,
                   "--quantization", word, None, "arithmetic without dequantizing",
                   "more weight memory, so less KV cache; check the quality", "the old checkpoint"),
            Remedy("Or keep 4 bit and limit the batch.", "next-rollout", True, facts.engine, cap, None,
                   words.number(round(shrinking)), "each step stays bound by memory", "a queue at peak",
                   "the old cap"),
        ),
        do_not=(
            "Do not extrapolate from a single stream: the advantage there says nothing about a large batch.",
        ),
        refuted_by="The 4-bit deployment makes more tokens a second at this concurrency, or 16 bit would not "
            "fit the GPUs.",
        margin=min(1.0, float(batch[worst]) / limit - 1),
        weakest=facts.resolution[worst] if facts.resolution[worst] is Resolution.RANGE else Resolution.PAIR,
        verify=(Request("running", Stat.P50), Request("generation_tokens", Stat.INCREASE)),
        because="the batch against the card's arithmetic" if card else "the batch alone, the card is not "
            "known",
        confidence_cap=0.6,
    )  # fmt: skip


RULE = Rule(
    code="QNT001",
    slug="weight-only-quant-compute-bound",
    title="Weight-only 4-bit at a batch where the server is compute-bound",
    family="quantization",
    concepts=("S08",),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    support=Support.REPORT,
    full=Resolution.PAIR,
    thresholds={"sequences on an unknown card": (UNKNOWN_CARD, "requests")},
)  # fmt: skip
