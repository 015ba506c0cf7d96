"""Clients hang up before their answers finish (S12).

Engines often do not count a hang-up: vLLM's abort counter stays 0. It shows as first tokens that are never followed by a
completion. Not this for requests that are still running at the end of the window.
"""

from __future__ import annotations

import numpy as np

from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.execute.sql import Array
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Answers that began and neither ended nor are in flight, by answers that began.
LOST_SHARE = 0.1
MIN_LOST = 10.0
MIN_FIRST_TOKENS = 20.0


def evaluate(facts: Facts) -> Outcome:
    """Compare first tokens with completions and what is in flight, and look at counted aborts."""
    began, lost = facts.column("ttft", Stat.HIST_COUNT), _lost(facts)
    if np.isnan(began).all() or np.isnan(lost).all():
        return Unanswered(
            Reason.NEEDS_TIME_SERIES,
            ("ttft", "requests_finished"),
            "save a second dump, or give a metrics API",
        )
    hit = (began >= MIN_FIRST_TOKENS) & (lost >= np.maximum(MIN_LOST, LOST_SHARE * began))
    return (
        Fired((_draft(facts, tuple(np.flatnonzero(hit).tolist()), lost, began),)) if hit.any() else Passed()
    )


def _lost(facts: Facts) -> Array:
    """Answers that began in the window and are gone: neither finished nor in flight; those a restart took left out."""
    began, ended = facts.column("ttft", Stat.HIST_COUNT), facts.increase("requests_finished")
    in_flight, most = facts.column("running", Stat.LAST), facts.column("running", Stat.MAX)
    # A request that was preempted waits again though its first token came.
    back_in_queue = np.where(
        np.nan_to_num(facts.increase("preemptions")) > 0,
        np.nan_to_num(facts.column("waiting", Stat.LAST)),
        0.0,
    )
    # Without the number running, what is in flight is unknown, and so is the answer: NaN, never 0.
    killed = np.array([len(c.restarts) for c in facts.courses]) * most
    aborted = np.nan_to_num(facts.increase("request_aborted"))
    return np.asarray(began - (ended - aborted) - in_flight - back_in_queue - killed)


def _draft(facts: Facts, hit: tuple[int, ...], lost: Array, began: Array) -> Draft:
    worst = max(hit, key=lambda i: float(lost[i]))
    share = float(lost[worst] / began[worst])
    counted = float(np.nan_to_num(facts.increase("request_aborted")[worst]))
    ttft = float(facts.hist_mean("ttft")[worst])
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=facts.rise(worst, "ttft", "requests_finished"),
        summary=f"Clients hang up: {words.number(float(lost[worst]))} of {words.number(float(began[worst]))} answers that began "
        f"never finished on {words.replicas(facts, hit)}",
        explanation=(
            f"First tokens run ahead of completions by more than what is in flight; the engine counted {words.number(counted)} "
            f"aborts. Mean time to first token is {words.seconds(ttft)}. The tokens made for a client that left are wasted, and "
            "an answer's latency is not recorded when it is cut, so the histograms look better than what users saw."
        ),
        evidence=(
            Evidence("ttft count less requests_finished and in flight", "answers lost", round(float(lost[worst])), "requests",
                     ">=", max(MIN_LOST, round(LOST_SHARE * float(began[worst]))), facts.entities[worst].label,
                     Provenance.MEASURED),
        ),
        chart=ChartHint(("ttft", "requests_finished", "running"), {}),
        impact=Impact(f"{words.percent(share)} of answers were made in vain", round(share, 3), "ratio",
                      "first tokens without a completion; how many tokens is not counted"),
        remedies=(
            Remedy(
                "Find who hangs up in the gateway's log (timeout, retry, closed tab) and raise a timeout that is shorter than "
                "an answer takes.",
                "now", expected="completions follow first tokens", risk="slow requests hold their connection longer",
                undo="restore the timeout",
            ),
            Remedy("Stream answers, so that a reader sees progress before a timeout.", "next-rollout",
                   expected="fewer clients give up", risk="none known"),
        ),
        do_not=("Do not trust the abort counter: it stays 0 when clients close the connection.",),
        refuted_by="Completions catch up with first tokens once no new request arrives.",
        margin=min(1.0, share / LOST_SHARE - 1),
        weakest=max(facts.resolution[worst], Resolution.PAIR),
        verify=(Request("ttft", Stat.HIST_COUNT), Request("requests_finished", Stat.INCREASE), Request("running", Stat.LAST)),
        because="first tokens, completions and requests in flight are counted",
    )  # fmt: skip


RULE = Rule(
    code="CLI002",
    slug="client-disconnects",
    title="Clients hang up before their answers finish",
    family="benchmark",
    concepts=("S12",),
    needs=(Need(("ttft",)), Need(("requests_finished",))),
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "answers lost by answers begun": (LOST_SHARE, "ratio"),
        "answers lost": (MIN_LOST, "requests"),
    },
)
