"""The host process is the limit, not the GPU (S13).

Before a request reaches the engine it is parsed and tokenized, and after each step answers are detokenized
and sent. When that work is the limit, the engine's queue is empty and clients wait all the same. A gap before
the engine alone proves nothing: the CPU at its limit, or a GPU that idles between steps, must be seen too.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.engines import flags
from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support, Unanswered
from diagnostics.execute.sql import Array
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# s and ratio: time to first token that is neither queue nor prefill, from which a reader notices.
GAP_SECONDS = 0.5
GAP_SHARE = 0.5
# cores; one Python process cannot use more than about one, and near it streams wait for each other.
PINNED_CORES = 0.9
# Mean activity of GPU memory and tensor cores while requests run, below which the GPU waits (busy decode:
# about 0.8).
IDLE_GPU = 0.3
MIN_REQUESTS = 20.0
# Requests waiting in the engine on average; above it the wait is the engine's own.
MAX_WAITING = 1.0


class Host(Struct, frozen=True):
    """What is known of the host's share; one place a replica, NaN where absent."""

    gap: Array
    cores: Array
    activity: Array


def evaluate(facts: Facts) -> Outcome:
    """Fire where time is lost before the engine while the CPU is pinned or the GPU idles."""
    gap, total = _gap(facts), facts.hist_mean("ttft")
    if np.isnan(gap).all():
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT,
            ("ttft", "queue_time", "prefill_time"),
            "give the engine's metrics over time",
        )
    host = Host(gap, _cores(facts), _activity(facts))
    enough = facts.column("ttft", Stat.HIST_COUNT) >= MIN_REQUESTS
    calm = ~(facts.column("waiting", Stat.MEAN) >= MAX_WAITING)
    lost = enough & calm & (gap >= GAP_SECONDS) & (gap >= GAP_SHARE * total)
    if not lost.any():
        return Passed()
    hit = np.flatnonzero(lost & ((host.cores >= PINNED_CORES) | (host.activity < IDLE_GPU)))
    if len(hit):
        return Fired((_draft(facts, tuple(hit.tolist()), host),))
    if np.isnan(host.cores[lost]).all() and np.isnan(host.activity[lost]).all():
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("process_cpu", "gpu_dram_active"),
            "give the CPU seconds of the API server's process, or DCGM's series with the pod's label",
        )  # fmt: skip
    return Passed()


def _gap(facts: Facts) -> Array:
    """Mean seconds before the first token that are neither queue nor prefill."""
    return np.asarray(
        facts.hist_mean("ttft") - facts.hist_mean("queue_time") - facts.hist_mean("prefill_time")
    )


def _cores(facts: Facts) -> Array:
    """CPU seconds a second of the busiest host process."""
    observed = np.array([c.observed for c in facts.courses])
    parts = [facts.increase("process_cpu", key=key) for key in ("", *facts.keys("process_cpu"))]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.fmax.reduce(parts) / np.where(observed > 0, observed, np.nan))


def _activity(facts: Facts) -> Array:
    """The larger of memory and tensor activity, mean over time, of the busiest GPU."""
    signals = ("gpu_dram_active", "gpu_tensor_active")
    parts = [facts.column(s, Stat.MEAN, key=key) for s in signals for key in ("", *facts.keys(s))]
    return np.asarray(np.fmax.reduce(parts))


def _draft(facts: Facts, hit: tuple[int, ...], host: Host) -> Draft:
    worst = max(hit, key=lambda i: float(host.gap[i]))
    gap, cores, activity = (float(a[worst]) for a in (host.gap, host.cores, host.activity))
    pinned, idle = cores >= PINNED_CORES, activity < IDLE_GPU
    name = facts.entities[worst].label
    proof = " and ".join(
        ([f"the API server's process uses {words.number(cores)} cores"] if pinned else [])
        + (
            [f"the GPU's memory and tensor cores are busy for {words.percent(activity)} of the time"]
            if idle
            else []
        )
    )
    flag = flags.flag_for(facts.engine, facts.version, "api-server-count")
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else
                      None),
        summary=(
            f"The host is the limit on {words.replicas(facts, hit)}: {words.seconds(gap)} of the time to "
            "first token is neither queue nor prefill"
        ),
        explanation=(
            f"A first token takes {words.seconds(float(facts.hist_mean('ttft')[worst]))} on average, of "
            f"which the engine accounts for {words.seconds(float(facts.hist_mean('ttft')[worst]) - gap)}; "
            f"nothing waits in its queue, and {proof}. Parsing, tokenizing and streaming run on the host, "
            "and while they lag the GPU has nothing to do."
        ),
        evidence=(
            Evidence("ttft less queue_time and prefill_time", "mean", round(gap, 3), "s", ">=", GAP_SECONDS,
                     name, Provenance.MEASURED),
            *((Evidence("process_cpu", "cores used", round(cores, 2), "cores", ">=", PINNED_CORES, name,
                        Provenance.MEASURED),) if pinned else ()),
            *((Evidence("gpu_dram_active", "mean, busiest GPU", round(activity, 3), "ratio", "<", IDLE_GPU,
                        name, Provenance.MEASURED),) if idle else ()),
        ),
        chart=ChartHint(("ttft", "queue_time", "prefill_time", "running"), {}),
        impact=Impact("first tokens are late for every request", round(gap, 2), "s a request",
                      "means over the window"),
        remedies=(
            Remedy("Spread streams over more replicas, or let clients take fewer and larger chunks; no "
                   "restart.", "now", expected="first tokens come with queue and prefill", risk="none",
                   undo="route as before"),
            Remedy("Run several API server processes and lift the container's CPU limit.",
                   "next-rollout", True, facts.engine, flag, None, None, "host work runs in parallel",
                   "process metrics vanish and gauges come from the last writer", "go back to one process"),
        ),
        do_not=(
            "Do not buy a faster GPU: it will wait more.",
            "Do not raise the concurrency cap: the engine is not full.",
        ),
        refuted_by="Time to first token equals queue plus prefill, or the GPU's memory is busy most of the "
            "time.",
        margin=min(1.0, gap / GAP_SECONDS - 1),
        weakest=max(facts.resolution[worst], Resolution.PAIR),
        verify=(
            Request("ttft", Stat.HIST_MEAN),
            Request("queue_time", Stat.HIST_MEAN),
            Request("prefill_time", Stat.HIST_MEAN),
        ),
        because=proof,
    )  # fmt: skip


RULE = Rule(
    code="CPU001",
    slug="host-bound",
    title="The host process (API server, tokenizer, detokenizer) is the limit, not the GPU",
    family="host",
    concepts=("S13",),
    needs=(Need(("ttft",)), Need(("queue_time",)), Need(("prefill_time",))),
    evaluate=evaluate,
    support=Support.REPORT,
    full=Resolution.PAIR,
    thresholds={"time to first token outside queue and prefill": (GAP_SECONDS, "s"), "CPU of the API server":
                (PINNED_CORES, "cores"), "activity of the GPU": (IDLE_GPU, "ratio"),},
)  # fmt: skip
