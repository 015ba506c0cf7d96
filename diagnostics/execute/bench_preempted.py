"""Preemptions that a benchmark counted beside its requests, as the finding of a rule."""

from __future__ import annotations

from diagnostics.execute import bench, bench_knee, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Resolution
from diagnostics.signals.regimes import STORM_MIN, STORM_RATIO

# A run has a start and an end and no course: the ratio must be far beyond the threshold to be called a storm.
RUN_RATIO = 2 * STORM_RATIO


def outcome(facts: Facts) -> Outcome:
    """Fire where preemptions are a large part of the requests of a level."""
    known = [
        (r, s)
        for r in bench.measured(facts)
        for s in bench.served(r)
        if s.preemptions is not None and s.completed
    ]
    if not known:
        how = "give the engine's metrics of the same minutes: few benchmark results count preemptions"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("preemptions",), how)
    hit = [(r, s) for r, s in known if (s.preemptions or 0) >= STORM_MIN and _ratio(s) >= RUN_RATIO]
    return Fired((_draft(facts, *max(hit, key=lambda x: _ratio(x[1]))),)) if hit else Passed()


def _ratio(step: BenchStep) -> float:
    return (step.preemptions or 0) / (step.completed or 1)


def _draft(facts: Facts, run: BenchRun, step: BenchStep) -> Draft:
    ratio, load = _ratio(step), bench.load(step)
    return Draft(
        severity=Severity.CRITICAL,
        role=Role.CAUSE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Sequences were preempted {words.number(float(step.preemptions or 0))} times for "
        f"{words.number(float(step.completed or 0))} answers{f' at {load}' if load else ''}",
        explanation="Running sequences outgrew the KV cache; each preemption throws away what was computed for one (recompute), "
        "unless the engine swaps. Throughput of this level is less than the same server gives with fewer open requests.",
        evidence=(
            bench.evidence(run, step, "preemptions", "by answers", ratio, "ratio", ">=", RUN_RATIO),
        ),
        chart=ChartHint(("preemptions", "kv_usage", "running"), {}),
        impact=Impact("work is computed twice", round(ratio, 2), "preemptions an answer", "the benchmark's own count"),
        remedies=(
            Remedy("Keep fewer requests open, or route part of them away.", "now", expected="preemptions end, tokens a second rise",
                   risk="requests wait instead", undo="the old load"),
            Remedy("Lower the concurrency cap to what the KV cache holds at these lengths, or free memory for it (FP8 KV, a larger "
                   "memory share).", "next-rollout", True, expected="no sequence is evicted", risk="a queue at peak",
                   undo="the old cap"),
        ),
        do_not=("Do not raise the concurrency cap: more sequences would share the same memory.",),
        refuted_by="The counter is the server's total since its start and not this run's.",
        margin=min(1.0, ratio / RUN_RATIO - 1),
        weakest=Resolution.PAIR,
        explains=("past-saturation-knee",) if bench_knee.of_run(run) is not None else (),
        because="counted by the benchmark over the level",
        confidence_cap=0.8,
    )  # fmt: skip
