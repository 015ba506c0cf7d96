"""One replica does the same work slower than its peers (S18).

Replicas of one model on equal hardware and equal work take equal time a token. When one does not, the reason
lies in it: low clocks, a bad link, a neighbour, another version or flag. Not this where work differs: longer
prompts or answers are slower by right.
"""

from __future__ import annotations

import numpy as np

from diagnostics.execute import fleet, peers, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Time a token by the median of the peers (recordings of equal replicas: 1.5 in the mean, with prefill in it,
# at most).
SLOWER = 2.0
# The same in the median gap, where it is known: prefill and stalls do not touch it (recordings: 1.1 at most).
SLOWER_MEDIAN = 1.5
# Preemptions by finished requests from which the gaps are theirs.
MAX_PREEMPTED = 0.05


def evaluate(facts: Facts) -> Outcome:
    """Compare the time a token of replicas that do the same work."""
    chosen = fleet.comparable(facts)
    if len(chosen) < 2:
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("replicas",), "needs at least two replicas that can be told apart"
        )
    slow = peers.slowest(facts, chosen)
    if slow is None:
        return Unanswered(
            Reason.TOO_FEW_SAMPLES, ("itl",), "watch until each replica has made some hundred tokens"
        )
    if (
        slow.ratio < SLOWER
        or not peers.same_work(facts, chosen)
        or not _by_median(facts, chosen, slow.replica)
    ):
        return Passed()
    return Passed() if _preempted(facts, slow.replica) else Fired((_draft(facts, chosen, slow),))


def _by_median(facts: Facts, chosen: list[int], worst: int) -> bool:
    median = facts.column("itl", Stat.HIST_P50)
    others = median[[i for i in chosen if i != worst]]
    if np.isnan(median[worst]) or np.isnan(others).all():
        return True
    return float(median[worst]) >= SLOWER_MEDIAN * float(np.nanmedian(others))


def _preempted(facts: Facts, i: int) -> bool:
    events, finished = float(facts.increase("preemptions")[i]), float(facts.increase("requests_finished")[i])
    return events > MAX_PREEMPTED * max(finished, 1.0)


def _draft(facts: Facts, chosen: list[int], slow: peers.Slow) -> Draft:
    name = facts.entities[slow.replica].label
    work = fleet.balance(fleet.work(facts), chosen).ratio
    running = facts.column("running", Stat.MEAN)
    others = float(np.median([running[i] for i in chosen if i != slow.replica]))
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=(slow.replica,),
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else
                      None),
        summary=(
            f"{name} needs {words.seconds(slow.seconds)} a token where its peers need "
            f"{words.seconds(slow.peers)}, at the same work"
        ),
        explanation=(
            f"Requests, tokens and answer lengths of the {len(chosen)} replicas are equal within "
            f"{words.number(work)} times. {name} runs {words.number(float(running[slow.replica]))} requests "
            f"at once and its peers {words.number(others)}: it holds each request longer, so its larger "
            "batch is the consequence and not the reason. Look for low clocks, a degraded link, CPU taken by "
            "a neighbour, or another version or flag on this one."
        ),
        evidence=(
            Evidence(slow.signal, "mean by the median of the peers", round(slow.ratio, 2), "ratio", ">=",
                     SLOWER, name, Provenance.MEASURED),
            Evidence("prompt and generated tokens", "largest by smallest", round(work, 2), "ratio", "<=",
                     peers.SAME_WORK, name, Provenance.MEASURED),
        ),
        chart=ChartHint(("itl", "running", "generation_tokens"), {}),
        impact=Impact(f"one request in {len(chosen)} is {words.number(slow.ratio)} times as slow",
                      round(slow.ratio, 1), "x time a token", "means over the window"),
        remedies=(
            Remedy("Take the slow replica out of the router or lower its weight; routing by least "
                   "outstanding requests does this by itself.", "now",
                   expected="no request lands on the slow one", risk="the others carry its load",
                   undo="restore the weight"),
            Remedy("Recreate it on another node: if the fault moves along it is the configuration, else it "
                   "is the node.", "next-rollout", True, expected="tells hardware from configuration",
                   risk="a cold cache", undo="none"),
        ),
        do_not=(
            "Do not restart all replicas: the healthy ones lose their caches.",
            "Do not tune the scheduler of the slow one: its peers are well with the same flags.",
        ),
        refuted_by="Its prompts or answers are longer, or it was given more requests.",
        margin=min(1.0, slow.ratio / SLOWER - 1),
        weakest=max(facts.resolution[slow.replica], Resolution.PAIR),
        verify=(
            Request("itl", Stat.HIST_MEAN),
            Request("generation_tokens", Stat.INCREASE),
            Request("running", Stat.MEAN),
        ),
        explains=("decode-bound",),
        because="the same work, measured side by side",
    )  # fmt: skip


RULE = Rule(
    code="RTE003",
    slug="replica-outlier",
    title="One replica does the same work slower than its peers",
    family="fleet",
    concepts=("S18",),
    needs=(Need(("itl", "tpot")), Need(("requests_finished",)), Need(("generation_tokens",))),
    evaluate=evaluate,
    support=Support.REPORT,
    full=Resolution.PAIR,
    thresholds={"time a token by that of the peers": (SLOWER, "ratio"), "median gap by that of the peers":
                (SLOWER_MEDIAN, "ratio"), "largest by smallest work": (peers.SAME_WORK, "ratio"),},
)  # fmt: skip
