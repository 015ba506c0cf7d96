"""What a sweep, or a run far above its server's capacity, says of saturation, as the finding of a rule."""

from __future__ import annotations

import math

from diagnostics.execute import bench, bench_knee, words
from diagnostics.execute.bench_knee import Knee
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Resolution

_DO_NOT = ("Do not take latency past the knee for the server's: it measures how long the test went on.",)
_SHED = Remedy(
    "Hold the load below the knee by shedding or routing it away.", "now",
    expected="time to first token falls to that of light load", risk="shed requests fail fast", undo="restore the load",
)  # fmt: skip
_CAPACITY = Remedy(
    "Find what limits it from the engine's metrics of the same minutes, or add replicas for a load above the knee.",
    "capacity-plan", expected="the knee moves to a higher load",
)  # fmt: skip


def outcome(facts: Facts) -> Outcome:
    """The knee of the sweeps among the runs; a run far above capacity where there is no sweep."""
    runs = bench.measured(facts)
    if not runs:
        return bench.nothing()
    knees = [k for r in runs if (k := bench_knee.of_run(r)) is not None]
    if knees:
        best = _by_proof(knees)[0]
        return Fired((_of_sweep(facts, best, alone=len(bench_knee.sweeps(runs)) == 1),))
    above = [(r, s) for r in runs for s in bench_knee.far_above(r)]
    if above:
        return Fired((_of_run(facts, *above[0]),))
    if bench_knee.sweeps(runs):
        how = "no load level of the sweep is past the knee: add higher ones until output no longer grows"
        return Unanswered(Reason.TOO_FEW_SAMPLES, ("higher load levels",), how)
    how = (
        "run at three or more loads, from light to too much (vllm bench serve --request-rate 1, 2, 4, 8, ...)"
    )
    return Unanswered(Reason.TOO_FEW_SAMPLES, ("load levels",), how)


def _by_proof(knees: list[Knee]) -> list[Knee]:
    """Open-loop sweeps first, then those with more than one level past the knee, then those with the most levels."""
    return sorted(knees, key=lambda k: (k.kind != "open", k.past < bench_knee.MIN_PAST, -len(k.levels)))


def _position(knee: Knee) -> str:
    """Where the knee lies, in words: an interval, never a point."""
    if knee.good is None:
        return f"at or below {knee.bad.load:g} {knee.unit}, the lightest load tried"
    return f"between {knee.good.load:g} and {knee.bad.load:g} {knee.unit}"


def _goodput(facts: Facts, knee: Knee) -> str:
    """The highest load within the user's SLOs, in words; empty without SLOs."""
    slo = facts.options.slo
    if not slo:
        return ""
    limits = ", ".join(f"{name} {words.seconds(limit)}" for name, limit in slo.items())
    if all(bench_knee.meets(level.step, slo) is None for level in knee.levels):
        return f" Whether the SLO ({limits}) is met cannot be told: the result lacks that statistic."
    best = bench_knee.goodput(knee.levels, slo)
    if best is None:
        return f" No load tried meets the SLO ({limits})."
    return f" The highest load that meets the SLO ({limits}) is {best.load:g} {knee.unit}."


def _sureness(knee: Knee) -> str:
    said = [f"{len(knee.levels)} load levels were tried"]
    if not math.isnan(knee.agreement):
        said.append(
            f"{words.percent(knee.agreement)} of resamples of its requests put the upper one past the knee"
        )
    if knee.outliers:
        said.append(f"{', '.join(f'{x:g}' for x in knee.outliers)} {knee.unit} looked odd: repeat that level")
    return "; ".join(said) + "."


def _evidence(knee: Knee) -> tuple[Evidence, ...]:
    step, found = knee.bad.step, []
    if not math.isnan(knee.ratio) and knee.ratio:
        limit = bench_knee.LATENCY_RATIO if knee.kind == "open" else bench_knee.CLOSED_LATENCY_RATIO
        found.append(
            bench.evidence(
                knee.run, step, "latency", "by that of lighter load", knee.ratio, "ratio", ">=", limit
            )
        )
    if knee.kind == "open" and step.rps is not None and step.requested_rps:
        share = step.rps / step.requested_rps
        found.append(
            bench.evidence(
                knee.run,
                step,
                "requests served by sent",
                "ratio",
                share,
                "ratio",
                "<",
                bench_knee.SERVED_SHARE,
            )
        )
    if knee.kind == "closed" and knee.good is not None and knee.good.rate and knee.levels[-1].rate:
        gain = bench_knee.gain_a_doubling(knee.good, knee.levels[-1])
        found.append(
            bench.evidence(knee.run, knee.levels[-1].step, "output added beyond the knee", "each doubling", gain, "ratio", "<=",
                           knee.gain)
        )  # fmt: skip
    return tuple(found)


def _of_sweep(facts: Facts, knee: Knee, *, alone: bool) -> Draft:
    loud = knee.kind == "open" or knee.past >= bench_knee.MIN_PAST
    few = len(knee.levels) < bench_knee.SURE_LEVELS
    where = "" if alone else f" in {bench.name(knee.run)}"
    grown = (
        f"latency is {words.number(knee.ratio)} times that of lighter load"
        if knee.ratio > 0
        else "less is served than sent"
    )
    rule = (
        "A level keeps up when it serves what was sent and its latency stays near that of light load."
        if knee.kind == "open"
        else "In a closed loop there is no arrival rate: the knee is where more open requests no longer add output."
    )
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.SYMPTOM if loud else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"The sweep{where} went past the saturation knee, which lies {_position(knee)}; at {knee.bad.load:g} {grown}"
        f"{'.' + _goodput(facts, knee).rstrip('.') if facts.options.slo else ''}",
        explanation=f"{rule} {_sureness(knee)} Beyond it added load only waits."
        + (" With fewer than five levels the interval is a first guess." if few else ""),
        evidence=_evidence(knee),
        chart=ChartHint(("ttft", "generation_tokens"), {"load": knee.bad.load}),
        impact=Impact(f"capacity ends {_position(knee)}", knee.good.load if knee.good else None, knee.unit,
                      "last load level that keeps up"),
        remedies=(
            _SHED,
            Remedy(f"Repeat the sweep with levels {_position(knee)} and longer steps to narrow the knee.", "now",
                   expected="a smaller interval", risk="load on the server"),
            _CAPACITY,
        ),
        do_not=_DO_NOT,
        refuted_by="A repeat of the upper level serves what is sent at the latency of light load.",
        margin=min(1.0, knee.ratio / bench_knee.LATENCY_RATIO - 1) if knee.ratio > 0 else 0.5,
        weakest=Resolution.RANGE,
        verify=(Request("queue_time", Stat.HIST_MEAN), Request("waiting", Stat.MEAN)),
        because=f"{len(knee.levels)} load levels",
        confidence_cap=0.5 if few or not loud else 1.0,
    )  # fmt: skip


def _of_run(facts: Facts, run: BenchRun, step: BenchStep) -> Draft:
    """One level that was offered far more than it served."""
    offered, served = step.requested_rps or 0.0, step.rps or 0.0
    wait = step.stat("ttft", "mean") or step.stat("ttft", "p50") or 0.0
    return Draft(
        severity=Severity.WARNING,
        role=Role.SYMPTOM,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"The server is past its saturation knee: {words.number(offered)} requests/s are offered, "
        f"{words.number(served)} served, and a first token waits {words.seconds(wait)}",
        explanation="Requests came faster than they were served, so the queue grew until the last one was sent, and the wait "
        "for a first token is the time in it. Latencies of such a run grow with its length; only the served rate says "
        "something of the server.",
        evidence=(
            bench.evidence(run, step, "requests served by offered", "ratio", served / offered, "ratio", "<=",
                           bench_knee.FAR_BELOW),
            bench.evidence(run, step, "ttft", "mean", wait, "s", ">", 0.0),
        ),
        chart=ChartHint(("waiting", "ttft"), {}),
        impact=Impact("time to first token is mostly waiting", round(offered / served, 2) if served else None, "x overload",
                      "offered by served rate"),
        remedies=(
            _SHED,
            Remedy(f"Repeat at rates from a quarter of {words.number(served)} requests/s upwards to find the knee.", "now",
                   flag="--request-rate", expected="the load that is served without waiting"),
            _CAPACITY,
        ),
        do_not=_DO_NOT,
        refuted_by="At the served rate, first tokens still take as long.",
        margin=min(1.0, (bench_knee.FAR_BELOW - served / offered) / bench_knee.FAR_BELOW) if offered else 0.0,
        weakest=Resolution.RANGE,
        verify=(Request("queue_time", Stat.HIST_MEAN), Request("waiting", Stat.MEAN)),
        because="offered far above served",
    )  # fmt: skip
