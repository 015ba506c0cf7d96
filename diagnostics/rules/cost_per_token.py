"""Measured cost per million tokens at real utilisation (S11).

Price per hour by tokens produced in that hour. With a price given, the figure is a remark; it is louder only
when these same GPUs, while they were full, made tokens several times cheaper than on average. Without a price
nothing is said.
"""

from __future__ import annotations

import numpy as np

from diagnostics.capacity import cost
from diagnostics.execute import bench_cost, deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason, Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# ratio; average cost by the cost while full. Below three, ordinary swings of a day explain it.
MULTIPLE = 3.0
# s; shorter stretches under full load do not show what the GPUs reach.
MIN_FULL_SECONDS = 60.0
_FULL = (Regime.CAP, Regime.KV_MEMORY, Regime.TOKEN_BUDGET, Regime.QUEUEING)


def evaluate(facts: Facts) -> Outcome:
    """State the cost where a price is known and tokens were counted."""
    if facts.runs and not facts.has("generation_tokens").any():
        return bench_cost.outcome(facts)
    price = _price(facts)
    if price is None:
        return Unanswered(
            Reason.OPTION_NOT_GIVEN, ("price",), "give the price of one GPU and hour: --gpu-hourly 4.2"
        )
    start, end, made = facts.observed.start, facts.observed.end, facts.increase("generation_tokens")
    if start is None or end is None or end <= start or np.isnan(made).any():
        how = "give metrics over time, or two dumps with --interval"
        return Unanswered(Reason.NEEDS_TIME_SERIES, ("generation_tokens",), how)
    rate = float(np.sum(made)) / (end - start)
    return Fired((_draft(facts, price, rate, _full_rate(facts)),)) if rate > 0 else Passed()


def _price(facts: Facts) -> tuple[float, Provenance] | None:
    """Price of all GPUs of the deployment per hour."""
    processes = {e.replica: i for i, e in enumerate(facts.entities)}
    total = 0.0
    for i in processes.values():
        whole = facts.number(i, "price_hourly")
        if facts.options.gpu_hourly is None and whole is not None:
            return whole, Provenance.ASSUMED
        each = (
            facts.options.gpu_hourly
            if facts.options.gpu_hourly is not None
            else facts.number(i, "gpu_hourly")
        )
        if each is None:
            return None
        total += each * _gpu_count(facts, i)
    return (total, Provenance.ASSUMED) if processes else None


def _gpu_count(facts: Facts, i: int) -> float:
    """GPUs of one replica: as told, else by its parallel degrees, else one."""
    names = (deployment.TP_NAMES, deployment.PP_NAMES, ("data_parallel_size", "dp_size"))
    return facts.number(i, "gpu_count") or float(np.prod([facts.number(i, *n) or 1 for n in names]))


def _full_rate(facts: Facts) -> float | None:
    """Tokens a second of all replicas while each was full; None where one never was for long enough."""
    seconds = facts.seconds(*_FULL)
    made = facts.increase("generation_tokens", "saturated")
    if (seconds < MIN_FULL_SECONDS).any() or np.isnan(made).any():
        return None
    saturated = facts.seconds(*_FULL, Regime.PREEMPTING)
    return float(np.sum(made / saturated))


def _draft(facts: Facts, price: tuple[float, Provenance], rate: float, full: float | None) -> Draft:
    spent, hourly = cost.usd_per_million(price[0], rate), price[0]
    multiple = full / rate if full else None
    loud = multiple is not None and multiple >= MULTIPLE
    reach = (
        f" Under full load the same GPUs made {words.number(full)} tokens/s, "
        f"{cost.usd_per_million(hourly, full):.2f} a million: {words.number(multiple)} times cheaper."
        if full and multiple is not None and multiple > 1
        else " What these GPUs reach when full was not seen."
    )
    everyone = tuple(range(facts.size))
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.ADVICE,
        replicas=everyone,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"A million output tokens cost {spent:.2f} at the {words.number(rate)} output tokens/s "
                "measured",
        explanation=f"{hourly:.2f} an hour by output tokens of the time seen; prompt tokens are not counted, "
                    "and not by the card's peak."
        + reach,
        evidence=(
            Evidence("price by output tokens", "mean", round(spent, 4), "per million tokens", ">",
                     round(cost.usd_per_million(hourly, full), 4) if full else None, facts.names(everyone)[0],
                     price[1]),
            Evidence("generation_tokens", "increase a second", round(rate, 2), "tokens/s", ">", 0.0,
                     facts.names(everyone)[0],
                     Provenance.MEASURED),
        ),
        chart=ChartHint(("generation_tokens", "running")),
        impact=Impact(f"{spent:.2f} a million output tokens", round(spent, 4), "per million tokens",
                      "given price, measured tokens"),
        remedies=(
            Remedy("Scale in to what the load needs plus one, and move batch work into quiet "
                   "hours.", "now",
                   expected="cost falls with the replicas",
                   risk="a cold start at the next peak", undo="scale out"),
            Remedy("When planning: autoscale on waiting requests, and compare options at the load that still "
                   "meets the latency target.",
                   "capacity-plan", expected="less idle time is paid for", risk="cold starts"),
        ),
        do_not=("Do not drive utilisation to 100 % to lower the figure: past the knee there are no more "
                "tokens, only waiting.",),
        refuted_by="The price is for another number of GPUs, or this window is not a typical one.",
        margin=min(1.0, multiple / MULTIPLE) if multiple is not None else 0.5,
        weakest=min(facts.resolution, default=Resolution.SNAPSHOT),
        verify=(Request("generation_tokens", Stat.INCREASE),),
        because="tokens are counted, the price is given",
    )  # fmt: skip


RULE = Rule(
    code="CST001",
    slug="cost-per-token",
    title="Measured cost per million tokens at real utilisation",
    family="cost",
    concepts=("S11",),
    needs=(),
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "average cost by cost while full": (MULTIPLE, "ratio"),
        "time while full": (MIN_FULL_SECONDS, "s"),
    },
)
