"""Requests themselves are spread unevenly over replicas (S18, S28).

Stale or partial views of load, sticky sessions or over-weighted prefix affinity send one replica far more requests than
another, until it queues while the other has room. Not this with equal request counts, nor with one replica.
"""

from __future__ import annotations

import numpy as np

from diagnostics.execute import fleet, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Largest by smallest number of requests, served in the window or, at a single moment, in flight.
SKEW = 2.0
SKEW_AT_A_MOMENT = 3.0


def evaluate(facts: Facts) -> Outcome:
    """Fire where request counts differ by a large factor and one replica queues beside one with room."""
    chosen = [i for i in fleet.comparable(facts) if facts.entities[i].rank is None]
    if len(chosen) < 2:
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("replicas",), "needs at least two replicas that can be told apart"
        )
    queue = fleet.queues_beside_room(facts, chosen)
    if queue is None:
        return Passed()
    served = fleet.balance(facts.increase("requests_finished"), chosen)
    if not np.isnan(served.ratio):
        return Fired((_draft(facts, queue, served, "served"),)) if served.ratio >= SKEW else Passed()
    held = fleet.balance(fleet.in_flight(facts), chosen)
    if held.ratio >= SKEW_AT_A_MOMENT:
        return Fired((_draft(facts, queue, held, "in flight"),))
    return Passed()


def _draft(facts: Facts, queue: tuple[int, int], spread: fleet.Balance, what: str) -> Draft:
    busy, free = queue
    names = facts.names(queue)
    waiting = facts.column("waiting", Stat.MEAN)
    moment = what == "in flight"
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=queue,
        window=Window(facts.observed.start, facts.observed.end, None if moment else 1.0),
        summary=f"Requests are spread unevenly: {names[0]} has {words.number(float(waiting[busy]))} waiting while {names[1]} has "
        f"{words.number(float(waiting[free]))}; largest by smallest number {what} is {words.number(spread.ratio)}",
        explanation="Every replica serves the same model, so a queue on one beside room on another is the router's doing: its "
        "view of load is stale or partial, sessions stick, or prefix affinity weighs more than load."
        + (" At a single moment it cannot be told whether counts or lengths differ." if moment else ""),
        evidence=(
            Evidence(f"requests {what}", "largest by smallest", round(spread.ratio, 2), "ratio", ">=",
                     SKEW_AT_A_MOMENT if moment else SKEW, names[0], Provenance.MEASURED),
            facts.evidence(busy, Request("waiting", Stat.MEAN), ">=", fleet.QUEUES),
            facts.evidence(free, Request("waiting", Stat.MEAN), "<=", fleet.HAS_ROOM),
        ),
        chart=ChartHint(("waiting", "running", "requests_finished"), {}),
        impact=Impact("users of the loaded replica wait while another has room", round(spread.ratio, 1), "x requests", what),
        remedies=(
            Remedy(
                "Route by requests in flight, or lower the weight of prefix affinity or stickiness in the router; the engines "
                "need.",
                "now", False, None, None, None, "least outstanding requests", "queues even out within one answer's length",
                "some prefix reuse is lost", "restore the router's settings",
            ),
        ),
        do_not=("Do not add replicas first: one has room already.",),
        refuted_by="Request counts are equal over a longer window (then lengths differ, not routing).",
        margin=min(1.0, spread.ratio / SKEW - 1),
        weakest=Resolution.PAIR if moment else Resolution.RANGE,
        verify=(Request("requests_finished", Stat.INCREASE), Request("waiting", Stat.MEAN)),
        explains=("past-saturation-knee", "memory-bound") if moment else ("past-saturation-knee",),
        because="one queues beside one with room",
        confidence_cap=0.5 if moment else 1.0,
    )  # fmt: skip


RULE = Rule(
    code="RTE006",
    slug="routing-skew",
    title="Requests themselves are spread unevenly over replicas",
    family="fleet",
    concepts=("S18", "S28"),
    needs=(Need(("waiting",)), Need(("running",))),
    evaluate=evaluate,
    thresholds={
        "largest by smallest requests served": (SKEW, "ratio"),
        "waiting on the loaded replica": (fleet.QUEUES, "requests"),
        "waiting on the one with room": (fleet.HAS_ROOM, "requests"),
    },
)
