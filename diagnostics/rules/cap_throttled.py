"""Running sequences are pinned at the concurrency cap while the KV cache is spare (S29).

The engine admits at most a configured number of sequences. When that number is reached, further requests wait, however
much memory and compute are left. Not this when the KV cache is the limit, when running stays below the cap, or when
nothing waits.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import bench, bench_cap, gain, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.regimes import KV_SPARE
from diagnostics.signals.settings import CAP_NAMES, limit

# requests by requests; one seat of a cap may be held by a chunked prefill, so 15 of 16 is full.
THIN_PINNED = 0.9
# requests waiting by cap, at a single moment, from which a reading is extreme. Source: a queue of half the cap outlives
# any burst that a scrape can catch by chance.
THIN_QUEUE = 0.5
# A useful next step for the cap; throughput grows less than the cap, so larger jumps are not predicted.
NEXT_CAP = 2.0
_EXPLAINS = ("past-saturation-knee",)
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (Need(("running",)), Need(("waiting",)))


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; a sweep over concurrency answers where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, _from_bench)


def _from_bench(facts: Facts) -> Outcome:
    """A sweep, with the cap of the log or configuration beside it."""
    known = [c for settings in facts.settings if (c := limit(settings, CAP_NAMES)) is not None]
    return bench_cap.outcome(facts, max(known, default=None))


def _from_engine(facts: Facts) -> Outcome:
    """Fire from the cap regime over time, or from an extreme reading with a known cap."""
    seconds = facts.seconds(Regime.CAP)
    over_time = [i for i in range(facts.size) if words.matters(seconds[i], facts.courses[i].observed)]
    if over_time:
        return Fired((_over_time(facts, tuple(over_time)),))
    thin = _thin(facts)
    return Fired((_at_moments(facts, thin),)) if thin else Passed()


def _cap(facts: Facts, i: int) -> tuple[float, Provenance, str]:
    """The cap of replica i, how it is known, and from where in words."""
    known = limit(facts.settings[i], CAP_NAMES)
    setting = facts.setting(i, *CAP_NAMES)
    if known is not None and setting is not None:
        return known, setting.provenance, f"from the {setting.where}"
    plateau = facts.courses[i].plateau
    return (plateau if plateau is not None else float("nan")), Provenance.INFERRED, "inferred from a flat top"


def _over_time(facts: Facts, hit: tuple[int, ...]) -> Draft:
    worst = max(hit, key=lambda i: facts.courses[i].seconds(Regime.CAP))
    cap, provenance, source = _cap(facts, worst)
    during = Regime.CAP.value
    kv = Request("kv_usage", Stat.P90, during)
    waiting = Request("waiting", Stat.MEAN, during)
    kv_value = float(facts.ask(kv)[worst])
    mean_waiting = float(facts.ask(waiting)[worst])
    window = facts.window(hit, Regime.CAP)
    grows = words.queue_grows(facts, worst, during)
    critical = grows or words.slo_broken(facts, worst, during)
    about = "" if provenance is not Provenance.INFERRED else "about "
    spare = "" if np.isnan(kv_value) else f" while the KV cache is {words.percent(kv_value)} full"
    return Draft(
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=window,
        summary=f"Pinned at the concurrency cap of {about}{words.number(cap)} on {words.replicas(facts, hit)} "
        f"{words.held(window)}{spare}",
        explanation=(
            f"Running stays at {words.number(cap)} ({source}) while {words.number(mean_waiting)} requests wait on "
            f"average{', and the queue keeps growing' if grows else ''}. "
            f"{words.queue_sentence(facts, worst, during)}"
            "The cap bounds how many sequences share a step; with it full, requests wait for a seat and not for "
            "memory, so the wait lands in time to first token while the GPU could carry more."
        ),
        evidence=(
            facts.evidence(worst, Request("running", Stat.P50, during), ">=", cap, provenance),
            facts.evidence(worst, waiting, ">", 1.0),
            *(() if np.isnan(kv_value) else (facts.evidence(worst, kv, "<", KV_SPARE),)),
        ),
        chart=ChartHint(("running", "waiting", "kv_usage"), {"running": cap}),
        impact=gain.lifted(
            facts,
            worst,
            during,
            most=NEXT_CAP,
            by=f"a cap {NEXT_CAP:g} times as large gives at most {NEXT_CAP:g} times the tokens a second, since steps get longer",
        ),
        remedies=_remedies(facts, worst, cap, provenance),
        do_not=(
            "Do not buy or free KV memory: it is spare already.",
            "Do not raise the per-step token budget: steps are not full of prefill.",
        ),
        refuted_by="Requests still wait after the cap was raised and running rose above the old value; or running "
        "moves freely below the cap while requests wait.",
        margin=1 - (0.0 if np.isnan(kv_value) else kv_value / KV_SPARE),
        coverage=1.0,
        verify=(Request("running", Stat.MAX), Request("waiting", Stat.MIN), Request("kv_usage", Stat.MAX)),
        explains=_EXPLAINS,
        because="running is flat at one value exactly while requests wait",
    )


def _remedies(facts: Facts, i: int, cap: float, provenance: Provenance) -> tuple[Remedy, ...]:
    flag = flags.flag_for(facts.engine, facts.version, "concurrency-cap")
    first = Remedy(
        "Send part of the traffic to replicas with free seats, or lower the number of requests that clients keep "
        "open.",
        "now",
        expected="the queue drains; accepted requests start at once",
        risk="shed requests fail fast instead of waiting",
        undo="restore the routing weights or client limits",
    )
    if flag is None:
        return (first,)
    current = (
        words.number(cap)
        if provenance is not Provenance.INFERRED
        else f"about {words.number(cap)} (inferred)"
    )
    return (
        first,
        Remedy(
            f"Raise {flag} to {cap * NEXT_CAP:.0f} and watch inter-token latency.",
            "next-rollout",
            restart=True,
            engine=facts.engine,
            flag=flag,
            current=current,
            suggested=f"{cap * NEXT_CAP:.0f}",
            expected="less waiting; tokens per second grow by less than the cap, since every step gets longer",
            risk="each running request gets slower, and more KV cache is used; stop when inter-token latency nears "
            "its target or KV usage nears full",
            undo=f"set {flag} back to {words.number(cap)}",
        ),
        Remedy(
            "If inter-token latency is already at its target, add a replica instead.",
            "capacity-plan",
            expected="throughput in proportion to replicas",
            risk="cost of the added GPUs",
        ),
    )


def _thin(facts: Facts) -> tuple[int, ...]:
    """Replicas with a known cap that a single reading shows full, with a queue and spare KV cache."""
    running = facts.column("running", Stat.LAST)
    waiting = facts.column("waiting", Stat.LAST)
    kv = facts.column("kv_usage", Stat.LAST)
    caps = np.array([limit(s, CAP_NAMES) or np.nan for s in facts.settings])
    full = np.floor(caps) - 1 <= running
    hit = full & (running >= THIN_PINNED * (caps - 1)) & (waiting >= 1) & ~(kv >= KV_SPARE)
    return tuple(np.flatnonzero(hit & facts.is_thin()).tolist())


def _at_moments(facts: Facts, hit: tuple[int, ...]) -> Draft:
    waiting = facts.column("waiting", Stat.LAST)
    worst = max(hit, key=lambda i: float(waiting[i]))
    cap, provenance, source = _cap(facts, worst)
    running = float(facts.column("running", Stat.LAST)[worst])
    kv = float(facts.column("kv_usage", Stat.LAST)[worst])
    room = (
        "Whether the KV cache has room is not in this input."
        if np.isnan(kv)
        else f"Requests wait although the KV cache is only {words.percent(kv)} full."
    )
    extreme = float(waiting[worst]) >= max(1.0, THIN_QUEUE * cap)
    return Draft(
        severity=Severity.WARNING if extreme else Severity.INFO,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"At the concurrency cap: {words.number(running)} of {words.number(cap)} running and "
        f"{words.number(float(waiting[worst]))} waiting on {words.replicas(facts, hit)}, at the moment seen",
        explanation=(
            f"The cap is {words.number(cap)} ({source}); one seat can be held by a prefill in progress. "
            f"{room} A single moment cannot show whether this lasts."
        ),
        evidence=(
            facts.evidence(worst, Request("running", Stat.LAST), ">=", cap - 1, provenance),
            facts.evidence(worst, Request("waiting", Stat.LAST), ">=", 1.0),
        ),
        chart=ChartHint(("running", "waiting", "kv_usage"), {"running": cap}),
        impact=Impact("requests wait for a seat", None, "requests", "one reading"),
        remedies=_remedies(facts, worst, cap, provenance),
        refuted_by="A minute of readings shows running moving below the cap, or nothing waiting.",
        margin=1.0 if extreme else 0.2,
        weakest=Resolution.PAIR,
        verify=(Request("running", Stat.MAX), Request("waiting", Stat.MIN), Request("kv_usage", Stat.MAX)),
        explains=_EXPLAINS,
        because="the cap is known and full",
        confidence_cap=0.5,
    )


RULE = Rule(
    code="SCH001",
    slug="cap-throttled",
    title="Running sequences are pinned at the configured concurrency cap while KV cache is spare",
    family="scheduler",
    concepts=("S29",),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    thresholds={
        "KV usage below which memory is spare": (KV_SPARE, "ratio"),
        "queue by cap that makes a single reading extreme": (THIN_QUEUE, "ratio"),
    },
)
