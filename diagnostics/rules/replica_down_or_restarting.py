"""A replica is down or restarts (S10).

A replica that does not answer serves nothing, and one that restarts loads weights for minutes before it serves again; its
requests are lost and its peers carry its load. A single failed scrape is no outage: a loaded server may answer late.
"""

from __future__ import annotations

import math
from collections import Counter

from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason, Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.regimes import OUTAGE_SCRAPES, OUTAGE_SECONDS


def evaluate(facts: Facts) -> Outcome:
    """Fire from failed scrapes in a row, a new process start time, or a start-up sequence that repeats in a log."""
    down = facts.seconds(Regime.DOWN)
    hit = tuple(i for i in range(facts.size) if down[i] > 0 or facts.courses[i].restarts)
    if hit:
        return Fired((_draft(facts, hit),))
    # Logs of several replicas each hold one start; only a repetition of one replica in one of them is a restart.
    starts = Counter(tuple(sorted(e.labels.items())) for e in facts.events if e.kind == "startup")
    repeated = max(starts.values(), default=0)
    if repeated > 1:
        return Fired((_from_log(facts, repeated),))
    if not (facts.has("up") | facts.has("start_time")).any():
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT,
            ("up", "start_time"),
            "give a metrics API: a log that ends does not say why",
        )
    return Passed()


def _draft(facts: Facts, hit: tuple[int, ...]) -> Draft:
    worst = max(hit, key=lambda i: facts.courses[i].seconds(Regime.DOWN))
    course = facts.courses[worst]
    seconds = course.seconds(Regime.DOWN)
    stretches = course.stretches(Regime.DOWN)
    still = bool(stretches) and stretches[-1].end >= course.segments[-1].end
    restarted = bool(course.restarts)
    name = facts.entities[worst].label
    if still:
        what = f"{name} has been down for {words.seconds(seconds)}"
    elif restarted and seconds:
        what = f"{name} was down for {words.seconds(seconds)} and came back as a new process"
    elif restarted:
        what = f"{name} restarted between two scrapes"
    else:
        what = f"{name} did not answer for {words.seconds(seconds)}"
    window = facts.window(hit, Regime.DOWN)
    if not seconds and restarted:
        window = Window(course.restarts[0], course.restarts[-1], None)
    lost = float(facts.column("running", Stat.MAX)[worst])
    return Draft(
        severity=Severity.CRITICAL,
        role=Role.CAUSE,
        replicas=hit,
        window=window,
        summary=what + (f" ({len(hit)} of {facts.size} replicas affected)" if len(hit) > 1 else ""),
        explanation=(
            "Scrapes fail in a row, which a single late answer under load does not do. "
            + ("All counters started again from zero with a new start time, so the process was replaced. " if restarted else "")
            + "Requests in flight were lost, and a new process serves nothing until weights are loaded and warm-up is done."
        ),
        evidence=(
            Evidence("up", "seconds without an answer", round(seconds, 1), "s", ">=", OUTAGE_SECONDS, name, Provenance.MEASURED)
            if seconds
            else Evidence("start_time", "changes", float(len(course.restarts)), "events", ">=", 1.0, name, Provenance.MEASURED),
        ),
        chart=ChartHint(("up", "running", "requests_finished"), {}),
        impact=Impact(f"up to {words.number(lost)} requests in flight were lost", None if math.isnan(lost) else lost, "requests",
                      "most running at once before"),
        remedies=(
            Remedy(
                "Take the replica out of the router until it answers, and read the end of its log and the reason of its last "
                "exit.",
                "now", expected="no request goes to it", risk="the other replicas carry its load", undo="add it back",
            ),
            Remedy(
                "If it was killed for memory, lower its memory fraction or raise the container's limit at the next rollout.",
                "next-rollout", True, facts.engine, None, None, None, "no more kills", "less KV cache", "set it back",
            ),
        ),
        do_not=("Do not restart the remaining replicas: they carry all traffic now.",),
        refuted_by="The process answers all the time and only the scrape fails (its timeout, the network, a proxy).",
        margin=min(1.0, seconds / (2 * OUTAGE_SECONDS)) if seconds else 1.0,
        verify=(Request("up", Stat.MIN), Request("start_time", Stat.MAX)),
        explains=("routing-skew", "round-robin-imbalance", "client-disconnects"),
        because="failed scrapes in a row" if seconds else "a new start time",
    )  # fmt: skip


def _from_log(facts: Facts, count: int) -> Draft:
    times = [e.time for e in facts.events if e.kind == "startup" and e.time is not None]
    return Draft(
        severity=Severity.CRITICAL,
        role=Role.CAUSE,
        replicas=(0,) if facts.size else (),
        window=Window(min(times) if times else None, max(times) if times else None, None),
        summary=f"The server started {count} times in this log: it restarted",
        explanation="The start-up sequence repeats, so the process ended and was started again. Its counters began at zero and "
        "requests in flight were lost.",
        evidence=(
            Evidence("start-up sequences", "in one log", float(count), "events", ">", 1.0,
                     facts.entities[0].label if facts.size else "", Provenance.MEASURED),
        ),
        chart=ChartHint(("running", "generation_tokens"), {}),
        impact=Impact("requests in flight were lost", None, "requests", "the log does not count them"),
        remedies=(
            Remedy(
                "Take the replica out of the router until it is ready, and read the lines before the second start.",
                "now", expected="no request goes to it", risk="the others carry its load", undo="add it back",
            ),
        ),
        refuted_by="The log is two logs put together.",
        margin=1.0,
        weakest=Resolution.RANGE,
        verify=(Request("start_time", Stat.MAX),),
        explains=("client-disconnects",),
        because="the start-up sequence repeats",
    )  # fmt: skip


RULE = Rule(
    code="RTE004",
    slug="replica-down-or-restarting",
    title="A replica is down or restarts",
    family="fleet",
    concepts=("S10",),
    needs=(Need(("up", "start_time", "running")),),
    evaluate=evaluate,
    thresholds={
        "failed scrapes in a row": (float(OUTAGE_SCRAPES), "scrapes"),
        "without an answer": (OUTAGE_SECONDS, "s"),
    },
)
