"""What A/B pairs of benchmark runs say of speculation and of weight-only quantization, as findings of their rules."""

from __future__ import annotations

from diagnostics.execute import bench, bench_pairs, words
from diagnostics.execute.bench_pairs import NOISE, Pair
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Resolution

# Open requests from which a batch is large, and up to which it is small.
LARGE_LOAD, SMALL_LOAD = 32.0, 8.0
# Accepted by drafted, and tokens a round, from which drafts count as accepted.
ACCEPTED_RATE, ACCEPTED_LENGTH = 0.3, 1.5
_WEIGHTS = ("weight_format", "model")
_REPEAT = "repeat both sides three times in turn (A, B, A, B) at three or more loads"
_LOSSLESS = "Do not switch speculation off to restore quality: verification is lossless (S26)."


def speculation_at_load(facts: Facts) -> Outcome:
    """Fire where speculation makes fewer tokens at a large load than the same work without it."""
    found = bench_pairs.speculating(bench.sides(facts))
    if not found:
        return _no_pair("with and without speculation")
    hit = [p for p in found if p.points[-1].load >= LARGE_LOAD and _loses(p)]
    if not hit:
        return Passed()
    pair, last = hit[0], hit[0].points[-1]
    return Fired((_draft(
        facts, pair,
        summary=f"Speculation makes {words.percent(1 - last.ratio)} fewer tokens than none at {bench.load(last.a)}",
        explanation=f"Output with speculation by that without: {bench_pairs.curve(pair)}. At a large batch every drafted "
        "position is work that plain decoding would spend on tokens.",
        remedy=Remedy(f"Switch speculation off above the load where it stops paying, or serve small and "
                      f"large batches apart; first {_REPEAT}.", "next-rollout", True, expected="the output of the other run",
                      risk="single requests get slower", undo="switch it on again"),
        do_not=_LOSSLESS,
    ),))  # fmt: skip


def drafter_cost(facts: Facts) -> Outcome:
    """Fire where drafts are accepted and even a small load gains nothing."""
    found = bench_pairs.speculating(bench.sides(facts))
    known = [p for p in found if _accepted(p) is not None]
    if not found:
        return _no_pair("with and without speculation")
    if not known:
        how = "give the acceptance rate beside the pair (vllm bench serve prints it)"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("acceptance rate",), how)
    hit = [
        p
        for p in known
        if _accepted(p) and p.points[0].load <= SMALL_LOAD and all(x.ratio <= 1 + NOISE for x in p.points)
    ]
    if not hit:
        return Passed()
    pair = hit[0]
    return Fired((_draft(
        facts, pair,
        summary="Drafts are accepted, yet speculation makes no more tokens than none at any load tried",
        explanation=f"Output with speculation by that without: {bench_pairs.curve(pair)}. The drafts fit, so what they save is "
        "spent on making them.",
        remedy=Remedy(f"Draft fewer tokens a round, or use a cheaper drafter; first {_REPEAT}.", "next-rollout", True,
                      expected="a gain at small loads", risk="fewer tokens a round", undo="the former draft length"),
        do_not=_LOSSLESS,
        flat=True,
    ),))  # fmt: skip


def weight_only(facts: Facts) -> Outcome:
    """Fire where 16-bit weights overtake weight-only ones as load grows."""
    runs = bench.sides(facts)
    found = bench_pairs.pairs(runs, bench_pairs.is_sixteen_bit, bench_pairs.is_weight_only, _WEIGHTS)
    if not found:
        return _no_pair("in 16 bit and weight-only 4-bit")
    hit = [p for p in found if p.points[-1].ratio <= 1 - NOISE and (len(p.points) < 2 or _falls(p))]
    if not hit:
        return Passed()
    pair, last = hit[0], hit[0].points[-1]
    slow = (
        " It is slower at the lightest load, too: this kernel does not pay at all."
        if pair.points[0].ratio < 1 - NOISE
        else ""
    )
    return Fired((_draft(
        facts, pair,
        summary=f"Weights in {pair.b.weight_format} make {words.percent(1 - last.ratio)} fewer tokens than 16 bit at "
        f"{bench.load(last.a)}",
        explanation=f"Output with {pair.b.weight_format} by that in 16 bit: {bench_pairs.curve(pair)}. The more a batch waits "
        f"for arithmetic, the more it costs that every product first turns the weights back into 16 bit.{slow}",
        remedy=Remedy("Serve large batches in 16 bit or in a format the card computes in (FP8, INT8); keep "
                      f"4 bit where memory is what is short; first {_REPEAT}.", "next-rollout", True,
                      expected="the output of the 16-bit run", risk="less room for KV cache", undo="the 4-bit checkpoint"),
        do_not="Do not raise the batch to make up for it: that widens the gap.",
    ),))  # fmt: skip


def _no_pair(which: str) -> Unanswered:
    return Unanswered(Reason.NOT_IN_THIS_INPUT, ("bench",), f"give results of the same work {which}")


def _loses(pair: Pair) -> bool:
    """Whether every large load is at a loss or even, and the largest one at a loss."""
    large = [p for p in pair.points if p.load >= LARGE_LOAD]
    return pair.points[-1].ratio <= 1 - NOISE and all(p.ratio <= 1 + NOISE for p in large)


def _falls(pair: Pair) -> bool:
    return pair.points[0].ratio - pair.points[-1].ratio >= NOISE


def _accepted(pair: Pair) -> bool | None:
    """Whether drafts were accepted in the speculating run; None where it does not say."""
    for step in (p.b for p in pair.points):
        if step.spec_scope == "lifetime":
            continue
        if step.spec_tokens_per_step is not None:
            return step.spec_tokens_per_step >= ACCEPTED_LENGTH
        if step.spec_acceptance is not None:
            return step.spec_acceptance >= ACCEPTED_RATE
    return None


def _draft(
    facts: Facts,
    pair: Pair,
    *,
    summary: str,
    explanation: str,
    remedy: Remedy,
    do_not: str,
    flat: bool = False,
) -> Draft:
    """A loss that is a warning only where a trend or repeats carry it, up to large loads, and nothing else differs.

    ``flat`` is set where small loads are the proof.
    """
    last = pair.points[-1]
    loud = (
        pair.is_trend
        and pair.is_clean
        and (last.load >= LARGE_LOAD or (pair.points[0].load <= SMALL_LOAD and flat))
    )
    because = (
        "a trend over loads"
        if loud
        else "the runs differ in more than one thing"
        if pair.confounders
        else "single means, or small loads only"
    )
    others = f" The runs also differ in: {', '.join(pair.confounders)}; no part of the loss can be put on one of them." if (
        pair.confounders
    ) else ""  # fmt: skip
    thin = "" if pair.is_trend else " Single means without repeats carry no verdict."
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.CAUSE if loud else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=summary,
        explanation=explanation + others + thin,
        evidence=tuple(
            bench.evidence(pair.b, p.b, "output tokens per second", "by the other run", p.ratio, "ratio", "<=", 1 - NOISE)
            for p in (pair.points[:1] + pair.points[-1:] if len(pair.points) > 1 else pair.points)
        ),
        chart=ChartHint(("generation_tokens", "itl"), {}),
        impact=Impact(f"{words.percent(1 - last.ratio)} of output at {bench.load(last.a)}", round(last.ratio, 3), "x throughput",
                      "the other run at the same load"),
        remedies=(remedy,),
        do_not=(do_not,),
        refuted_by="Repeats of both runs overlap, or lengths and load were not the same.",
        margin=min(1.0, (1 - last.ratio) / NOISE - 1) if last.ratio < 1 else 0.0,
        weakest=Resolution.RANGE,
        because=because,
        confidence_cap=0.85 if loud else 0.4,
    )  # fmt: skip
