"""What a million output tokens cost at the loads of a benchmark, as the finding of a rule."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.cost import usd_per_million
from diagnostics.execute import bench, bench_knee, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution


class Bill(Struct, frozen=True):
    """Price an hour of all GPUs of a run, where it comes from, and the level with the most output."""

    run: BenchRun
    hourly: float
    source: Provenance
    step: BenchStep
    counted: bool

    @property
    def cost(self) -> float:
        """Price of a million output tokens at the level."""
        return usd_per_million(self.hourly, self.step.output_tps or 0.0)


def outcome(facts: Facts) -> Outcome:
    """State the cost of the run that makes tokens cheapest; never louder than a remark."""
    runs = [r for r in bench.measured(facts) if any(s.output_tps for s in bench.levels(r))]
    bills = [b for r in runs if (b := bill(facts, r)) is not None]
    if bills:
        return Fired((_draft(facts, min(bills, key=lambda b: b.cost)),))
    if not runs:
        how = "give a result with output tokens per second, and the price: --gpu-hourly 4.2"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("output tokens per second",), how)
    return Unanswered(
        Reason.OPTION_NOT_GIVEN, ("price",), "give the price of one GPU and hour: --gpu-hourly 4.2"
    )


def gpus_of(run: BenchRun) -> int | None:
    """How many GPUs a run used, None where nothing tells it."""
    if run.gpus is None and run.tp is None and run.pp is None and run.dp is None:
        return None
    return run.gpus or (run.tp or 1) * (run.pp or 1) * (run.dp or 1) * (run.replicas or 1)


def bill(facts: Facts, run: BenchRun) -> Bill | None:
    """The bill of a run; None without a price."""
    asked = facts.options.gpu_hourly
    each = asked if asked is not None else run.gpu_hourly
    if each is None:
        return None
    known = gpus_of(run)
    count = known or 1
    source = Provenance.CONFIGURED if asked is not None and known is not None else Provenance.ASSUMED
    best = max((s for s in bench.levels(run) if s.output_tps), key=lambda s: s.output_tps or 0.0)
    return Bill(run, each * count, source, best, known is not None)


def _at_slo(facts: Facts, bill: Bill) -> str:
    """The cost at the highest load that meets the SLOs, in words; empty without SLOs."""
    slo = facts.options.slo
    met = [s for s in bench.levels(bill.run) if s.output_tps and bench_knee.meets(s, slo)] if slo else []
    if not met:
        return ""
    step = max(met, key=lambda s: s.output_tps or 0.0)
    cost = usd_per_million(bill.hourly, step.output_tps or 0.0)
    return f" At the highest load that meets the SLO ({bench.load(step) or 'this one'}) it is {cost:.2f}."


def _draft(facts: Facts, bill: Bill) -> Draft:
    rate, load = bill.step.output_tps or 0.0, bench.load(bill.step)
    knee = bench_knee.of_run(bill.run)
    place = f" The knee of the sweep lies at about {knee.bad.load:g} {knee.unit}." if knee else (
        " How far this load is from the knee was not measured."
    )  # fmt: skip
    gpus = "" if bill.counted else " The number of GPUs is not in the result; one is assumed."
    source = bill.run.price_basis if facts.options.gpu_hourly is None else "the price that was given"
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"A million output tokens cost {bill.cost:.2f} at the {words.number(rate)} output tokens/s measured"
        f"{f' at {load}' if load else ''}",
        explanation=f"{bill.hourly:.2f} an hour by the output tokens of the benchmark; prompt tokens are not counted.{place}"
        f"{_at_slo(facts, bill)}{gpus} Production's utilisation is lower than a benchmark's, so its tokens cost more.",
        evidence=(
            bench.evidence(bill.run, bill.step, "price by output tokens", "mean", bill.cost, "per million tokens", ">", 0.0,
                           bill.source),
            bench.evidence(bill.run, bill.step, "output tokens", "a second", rate, "tokens/s", ">", 0.0),
        ),
        chart=ChartHint(("generation_tokens",), {}),
        impact=Impact(f"{bill.cost:.2f} a million output tokens", round(bill.cost, 4), "per million tokens", source or ""),
        remedies=(
            Remedy("When planning, take the cost at the load that still meets the latency target, and multiply by the share "
                   "of the day that has that load.", "capacity-plan", expected="a figure that holds for production"),
        ),
        do_not=("Do not compare with a price for all tokens, prompt included.",),
        refuted_by="The price is for another number of GPUs.",
        margin=0.5,
        weakest=Resolution.RANGE,
        because="tokens are counted, the price is given",
    )  # fmt: skip
