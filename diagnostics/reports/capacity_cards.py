"""The words and tables of a plan: pure functions from the plan to texts."""

from __future__ import annotations

from collections.abc import Iterable

from diagnostics.capacity.choice import GpuChoice
from diagnostics.capacity.inputs import FIELDS, STAGE, Field
from diagnostics.capacity.plan import Plan
from diagnostics.model.report import Known
from diagnostics.model.samples import Provenance
from diagnostics.reports.theme import duration, number, percent

_ROWS = 10
_HOW = {
    Provenance.MEASURED: "observed",
    Provenance.CONFIGURED: "configured",
    Provenance.INFERRED: "inferred",
    Provenance.LIFETIME: "observed since start",
    Provenance.ASSUMED: "assumed",
}


def mark(field: Field, entered: str, known: Known | None) -> str:
    """Where the value of an input comes from, in words."""
    if entered:
        return "entered"
    if known is not None:
        return f"{_HOW[known.provenance]}: {known.where}"
    return f"assumed: {field.assumed}" if field.assumed else ""


def figures(plan: Plan) -> tuple[tuple[str, str], ...]:
    """(what, value) of the figures that matter most; what is not known says so."""
    held, speed, cost = plan.concurrency, plan.speed, plan.cost
    rows = [
        (
            "KV cache of a replica" + (", as printed" if plan.kv_tokens_measured else ""),
            f"{plan.kv_tokens:,} tokens",
        ),
        ("safe together, no preemption", _count(None if held.safe is None else float(held.safe))),
        ("fit at mean length", _count(held.mean)),
    ]
    if speed is not None:
        rows.append((f"shortest step at {speed.batch} together", f"{number(1000 * speed.step_seconds)} ms"))
        rows.append(("compute-bound from a batch of", _count(speed.crossing_batch)))
        if speed.ceiling is not None:
            reached = "" if speed.efficiency is None else f", {percent(speed.efficiency)} reached"
            rows.append(
                (f"limit of all replicas ({speed.limited_by}){reached}", f"{number(speed.ceiling)} tokens/s")
            )
    if cost is not None:
        rows.append(("all GPUs", f"{money(cost.hourly)}/h"))
    return tuple(rows)


def costs(plan: Plan) -> tuple[tuple[str, str], ...]:
    """(what the bill is divided by, US dollars a million tokens); empty without a price."""
    cost = plan.cost
    if cost is None:
        return ()
    views = cost.measured
    rows = [
        ("output tokens, as measured", cost.measured_output),
        ("output and computed input, as measured", views.computed if views else None),
        ("output, computed and cached input, as measured", views.everything if views else None),
        ("output tokens at the limit, which no server reaches", cost.at_ceiling),
    ]
    return tuple((name, money(value)) for name, value in rows)


def cold_start(known: Iterable[Known]) -> tuple[tuple[str, str], ...]:
    """(stage, time) of the last start that a log shows, the longest first."""
    stages = [(k.name.removeprefix(STAGE), float(k.value)) for k in known if k.name.startswith(STAGE)]
    return tuple((name, duration(seconds)) for name, seconds in sorted(stages, key=lambda s: -s[1]))


def degrees(plan: Plan) -> tuple[tuple[str, str, str], ...]:
    """(degree, whether the model admits it, why or what to know)."""
    return tuple(
        (
            f"TP {o.degree}" + (" (in use)" if o.degree == plan.tp else ""),
            "yes" if o.valid else "no",
            "; ".join(o.reasons),
        )
        for o in plan.tp_options
    )


def choices(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Kinds of GPU that fit, best first: name, step, sequences, tokens/s, price an hour and a million tokens."""
    fitting = [c for c in plan.ranked if c.fits]
    own = [c for c in fitting[_ROWS:] if c.gpu.name == plan.request.gpu.name]
    return tuple(_choice(c) for c in [*fitting[:_ROWS], *own])


def _choice(choice: GpuChoice) -> tuple[str, ...]:
    return (
        f"{choice.count} x {choice.gpu.name}",
        "not known" if choice.step is None else f"{number(1000 * choice.step.seconds)} ms",
        _count(choice.concurrency),
        "not known" if choice.ceiling is None else number(choice.ceiling),
        _range(choice.hourly),
        _range(choice.usd_per_million),
    )


def fields_in(group: str) -> tuple[Field, ...]:
    """The inputs of one group."""
    return tuple(f for f in FIELDS if f.group == group)


def money(value: float | None) -> str:
    """US dollars with as many digits as matter."""
    if value is None:
        return "not known"
    return f"${value:,.2f}" if value >= 0.1 else f"${value:.4f}"


def _range(values: tuple[float, float] | None) -> str:
    if values is None:
        return "not known"
    low, high = values
    return money(low) if low == high else f"{money(low)} to {money(high)}"


def _count(value: float | None) -> str:
    return "not known" if value is None else f"{value:,.0f}"
