"""The KV cache is full and requests wait for blocks (S29, S13).

A request is admitted only when the blocks for it are free. With the pool full, requests wait though seats are free, and no
scheduler knob makes memory. Not this when usage is high but nothing waits, or for a single short spike.
"""

from __future__ import annotations

import numpy as np

from diagnostics.execute import gain, remedies, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule
from diagnostics.model.findings import ChartHint, Impact, Role, Severity, Window
from diagnostics.model.report import Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.regimes import KV_FULL
from diagnostics.signals.settings import CAP_NAMES, limit

# ratio; a single reading is a coin toss unless the pool is this full in every one (recordings swing from 0.6 to 1.0).
THIN_KV = 0.9
# requests by running, waiting at a single moment; a queue this long is no burst.
THIN_QUEUE = 0.5
THIN_QUEUE_MIN = 5.0
_EXPLAINS = ("past-saturation-knee",)


def evaluate(facts: Facts) -> Outcome:
    """Fire from the kv-memory regime over time, or from extreme readings."""
    # A storm is memory pressure too; the storm rule speaks of it, this one when requests also wait without it.
    seconds = facts.seconds(Regime.KV_MEMORY)
    over_time = [i for i in range(facts.size) if words.matters(seconds[i], facts.courses[i].observed)]
    if over_time:
        return Fired((_over_time(facts, tuple(over_time)),))
    thin = _thin(facts)
    return Fired((_at_moments(facts, thin),)) if thin else Passed()


def _capacity(facts: Facts, i: int) -> str:
    tokens = facts.number(i, "kv_capacity_tokens")
    return f" of {words.number(tokens)} tokens" if tokens else ""


def _over_time(facts: Facts, hit: tuple[int, ...]) -> Draft:
    worst = max(hit, key=lambda i: facts.courses[i].seconds(Regime.KV_MEMORY))
    during = Regime.KV_MEMORY.value
    kv, running = Request("kv_usage", Stat.MEAN, during), Request("running", Stat.MEAN, during)
    waiting = Request("waiting", Stat.MEAN, during)
    kv_value = float(facts.ask(kv)[worst])
    window = facts.window(hit, Regime.KV_MEMORY)
    grows = words.queue_grows(facts, worst, during)
    critical = grows or words.slo_broken(facts, worst, during)
    cap = limit(facts.settings[worst], CAP_NAMES)
    seats = f" of {words.number(cap)} seats" if cap else ""
    return Draft(
        severity=Severity.CRITICAL if critical else Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=window,
        summary=f"KV cache{_capacity(facts, worst)} is full ({words.percent(kv_value)} on average) while "
        f"{words.number(float(facts.ask(waiting)[worst]))} requests wait, on {words.replicas(facts, hit)} "
        f"{words.held(window)}",
        explanation=(
            f"{words.number(float(facts.ask(running)[worst]))}{seats} are running, so seats are free; blocks are not. "
            f"{words.queue_sentence(facts, worst, during)}"
            "Usage swings because the next request needs many blocks at once and the engine keeps a reserve; its mean over "
            "the stretch is what counts. A larger cap or token budget cannot help: there is no memory to admit into."
        ),
        evidence=(
            facts.evidence(worst, kv, ">=", KV_FULL),
            facts.evidence(worst, waiting, ">", 1.0),
            facts.evidence(worst, running, "<", cap),
        ),
        chart=ChartHint(("kv_usage", "waiting", "running"), {"kv_usage": KV_FULL}),
        impact=gain.lifted(facts, worst, during),
        remedies=remedies.more_kv_memory(facts, worst),
        do_not=(
            "Do not raise the concurrency cap: admitted requests would be preempted and recomputed.",
            "Do not raise the token budget: the steps are not full.",
        ),
        refuted_by="Requests keep waiting while KV usage stays low; or the queue vanishes when only the cap is raised.",
        margin=(kv_value - KV_FULL) / (1 - KV_FULL),
        verify=(Request("kv_usage", Stat.MEAN), Request("waiting", Stat.MIN), Request("running", Stat.MAX)),
        explains=_EXPLAINS,
        because="requests wait with seats free and the cache full",
    )


def _thin(facts: Facts) -> tuple[int, ...]:
    """Replicas whose every reading shows a full pool and a long queue."""
    kv = facts.column("kv_usage", Stat.LAST)
    low = facts.column("kv_usage", Stat.MIN)
    waiting, running = facts.column("waiting", Stat.LAST), facts.column("running", Stat.LAST)
    caps = np.array([limit(s, CAP_NAMES) or np.inf for s in facts.settings])
    snapshot = facts.column("kv_usage", Stat.COUNT) < 2
    full = (kv >= THIN_KV) & (snapshot | (low >= THIN_KV) | (low < 0.5))
    queue = waiting >= np.maximum(THIN_QUEUE * running, THIN_QUEUE_MIN)
    return tuple(np.flatnonzero(full & queue & (running < caps) & facts.is_thin()).tolist())


def _at_moments(facts: Facts, hit: tuple[int, ...]) -> Draft:
    kv, waiting = Request("kv_usage", Stat.LAST), Request("waiting", Stat.LAST)
    worst = max(hit, key=lambda i: float(facts.ask(waiting)[i]))
    lifetime = facts.column("preemptions", Stat.LIFETIME)[worst]
    counted = (
        f" {words.number(float(lifetime))} preemptions were counted since the server started, which says nothing of now."
        if lifetime > 0
        else ""
    )
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"KV cache{_capacity(facts, worst)} is {words.percent(float(facts.ask(kv)[worst]))} full with "
        f"{words.number(float(facts.ask(waiting)[worst]))} requests waiting, on {words.replicas(facts, hit)}, "
        "at the moment seen",
        explanation="Requests wait while every block is taken: memory is the limit, as far as a moment can show."
        + counted,
        evidence=(
            facts.evidence(worst, kv, ">=", THIN_KV),
            facts.evidence(worst, waiting, ">=", THIN_QUEUE_MIN),
            *(
                (facts.evidence(worst, Request("preemptions", Stat.LIFETIME), ">", 0.0, Provenance.LIFETIME),)
                if lifetime > 0 and facts.resolution[worst] is Resolution.SNAPSHOT
                else ()
            ),
        ),
        chart=ChartHint(("kv_usage", "waiting", "running"), {"kv_usage": KV_FULL}),
        impact=Impact("requests wait for blocks of the KV cache", None, "requests", "one reading"),
        remedies=remedies.more_kv_memory(facts, worst),
        do_not=("Do not raise the concurrency cap: admitted requests would be preempted and recomputed.",),
        refuted_by="A minute of readings shows usage well below full while requests still wait.",
        margin=1.0,
        weakest=Resolution.PAIR,
        verify=(Request("kv_usage", Stat.MEAN), Request("waiting", Stat.MIN)),
        explains=_EXPLAINS,
        because="full cache and long queue at once",
        confidence_cap=0.5,
    )


RULE = Rule(
    code="SCH002",
    slug="memory-bound",
    title="KV cache is full and no scheduler knob will help",
    family="scheduler",
    concepts=("S29", "S13"),
    needs=(Need(("kv_usage",)), Need(("waiting",)), Need(("running",))),
    evaluate=evaluate,
    thresholds={
        "mean KV usage while requests wait": (KV_FULL, "ratio"),
        "KV usage that makes a single reading extreme": (THIN_KV, "ratio"),
    },
)
