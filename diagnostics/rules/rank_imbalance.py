"""Data-parallel ranks of one deployment carry unequal load (S18).

Ranks of one server are schedulers of their own. When the front end shares requests out on stale or partial counts, one rank
fills and queues while another has room. Not this while nothing waits anywhere.
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

# Largest by smallest mean of requests inside a rank.
UNEQUAL = 2.0


def evaluate(facts: Facts) -> Outcome:
    """Compare the ranks of each replica."""
    by_replica: dict[str, list[int]] = {}
    for i in fleet.comparable(facts):
        if facts.entities[i].rank is not None:
            by_replica.setdefault(facts.entities[i].replica, []).append(i)
    if not by_replica:
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("rank",), "only one data-parallel rank is here")
    drafts = []
    for ranks in by_replica.values():
        queue = fleet.queues_beside_room(facts, ranks)
        spread = fleet.balance(fleet.in_flight(facts), ranks)
        if queue is not None and spread.ratio >= UNEQUAL:
            drafts.append(_draft(facts, queue, spread))
    return Fired(tuple(drafts)) if drafts else Passed()


def _draft(facts: Facts, queue: tuple[int, int], spread: fleet.Balance) -> Draft:
    busy, free = queue
    names = facts.names(queue)
    waiting = facts.column("waiting", Stat.MEAN)
    ratio = words.number(spread.ratio) if np.isfinite(spread.ratio) else "many"
    thin = bool(facts.is_thin()[busy])
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=queue,
        window=Window(facts.observed.start, facts.observed.end, None if thin else 1.0),
        summary=f"Data-parallel ranks are loaded unequally: {names[0]} has {words.number(float(waiting[busy]))} requests waiting, "
        f"{names[1]} {words.number(float(waiting[free]))}; {ratio} times the requests inside",
        explanation="Each rank has its own KV cache and its own cap, so a request that was handed to a full rank waits there even "
        "though another rank of the same server has room. A sum over ranks hides this.",
        evidence=(
            facts.evidence(busy, Request("waiting", Stat.MEAN), ">=", fleet.QUEUES),
            facts.evidence(free, Request("waiting", Stat.MEAN), "<=", fleet.HAS_ROOM),
            Evidence("requests inside", "largest by smallest", round(min(spread.ratio, 1e6), 2), "ratio", ">=", UNEQUAL, names[0],
                     Provenance.MEASURED),
        ),
        chart=ChartHint(("running", "waiting", "kv_usage"), {}),
        impact=Impact("requests on the full rank wait for nothing", None, "", "queue beside room"),
        remedies=(
            Remedy(
                "Lower the load until the full rank has drained; balance by requests in flight in front of the server where "
                "ranks have addresses of their own.",
                "now", expected="queues even out", risk="none", undo="restore the load",
            ),
            Remedy(
                "Put each rank behind the router as its own replica (external load balancing).",
                "next-rollout", True, facts.engine, "--data-parallel-size", None, None,
                "the router sees each rank's queue", "more addresses to watch", "go back to internal balancing",
            ),
        ),
        do_not=("Do not raise the cap of all ranks: only one is full.",),
        refuted_by="All ranks queue alike (then a limit binds, not the balance).",
        margin=min(1.0, spread.ratio / UNEQUAL - 1),
        weakest=Resolution.PAIR if thin else Resolution.RANGE,
        verify=(Request("waiting", Stat.MEAN), Request("running", Stat.MEAN)),
        explains=("past-saturation-knee",),
        because="ranks are compared before anything is summed",
        confidence_cap=0.5 if thin else 1.0,
    )  # fmt: skip


RULE = Rule(
    code="RTE005",
    slug="rank-imbalance",
    title="Data-parallel ranks of one deployment carry unequal load",
    family="fleet",
    concepts=("S18",),
    needs=(Need(("running",)), Need(("waiting",))),
    evaluate=evaluate,
    thresholds={
        "largest by smallest requests inside": (UNEQUAL, "ratio"),
        "waiting on the loaded rank": (fleet.QUEUES, "requests"),
    },
)
