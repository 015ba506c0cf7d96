"""A sweep whose running batch stays at the server's concurrency cap, as the finding of a rule.

Output tokens per second times seconds a token is the number of sequences that decode at once (Little's law).
"""

from __future__ import annotations

import re

from msgspec import Struct

from diagnostics.execute import bench, bench_knee, words
from diagnostics.execute.bench_knee import Level
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.bench import BenchRun
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Resolution
from diagnostics.signals.regimes import KV_SPARE

# Sequences that decode at once by the cap, between which the batch is at it.
AT_CAP = (0.8, 1.1)
# Open requests by cap from which a queue must form.
BEYOND = 1.5
# First tokens by those of the lighter levels, that a queue takes.
QUEUE_RATIO = 3.0
# Levels beyond the cap that make a trend.
MIN_BEYOND = 2
_FLAG = re.compile(r"--(?:max-num-seqs|max-running-requests|max-batch-size)[= ](\d+)")


class Pinned(Struct, frozen=True):
    """A sweep beyond its cap: the levels there, and how many sequences decode at the highest."""

    run: BenchRun
    cap: float
    beyond: tuple[Level, ...]
    decoding: float
    kv: float | None


def outcome(facts: Facts, cap: float | None) -> Outcome:
    """Fire where more open requests change nothing but the wait, with the batch at the known cap.

    Args:
        facts: the deployment.
        cap: the engine's cap as a log or a configuration beside says; None when unknown.
    """
    runs = [r for r in bench.measured(facts) if len(bench_knee.closed_levels(r)) > 1]
    known = [(r, c) for r in runs if (c := _cap(r) or cap) is not None]
    if not known:
        how = "give a sweep over concurrency and the launch command beside it: it names the cap"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("concurrency cap", "levels above it"), how)
    reached = [(r, c) for r, c in known if any(x.load >= BEYOND * c for x in bench_knee.closed_levels(r))]
    if not reached:
        how = "no level of the sweep has one and a half times as many open requests as the cap"
        return Unanswered(Reason.TOO_FEW_SAMPLES, ("levels above the cap",), how)
    found = [p for r, c in reached if (p := _pinned(r, c)) is not None]
    return Fired((_draft(facts, max(found, key=lambda p: len(p.beyond))),)) if found else Passed()


def _cap(run: BenchRun) -> float | None:
    asked = _FLAG.search(run.engine_args or "")
    return float(run.max_num_seqs) if run.max_num_seqs else float(asked[1]) if asked else None


def _pinned(run: BenchRun, cap: float) -> Pinned | None:
    levels = bench_knee.closed_levels(run)
    light = [v for x in levels if x.load <= cap and (v := _first(x))]
    beyond = tuple(x for x in levels if x.load >= BEYOND * cap)
    usage = [v for x in beyond for s in x.steps if (v := s.kv_usage_max or s.kv_usage_mean) is not None]
    if not light or (usage and max(usage) >= KV_SPARE) or any(s.preemptions for x in beyond for s in x.steps):
        return None
    waits = all(
        (v := _first(x)) is not None
        and v >= QUEUE_RATIO * min(light)
        and v - min(light) >= bench_knee.ADDED_SECONDS
        for x in beyond
    )
    decoding = [_decoding(x) for x in beyond]
    full = all(d is not None and AT_CAP[0] * cap <= d <= AT_CAP[1] * cap for d in decoding)
    if not waits or not full:
        return None
    return Pinned(run, cap, beyond, decoding[-1] or 0.0, max(usage) if usage else None)


def _first(level: Level) -> float | None:
    value = level.latency("ttft", "p50")
    return value if value is not None else level.latency("ttft", "mean")


def _decoding(level: Level) -> float | None:
    """Sequences that decode at once; None where the file lacks one of the two figures."""
    token, rates = level.latency("tpot", "mean"), [s.output_tps for s in level.steps if s.output_tps]
    return token * sum(rates) / len(rates) if token and rates else None


def _draft(facts: Facts, seen: Pinned) -> Draft:
    last, cap = seen.beyond[-1], f"{seen.cap:.0f}"
    loud = len(seen.beyond) >= MIN_BEYOND or len(last.steps) > 1
    room = (
        f"The KV cache is {words.percent(seen.kv)} full at most."
        if seen.kv is not None
        else "Whether the KV cache has room is not in the result: check it before raising the cap."
    )
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.CAUSE if loud else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"The sweep is pinned at the server's concurrency cap of {cap}: at {bench.load(last.step)} only "
        f"{words.number(seen.decoding)} sequences decode, and a first token waits {words.seconds(_first(last) or 0.0)}",
        explanation=f"Output tokens a second by time a token give the sequences that decode at once; above {cap} open requests "
        f"that number stays and only the wait for a seat grows. {room}"
        + ("" if loud else " One level beyond the cap, measured once, carries no verdict: add another."),
        evidence=(
            bench.evidence(seen.run, last.step, "sequences that decode", "by the cap", seen.decoding / seen.cap, "ratio", ">=",
                           AT_CAP[0]),
            bench.evidence(seen.run, last.step, "open requests", "by the cap", last.load / seen.cap, "ratio", ">=", BEYOND),
        ),
        chart=ChartHint(("running", "waiting", "kv_usage"), {"running": seen.cap}),
        impact=Impact("added requests wait for a seat", None, "requests", "the levels beyond the cap"),
        remedies=(
            Remedy("Keep fewer requests open, or spread them over more replicas.", "now", expected="first tokens come at once",
                   risk="less load on this one", undo="the old limit"),
            Remedy("Raise the concurrency cap in steps while the KV cache has room, and watch time per token.", "next-rollout",
                   True, current=cap, suggested=f"{2 * seen.cap:.0f}", expected="more sequences share a step",
                   risk="each running request gets slower", undo=cap),
        ),
        do_not=("Do not buy KV memory before its usage was looked at.",),
        refuted_by="After the cap was raised, as many sequences decode as before.",
        margin=0.5,
        weakest=Resolution.RANGE,
        explains=("past-saturation-knee",),
        because="the batch stays at the known cap while open requests grow",
        confidence_cap=0.4 if not loud else 0.9 if seen.kv is not None else 0.7,
    )  # fmt: skip
