"""Sequences are preempted over and over and their work is thrown away (S12).

When running sequences outgrow the KV cache, the scheduler evicts one, frees its blocks and computes it again later. A
handful is normal; a sustained stream of them wastes compute. Never judged by a total since the server started.
"""

from __future__ import annotations

import math

from msgspec.structs import replace

from diagnostics.execute import bench, bench_preempted, gain, remedies, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason, Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Resolution
from diagnostics.signals.regimes import STORM_MIN, STORM_RATIO
from diagnostics.signals.settings import CAP_NAMES, limit

# Two dumps show an increase and no course: the ratio must be far beyond the threshold to be called a storm.
PAIR_RATIO = 2 * STORM_RATIO
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (Need(("preemptions",)),)


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; a benchmark that counts preemptions answers where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, bench_preempted.outcome)


def _from_engine(facts: Facts) -> Outcome:
    """Fire from the preempting regime, or between dumps when preemptions are a large part of finished requests."""
    seconds = facts.seconds(Regime.PREEMPTING)
    over_time = [i for i in range(facts.size) if words.matters(seconds[i], facts.courses[i].observed)]
    if over_time:
        return Fired((_storm(facts, tuple(over_time), Resolution.RANGE),))
    grown, finished = facts.increase("preemptions"), facts.increase("requests_finished")
    pairs = [
        i
        for i in range(facts.size)
        if facts.resolution[i] is Resolution.PAIR
        and grown[i] >= STORM_MIN
        and grown[i] >= PAIR_RATIO * max(finished[i], 1)
    ]
    if pairs:
        return Fired((_storm(facts, tuple(pairs), Resolution.PAIR),))
    if max(facts.resolution) is Resolution.SNAPSHOT:
        return Unanswered(
            Reason.NEEDS_TIME_SERIES,
            ("preemptions",),
            "a total since start says nothing of now: save a second dump",
        )
    return Passed()


def _storm(facts: Facts, hit: tuple[int, ...], resolution: Resolution) -> Draft:
    during = Regime.PREEMPTING.value if resolution is Resolution.RANGE else "all"
    events = facts.increase("preemptions", during)
    finished = facts.increase("requests_finished", during)
    worst = max(hit, key=lambda i: float(events[i]))
    ratio = float(events[worst] / max(finished[worst], 1.0))
    window = facts.window(hit, Regime.PREEMPTING)
    kv = Request("kv_usage", Stat.MEAN, during)
    running = float(facts.column("running", Stat.MEAN, during)[worst])
    return Draft(
        severity=Severity.CRITICAL,
        role=Role.CAUSE,
        replicas=hit,
        window=window,
        summary=f"Running requests are preempted and computed again: {words.number(float(events[worst]))} preemptions for "
        f"{words.number(float(finished[worst]))} finished requests on {words.replicas(facts, hit)} {words.held(window)}",
        explanation=(
            f"With about {words.number(running)} requests running, the KV cache is "
            f"{words.percent(float(facts.ask(kv)[worst]))} full; answers that grow need blocks, so the newest request loses all "
            "of its cache and starts over. Clients see a stall in the middle of an answer. The tokens computed twice are in no "
            "counter, and they come back as prefix hits, so the hit rate looks better than it is."
        ),
        evidence=(
            facts.evidence(worst, Request("preemptions", Stat.INCREASE, during), ">=", float(STORM_MIN)),
            facts.evidence(
                worst, Request("preemptions", Stat.INCREASE, during, "requests_finished"), ">=", STORM_RATIO
            ),
            facts.evidence(worst, kv, ">", None),
        ),
        chart=ChartHint(("preemptions", "kv_usage", "running", "waiting"), {}),
        impact=_impact(facts, worst, during, _waste(facts, worst, float(events[worst]), running)),
        remedies=_remedies(facts, worst, running),
        do_not=(
            "Do not raise the concurrency cap: more sequences would share the same blocks and be preempted sooner.",
            "Do not read the prefix hit rate as good news: recomputed tokens count as hits.",
        ),
        refuted_by="The preemption counter stands still for minutes while the stalls go on.",
        margin=min(1.0, ratio / STORM_RATIO - 1),
        weakest=resolution,
        verify=(Request("preemptions", Stat.INCREASE), Request("kv_usage", Stat.MAX)),
        explains=("memory-bound", "past-saturation-knee", "prefill-stalls-decode"),
        because="preemptions are a large part of finished requests",
    )


def _impact(facts: Facts, i: int, during: str, waste: Impact) -> Impact:
    """What more memory would serve where requests pile up, beside what is thrown away; else only the latter."""
    more = gain.lifted(facts, i, during)
    if more.estimate is None:
        return waste
    return replace(more, statement=f"{waste.statement}; {more.statement}")


def _waste(facts: Facts, i: int, events: float, running: float) -> Impact:
    """Tokens thrown away: preemptions by the mean tokens a running sequence holds."""
    capacity = facts.number(i, "kv_capacity_tokens")
    kv = float(facts.column("kv_usage", Stat.MEAN)[i])
    if not capacity or running <= 0 or math.isnan(kv):
        return Impact(
            "work is computed twice; how much is in no counter", None, "", "the engine does not count it"
        )
    held = capacity * kv / running
    return Impact(
        f"about {words.number(events * held)} tokens were computed again",
        round(events * held),
        "tokens",
        "preemptions times the mean tokens that a running sequence holds (an estimate)",
    )


def _remedies(facts: Facts, i: int, running: float) -> tuple[Remedy, ...]:
    cap = limit(facts.settings[i], CAP_NAMES)
    now = Remedy(
        "Lower the number of requests that clients keep open on this replica, or route part of them away.",
        "now",
        expected=f"preemptions stop when fewer than about {words.number(max(1.0, running))} requests share the cache",
        risk="some requests wait outside or go elsewhere",
        undo="lift the client limit",
    )
    lower = Remedy(
        "Lower the concurrency cap to what the cache holds at real lengths.",
        "next-rollout",
        restart=True,
        engine=facts.engine,
        flag="--max-num-seqs" if facts.engine == "vllm" else "--max-running-requests",
        current=words.number(cap) if cap else None,
        suggested=words.number(max(1.0, round(running * 0.75))),
        expected="requests wait for their turn once instead of being thrown out again and again",
        risk="more waiting before the first token",
        undo="set it back",
    )
    rest = tuple(r for r in remedies.more_kv_memory(facts, i) if r.when != "now")
    return (now, *rest[:1], lower, *rest[1:])


RULE = Rule(
    code="SCH003",
    slug="preemption-storm",
    title="Sequences are preempted over and over and their work is thrown away",
    family="scheduler",
    concepts=("S12",),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "preemptions by finished requests": (STORM_RATIO, "ratio"),
        "preemptions in the window, at least": (float(STORM_MIN), "events"),
    },
)
