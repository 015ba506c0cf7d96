"""Gaps between tokens that fall on other requests' prefills, from single requests, as the finding of a rule."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench, words
from diagnostics.execute.bench import Values
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Resolution

# A gap this many times the median one is a stall, if a reader notices it.
STALL_RATIO = 10.0
MIN_STALL_SECONDS = 0.5
# Time in stalls by all time between tokens, from which it matters; stalls from which a share is more than chance.
STALL_SHARE = 0.1
MIN_STALLS = 20
# Stalls in which another prompt is prefilled, and ordinary gaps in which one is at most: else it is always so.
COINCIDE, ORDINARY = 0.8, 0.5
MIN_REQUESTS = 20
HOW_TO_GET = (
    "give a result with single requests and their token gaps (vllm bench serve --save-result --save-detailed)"
)


class Stalls(Struct, frozen=True):
    """Stalls of one level: median gap, median stall and p99 of all gaps in seconds, share of the time, coincidence."""

    run: BenchRun
    step: BenchStep
    gap: float
    stall: float
    count: int
    share: float
    coincide: float
    p99: float


def outcome(facts: Facts, slo: float | None) -> Outcome:
    """Fire where long gaps fall on the prefills of other requests and ordinary gaps do not.

    Args:
        facts: the deployment.
        slo: limit of the p99 of gaps between tokens in seconds; None without one.
    """
    steps = [(r, s) for r in bench.measured(facts) for s in bench.served(r) if _has_gaps(r, s)]
    if not steps:
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("gaps between tokens of single requests",), HOW_TO_GET)
    found = [x for r, s in steps if (x := _stalls(r, s)) is not None]
    return Fired((_draft(facts, max(found, key=lambda x: x.share), slo),)) if found else Passed()


def _has_gaps(run: BenchRun, step: BenchStep) -> bool:
    """Whether gaps are those of tokens: with drafts a chunk holds several."""
    rows = [r for r in bench.answered(step) if len(r.gaps_s) > 1 and None not in (r.start_s, r.ttft_s)]
    return len(rows) >= MIN_REQUESTS and run.spec_method in (None, "none") and not step.preemptions


def _stalls(run: BenchRun, step: BenchStep) -> Stalls | None:
    placed = [r for r in bench.answered(step) if None not in (r.start_s, r.ttft_s)]
    rows = [r for r in placed if r.gaps_s]
    gaps = np.concatenate([np.asarray(r.gaps_s, dtype=np.float64) for r in rows])
    ends = np.concatenate([_token_times(r) for r in rows])
    usual = float(np.median(gaps))
    stalled = (gaps >= STALL_RATIO * usual) & (gaps >= MIN_STALL_SECONDS)
    share = float(gaps[stalled].sum() / gaps.sum()) if gaps.sum() else 0.0
    if stalled.sum() < MIN_STALLS or share < STALL_SHARE:
        return None
    firsts = np.sort(bench.column(placed, "start_s") + bench.column(placed, "ttft_s"))
    # A step that holds a prefill ends for both at once: the other's first token comes where the gap ends.
    during = _holds(ends - gaps, ends, firsts)
    coincide, ordinary = float(during[stalled].mean()), float(during[~stalled].mean())
    if coincide < COINCIDE or ordinary > ORDINARY:
        return None
    return Stalls(run, step, usual, float(np.median(gaps[stalled])), int(stalled.sum()), share, coincide,
                  float(np.quantile(gaps, 0.99)))  # fmt: skip


def _token_times(request: BenchRequest) -> Values:
    """When each token after the first came, seconds since the level began."""
    first = (request.start_s or 0.0) + (request.ttft_s or 0.0)
    return first + np.cumsum(np.asarray(request.gaps_s, dtype=np.float64))


def _holds(start: Values, end: Values, moments: Values) -> np.ndarray:
    """Whether some moment lies in each stretch, its own beginning left out, a thousandth of it beyond its end allowed."""
    slack = 0.001 * (end - start)
    after = np.searchsorted(moments, start + slack, "right")
    until = np.searchsorted(moments, end + 10 * slack, "right")
    return np.asarray(until > after)


def _draft(facts: Facts, seen: Stalls, slo: float | None) -> Draft:
    broken = slo is not None and seen.p99 > slo
    return Draft(
        severity=Severity.CRITICAL if broken else Severity.WARNING,
        role=Role.CAUSE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Streams stop for {words.seconds(seen.stall)} while another prompt is prefilled; the usual gap is "
        f"{words.seconds(seen.gap)}",
        explanation=f"{seen.count} gaps of the benchmark are {STALL_RATIO:g} times the usual one or longer and take "
        f"{words.percent(seen.share)} of all time between tokens. In {words.percent(seen.coincide)} of them another request gets "
        "its first token, which ordinary gaps do not show: a prompt is computed in one step and every stream waits for it.",
        evidence=(
            bench.evidence(seen.run, seen.step, "itl", "stall by usual gap", seen.stall / seen.gap, "ratio", ">=", STALL_RATIO),
            bench.evidence(seen.run, seen.step, "stalls", "in which a prompt is prefilled", seen.coincide, "ratio", ">=", COINCIDE),
            bench.evidence(seen.run, seen.step, "time in stalls", "share", seen.share, "ratio", ">=", STALL_SHARE),
        ),
        chart=ChartHint(("itl", "prompt_tokens"), {}),
        impact=Impact("readers see the stream stop", round(seen.stall, 2), "s a stall", "the benchmark's single gaps"),
        remedies=(
            Remedy("Send long prompts to other replicas.", "now", expected="short requests stream evenly",
                   risk="the others are loaded more", undo="the old routing"),
            Remedy("Switch chunked prefill on, or lower the token budget of a step.", "next-rollout", True,
                   expected="gaps of the size of one chunk", risk="first tokens of long prompts come later", undo="the old budget"),
        ),
        do_not=("Do not raise the step budget: it lengthens each stall.",),
        refuted_by="The stalls stay with short prompts only.",
        margin=min(1.0, seen.share / STALL_SHARE - 1),
        weakest=Resolution.RANGE,
        because="long gaps end with another request's first token",
    )  # fmt: skip
