"""Equal request counts with unequal work across replicas (S18).

Round-robin gives every replica the same number of requests, but requests differ in cost by orders of magnitude. One replica
ends up with the long ones while another idles. Not this when request rates differ (then routing itself is uneven), or when one
replica is slower at equal work.
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

# Largest by smallest request count; counts this close are equal for a router (recordings: 1.05 to 1.12).
EQUAL_REQUESTS = 1.5
# Largest by smallest work in tokens, and requests running at once (recordings: 7 and 15 in turn, 1.4 and 1.0 by load).
UNEQUAL_WORK = 2.5
UNEQUAL_RUNNING = 2.5
# Requests on the quietest replica below which counts say nothing.
MIN_REQUESTS = 20.0
# Mean running requests of the loaded replica from which its inequality is felt.
MIN_RUNNING = 2.0


def evaluate(facts: Facts) -> Outcome:
    """Compare request counts with work."""
    chosen = fleet.comparable(facts)
    if len(chosen) < 2:
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("replicas",), "needs at least two replicas that can be told apart"
        )
    requests = fleet.balance(facts.increase("requests_finished"), chosen)
    work = fleet.balance(fleet.work(facts), chosen)
    running = fleet.balance(facts.column("running", Stat.MEAN), chosen)
    if np.isnan(requests.ratio) or np.isnan(work.ratio):
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("requests_finished",), "give metrics of every replica over time"
        )
    if min(requests.values[chosen]) < MIN_REQUESTS:
        return Unanswered(
            Reason.TOO_FEW_SAMPLES, ("requests_finished",), "watch until each replica has served 20 requests"
        )
    busiest = max(chosen, key=lambda i: float(work.values[i]))
    loaded = float(facts.column("running", Stat.MEAN)[busiest]) >= MIN_RUNNING
    if (
        requests.ratio <= EQUAL_REQUESTS
        and work.ratio >= UNEQUAL_WORK
        and running.ratio >= UNEQUAL_RUNNING
        and loaded
    ):
        return Fired((_draft(facts, chosen, busiest, requests, work),))
    return Passed()


def _draft(
    facts: Facts, chosen: list[int], busiest: int, requests: fleet.Balance, work: fleet.Balance
) -> Draft:
    quietest = min(chosen, key=lambda i: float(work.values[i]))
    queue = fleet.queues_beside_room(facts, chosen)
    running = facts.column("running", Stat.MEAN)
    itl = facts.hist_mean("itl")
    slower = (
        f" Its mean gap between tokens is {words.seconds(float(itl[busiest]))} against {words.seconds(float(itl[quietest]))}."
        if not np.isnan(itl[busiest]) and not np.isnan(itl[quietest])
        else ""
    )
    names = facts.names((busiest, quietest))
    # The busier one may have had fewer requests; the ratio of the largest to the smallest does not say whose they were.
    share = float(requests.values[busiest] / requests.values[quietest])
    return Draft(
        severity=Severity.CRITICAL if queue else Severity.WARNING,
        role=Role.CAUSE,
        replicas=(busiest, quietest),
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else None),
        summary=f"Requests are shared out evenly but work is not: {names[0]} did {words.number(work.ratio)} times the tokens of "
        f"{names[1]} with {words.number(share)} times its requests",
        explanation=(
            f"{names[0]} runs {words.number(float(running[busiest]))} requests on average, {names[1]} "
            f"{words.number(float(running[quietest]))}.{slower} Taking turns counts requests, not their length; when long answers "
            "fall on one replica it queues and slows while another has room."
        ),
        evidence=(
            Evidence("requests_finished", "largest by smallest", round(requests.ratio, 2), "ratio", "<=", EQUAL_REQUESTS,
                     names[0], Provenance.MEASURED),
            Evidence("prompt and generated tokens", "largest by smallest", round(work.ratio, 2), "ratio", ">=", UNEQUAL_WORK,
                     names[0], Provenance.MEASURED),
            facts.evidence(busiest, Request("running", Stat.MEAN), ">=", MIN_RUNNING),
        ),
        chart=ChartHint(("running", "generation_tokens", "waiting"), {}),
        impact=Impact("the loaded replica's users wait while another replica has room", round(work.ratio, 1), "x work",
                      "tokens by replica over the window"),
        remedies=(
            Remedy(
                "Send new requests to the replica with the fewest in flight (least outstanding requests) in the router's "
                "settings.",
                "now", False, None, None, "round robin", "least outstanding requests",
                "running evens out within one answer's length", "prefix affinity is lost unless the router weighs both",
                "switch the policy back",
            ),
        ),
        do_not=("Do not add replicas first: the quiet one has room already.",),
        refuted_by="Request counts differ as much as work does, or the loaded replica is slower at equal work.",
        margin=min(1.0, work.ratio / UNEQUAL_WORK - 1),
        weakest=min(facts.resolution[busiest], facts.resolution[quietest], key=lambda r: r.value)
        if Resolution.RANGE not in facts.resolution else Resolution.RANGE,
        verify=(
            Request("requests_finished", Stat.INCREASE), Request("generation_tokens", Stat.INCREASE),
            Request("running", Stat.MEAN),
        ),
        explains=("past-saturation-knee",),
        because="counts and work of each replica are measured",
    )  # fmt: skip


RULE = Rule(
    code="RTE001",
    slug="round-robin-imbalance",
    title="Equal request counts with unequal work across replicas",
    family="fleet",
    concepts=("S18",),
    needs=(Need(("requests_finished",)), Need(("generation_tokens",)), Need(("running",))),
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "largest by smallest request count": (EQUAL_REQUESTS, "ratio"),
        "largest by smallest work": (UNEQUAL_WORK, "ratio"),
    },
)
