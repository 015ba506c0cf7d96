"""The step in time per token where a sweep passes the largest captured CUDA graph, as the finding of a rule."""

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

# Time a token above the ceiling by what the levels below lead to expect.
JUMP = 1.3
# First tokens by those of the level before, beyond which a queue has a jump of its own.
QUEUE_RATIO = 3.0
# Levels below the ceiling that a line is drawn through, and above it that make a trend.
MIN_BELOW, MIN_ABOVE = 2, 2
_FLAG = re.compile(r"--(?:max-cudagraph-capture-size|cuda-graph-max-bs(?:-decode)?)[= ](\d+)")


class Jump(Struct, frozen=True):
    """A sweep around its ceiling: the last level below, the first above, seconds a token measured and expected."""

    run: BenchRun
    ceiling: float
    below: Level
    above: Level
    measured: float
    expected: float
    loud: bool


def outcome(facts: Facts, ceiling: float | None) -> Outcome:
    """Fire where time per token jumps between the levels on both sides of the ceiling.

    Args:
        facts: the deployment.
        ceiling: sequences in the largest graph, as a log or a configuration beside says; None when unknown.
    """
    runs = [r for r in bench.measured(facts) if bench_knee.closed_levels(r)]
    known = [(r, c) for r in runs if (c := ceiling or _asked(r)) is not None]
    if not known:
        how = "give the start-up log or the launch command beside the sweep: it names the largest graph captured"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("largest CUDA graph",), how)
    seen = [j for r, c in known if (j := _jump(r, c)) is not None]
    hit = [j for j in seen if j.measured >= JUMP * j.expected]
    if hit:
        return Fired((_draft(facts, max(hit, key=lambda j: (j.loud, j.measured / j.expected))),))
    if seen:
        return Passed()
    how = "sweep concurrency over the largest graph, with two levels below it and two above"
    return Unanswered(Reason.TOO_FEW_SAMPLES, ("levels on both sides of the ceiling",), how)


def _asked(run: BenchRun) -> float | None:
    found = _FLAG.search(run.engine_args or "")
    return float(found[1]) if found else None


def _jump(run: BenchRun, ceiling: float) -> Jump | None:
    """The jump of a sweep; None without two calm levels below and one above."""
    timed = [x for x in bench_knee.closed_levels(run) if _token(x)]
    below, above = [x for x in timed if x.load <= ceiling], [x for x in timed if x.load > ceiling]
    if len(below) < MIN_BELOW or not above or any(s.preemptions for x in timed for s in x.steps):
        return None
    calm = [x for x in above if not _queues(below[-1], x)]
    if not calm:
        return None
    first = calm[0]
    expected = _line(below[-2], below[-1], first.load)
    later = [x for x in calm if _token(x) >= JUMP * _line(below[-2], below[-1], x.load)]
    loud = len(later) >= MIN_ABOVE or min(len(below[-1].steps), len(first.steps)) > 1
    return Jump(run, ceiling, below[-1], first, _token(first), expected, loud)


def _token(level: Level) -> float:
    """Seconds a token at a level, 0 when unknown."""
    return level.latency("tpot", "p50") or level.latency("tpot", "mean") or 0.0


def _queues(below: Level, above: Level) -> bool:
    one, other = (x.latency("ttft", "p50") or x.latency("ttft", "mean") for x in (below, above))
    return bool(one and other and other >= QUEUE_RATIO * one and other - one >= bench_knee.ADDED_SECONDS)


def _line(one: Level, other: Level, load: float) -> float:
    """Seconds a token that the two levels lead to expect at a load; never less than the larger level's."""
    slope = (_token(other) - _token(one)) / (other.load - one.load)
    return _token(other) + max(0.0, slope) * (load - other.load)


def _draft(facts: Facts, jump: Jump) -> Draft:
    ratio, ceiling = jump.measured / jump.expected, f"{jump.ceiling:.0f}"
    return Draft(
        severity=Severity.WARNING if jump.loud else Severity.INFO,
        role=Role.CAUSE if jump.loud else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Time per token jumps from {words.seconds(_token(jump.below))} at {bench.load(jump.below.step)} to "
        f"{words.seconds(jump.measured)} at {bench.load(jump.above.step)}, across the largest CUDA graph of {ceiling} sequences",
        explanation=f"The levels up to {ceiling} lead to expect {words.seconds(jump.expected)} there. First tokens do not wait "
        "longer and nothing is preempted, so the larger batch is launched kernel by kernel from the host."
        + ("" if jump.loud else " One level above, measured once, carries no verdict: repeat it, or add another."),
        evidence=(
            bench.evidence(jump.run, jump.above.step, "time per token", "by what lighter levels lead to expect", ratio, "ratio",
                           ">=", JUMP),
            bench.evidence(jump.run, jump.above.step, "open requests", "cap", jump.above.load, "requests", ">", jump.ceiling),
        ),
        chart=ChartHint(("itl", "running"), {"running": jump.ceiling}),
        impact=Impact("streams get slower by a step at peak load", round(ratio, 2), "x time a token", "the levels on both sides"),
        remedies=(
            Remedy(f"Keep fewer than {ceiling} requests open on a replica.", "now", expected="every step replays a graph",
                   risk="the rest waits or goes elsewhere", undo="lift the limit"),
            Remedy("Capture larger graphs, or set the concurrency cap to the largest one.", "next-rollout", True,
                   expected="no jump at peak", risk="a longer start, and graph memory out of the KV cache", undo="the old sizes"),
        ),
        do_not=("Do not raise the concurrency cap further: more steps would run without a graph.",),
        refuted_by="A level just below the ceiling takes as long a token as one just above.",
        margin=min(1.0, ratio / JUMP - 1),
        weakest=Resolution.RANGE,
        explains=("decode-bound",),
        because="the jump lies at the size of the largest graph",
        confidence_cap=0.8 if jump.loud else 0.4,
    )  # fmt: skip
