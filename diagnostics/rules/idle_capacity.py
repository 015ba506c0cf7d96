"""Replicas are mostly idle and still paid for (S11).

A GPU costs the same whether it makes tokens or not, so the cost of a token grows as utilisation falls. Not a fault of the
server, and not said of an engine that just started.
"""

from __future__ import annotations

import numpy as np

from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance

# Share of the time without any request.
IDLE_SHARE = 0.8
# s; shorter quiet is a pause.
MIN_SECONDS = 60.0
# s; from so long on, with a known price, it is more than a remark.
HOURS = 2 * 3600.0


def evaluate(facts: Facts) -> Outcome:
    """Fire for replicas without work for most of the time."""
    share, seconds = facts.share(Regime.IDLE), facts.seconds(Regime.IDLE)
    hit = tuple(np.flatnonzero((share >= IDLE_SHARE) & (seconds >= MIN_SECONDS)).tolist())
    return Fired((_draft(facts, hit),)) if hit else Passed()


def _draft(facts: Facts, hit: tuple[int, ...]) -> Draft:
    worst = max(hit, key=lambda i: facts.courses[i].seconds(Regime.IDLE))
    seconds = facts.courses[worst].seconds(Regime.IDLE)
    share = facts.courses[worst].share(Regime.IDLE)
    hourly = facts.options.gpu_hourly
    loud = hourly is not None and seconds >= HOURS
    cost = f", about {hourly * seconds / 3600:.2f} per GPU in this time" if hourly is not None else ""
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.ADVICE,
        replicas=hit,
        window=facts.window(hit, Regime.IDLE),
        summary=f"No request for {words.seconds(seconds)} on {words.replicas(facts, hit)}{cost}",
        explanation=f"{words.percent(share)} of the time seen had no request. The server is up and fine; the GPU is paid for.",
        evidence=(
            Evidence("running", "share of time at 0", round(share, 3), "ratio", ">=", IDLE_SHARE, facts.entities[worst].label,
                     Provenance.MEASURED),
        ),
        chart=ChartHint(("running", "generation_tokens"), {}),
        impact=Impact(f"paid and unused{cost}", round(hourly * seconds / 3600, 2) if hourly is not None else None, "per GPU",
                      "given price by idle time"),
        remedies=(
            Remedy("Scale to fewer replicas in quiet hours, if their start is fast enough for the next peak.", "capacity-plan",
                   expected="cost falls with replicas", risk="requests wait for a cold start at the next peak",
                   undo="raise the minimum again"),
        ),
        do_not=("Do not scale to zero without knowing how long a cold start takes.",),
        refuted_by="Traffic goes to this replica at other hours.",
        margin=1.0,
        verify=(Request("running", Stat.MAX), Request("generation_tokens", Stat.INCREASE)),
        because="no request in any scrape",
    )  # fmt: skip


RULE = Rule(
    code="SCH009",
    slug="idle-capacity",
    title="Replicas are mostly idle and still paid for",
    family="scheduler",
    concepts=("S11",),
    needs=(Need(("running",)),),
    evaluate=evaluate,
    thresholds={
        "share of time without a request": (IDLE_SHARE, "ratio"),
        "without a request": (MIN_SECONDS, "s"),
    },
)
