"""LoRA adapters are swapped in and out because routing ignores them (S27).

A batch may mix only so many adapters. Requests for others are held back, although seats and KV cache are
free. Not this where what waits lacks a seat or memory, and not where nothing says that adapters are in use: a
grammar or a transfer can hold a request back too.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import adapters, words
from diagnostics.execute.facts import Facts, Mask
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.execute.sql import Array
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason, Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.regimes import KV_SPARE

# requests held back on average from which it is no chance (recording: 1.2 with one adapter of six in a batch,
# else 0).
HELD_MEAN = 0.5
# Share of what waits that is held back for another reason than capacity (recording: all of it).
HELD_SHARE = 0.5
# ratio; the wait for the first schedule makes up most of the time to first token (recording: 0.85).
QUEUE_SHARE = 0.5
# s; waits shorter than this are no trouble to anybody.
MIN_QUEUE_SECONDS = 0.2
# Scrapes in a stretch; fewer are a chance.
MIN_SCRAPES = 4


def evaluate(facts: Facts) -> Outcome:
    """Fire where requests for adapters are held back over time, or on average between dumps."""
    limit = np.array([adapters.most_in_a_batch(facts, i) for i in range(facts.size)])
    lora = ~np.isnan(limit)
    if not lora.any():
        return Passed()
    marked = facts.has("waiting_deferred") & (facts.engine == "vllm")
    spare = ~(facts.column("kv_usage", Stat.P90) >= KV_SPARE)
    held = adapters.held_back(facts, HELD_MEAN, HELD_SHARE)
    hit = {i: h for i, h in enumerate(held) if h and marked[i] and lora[i] and _matters(facts, i, h)}
    if hit:
        return Fired((_draft(facts, tuple(hit), limit, hit),))
    full = facts.column("lora_slots_used", Stat.P50) >= facts.column("lora_max", Stat.MAX)
    pool = np.flatnonzero(full & spare & (facts.share(Regime.QUEUEING) >= words.MIN_STRETCH_SHARE))
    if len(pool):
        return Fired((_draft(facts, tuple(pool.tolist()), limit, {}),))
    deferred, waiting = facts.column("waiting_deferred", Stat.MEAN), facts.column("waiting", Stat.MEAN)
    few = lora & spare & marked & _slow(facts) & (deferred >= HELD_SHARE * waiting)
    few &= facts.is_thin() & (adapters.in_use(facts) > limit)
    if few.any():
        return Fired((_draft(facts, tuple(np.flatnonzero(few).tolist()), limit, {}),))
    if not marked[lora].all() and not facts.has("lora_slots_used").any():
        return Unanswered(
            Reason.NOT_EXPORTED_BY_ENGINE, ("waiting_deferred",),
            "this release does not say why a request waits; count adapters a replica in the gateway's log",
        )  # fmt: skip
    return Passed()


def _matters(facts: Facts, i: int, held: adapters.Held) -> bool:
    """Whether a stretch lasted, was seen often enough, and had a cache with room."""
    if not facts.is_range()[i] or held.scrapes < MIN_SCRAPES or held.kv >= KV_SPARE:
        return False
    return words.matters(held.end - held.start, facts.courses[i].observed)


def _slow(facts: Facts) -> Mask:
    """Replicas whose requests spend most of their time to first token waiting for the first schedule."""
    queue, total = facts.hist_mean("queue_time"), facts.hist_mean("ttft")
    return np.asarray((queue >= MIN_QUEUE_SECONDS) & (queue >= QUEUE_SHARE * total))


def _draft(facts: Facts, hit: tuple[int, ...], limit: Array, stretches: dict[int, adapters.Held]) -> Draft:
    deferred = Request("waiting_deferred", Stat.MEAN)
    mean = facts.ask(deferred)
    worst = max(hit, key=lambda i: stretches[i].mean if i in stretches else float(np.nan_to_num(mean[i])))
    stretch = stretches.get(worst)
    held, used = stretch.mean if stretch else float(mean[worst]), float(adapters.in_use(facts)[worst])
    name = facts.entities[worst].label
    queue = facts.hist_mean("queue_time")[worst]
    pool = facts.engine != "vllm"
    resolution = Resolution.RANGE if stretch or pool else Resolution.PAIR
    observed = facts.courses[worst].observed
    window = (
        Window(
            stretch.start,
            stretch.end,
            min(1.0, (stretch.end - stretch.start) / observed) if observed else None,
        )
        if stretch
        else Window(facts.observed.start, facts.observed.end, None)
    )
    known = facts.setting(worst, *adapters.MAX_NAMES)
    source = known.where if known else "the engine's default" if not pool else "the engine's metrics"
    turns = f"{words.number(used)} adapters took turns in it. " if used else ""
    what = "all adapter slots are taken"
    if stretch:
        what = f"{words.number(held)} requests on average are held back for their adapter"
    elif not pool:
        what = f"{words.seconds(float(queue))} on average for the first schedule"
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=window,
        summary=(
            f"Requests wait for their LoRA adapter on {words.replicas(facts, hit)}: {what}, while seats and "
            "KV cache are free"
        ),
        explanation=(
            f"A batch may mix {words.number(float(limit[worst]))} adapter(s) ({source}). "
            f"{turns}{words.queue_sentence(facts, worst, 'all')}"
            "Nothing waits for a seat or for memory: a request for another adapter waits until one of those "
            "in the batch is no longer used. A router that ignores adapters sends every adapter to every "
            "replica, so each replica swaps all the time."
        ),
        evidence=(
            *((Evidence("waiting_deferred", "mean in the stretch", round(held, 2), "requests", ">=", HELD_MEAN,
                        name, Provenance.MEASURED),) if stretch else ()),
            *((facts.evidence(worst, Request("queue_time", Stat.HIST_MEAN), ">=", MIN_QUEUE_SECONDS),) if
              queue > 0 else ()),
            *((facts.evidence(worst, Request("lora_slots_used", Stat.P50), ">=", float(limit[worst]),
                              Provenance.INFERRED),) if pool else ()),
            Evidence("lora_max", "adapters in one batch", float(limit[worst]), "adapters", "<" if used else
                     "=", used or None, name, Provenance.CONFIGURED),
        ),
        chart=ChartHint(("waiting_deferred", "waiting", "running", "kv_usage"), {"kv_usage": KV_SPARE}),
        impact=Impact("first tokens come late, most of all for rare adapters", None if np.isnan(queue) else
                      round(float(queue), 3), "s a request", "mean wait for the first schedule"),
        remedies=_remedies(facts, float(limit[worst]), used),
        do_not=(
            "Do not raise the concurrency cap: seats are empty.",
            "Do not even out request counts over replicas: every replica then swaps every adapter.",
        ),
        refuted_by="Nothing is held back any more (deferred waiting is 0), or no more adapters are in use "
            "than a batch may mix.",
        margin=0.3 if pool else min(1.0, held / HELD_MEAN - 1),
        weakest=resolution,
        verify=(deferred, Request("queue_time", Stat.HIST_MEAN), Request("kv_usage", Stat.MAX)),
        explains=("past-saturation-knee",),
        because="adapter slots are full while seats are free" if pool else "what waits is held back, and not "
            "for capacity",
        confidence_cap=1.0 if resolution is Resolution.RANGE else 0.5,
    )  # fmt: skip


def _remedies(facts: Facts, limit: float, used: float) -> tuple[Remedy, ...]:
    flag = flags.flag_for(facts.engine, facts.version, "max-loras")
    wanted = f"{max(used, 2 * limit):.0f}"
    route = Remedy(
        "Route by adapter, with a hash of its name choosing the replica, so that requests for one "
        "adapter share batches.",
        "now",
        expected="each replica keeps a small stable set of adapters",
        risk="a very popular adapter loads one replica; give it a group of its own",
        undo="route as before",
    )
    more = Remedy(
        f"Raise {flag} to the number of adapters hot on one replica.",
        "next-rollout", True, facts.engine, flag, words.number(limit), wanted, "more adapters share a batch",
        "each slot takes GPU memory from the KV cache", f"set {flag} back",
    )  # fmt: skip
    groups = Remedy(
        "Partition adapters over groups of replicas, each with a stable set.",
        "capacity-plan",
        expected="adding replicas to a group adds capacity for its adapters",
    )
    return (route, more, groups) if flag else (route, groups)


RULE = Rule(
    code="RTE002",
    slug="adapter-thrash",
    title="LoRA adapters are swapped in and out because routing ignores them",
    family="fleet",
    concepts=("S27",),
    needs=(
        Need(("waiting",)),
        Need(("lora_max", "max_loras", "max_loras_per_batch", "enable_lora", "lora_running"),
             how_to_get="no LoRA adapters are served, or their metrics are not here"),
    ),
    evaluate=evaluate,
    thresholds={"requests held back on average": (HELD_MEAN, "requests"), "held back by waiting": (HELD_SHARE,
                "ratio"), "queue time by time to first token": (QUEUE_SHARE, "ratio"),},
)  # fmt: skip
