"""A plan as compact text for a terminal."""

from __future__ import annotations

import textwrap

from diagnostics.capacity.choice import GpuChoice
from diagnostics.capacity.hardware import GIB
from diagnostics.capacity.parallelism import TpOption
from diagnostics.capacity.plan_types import Plan

_WIDTH = 100
_RANKED_ROWS = 8


def render_text(plan: Plan) -> str:
    """Write a plan as text, at most 100 columns wide.

    Args:
        plan: the plan.

    Returns:
        Lines that end in a newline; an unknown figure reads ``not known``, never 0.

    Source: S02, S20.
    """
    sections = [
        _title(plan),
        _list("Problems", plan.problems),
        _memory(plan),
        _concurrency(plan),
        _speed(plan),
        _cost(plan),
        _degrees(plan.tp_options),
        _gpus(plan),
        _list("Assumed", plan.assumptions),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines) + "\n"


def _number(value: float | None, form: str = ",.0f", unit: str = "") -> str:
    return "not known" if value is None else f"{value:{form}}{unit}"


def _significant(value: float) -> str:
    """Three significant digits where the number is small, whole numbers where it is large."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _money(value: float | None) -> str:
    return "not known" if value is None else f"${value:,.2f}" if value >= 0.1 else f"${value:.4f}"


def _a_million(value: float | None) -> str:
    """A price of output tokens with its unit."""
    return "not known" if value is None else f"{_money(value)} a million output tokens"


def _span(values: tuple[float, float] | None) -> str:
    if values is None:
        return "not known"
    low, high = values
    return _money(low) if low == high else f"{_money(low)}-{high:,.2f}"


def _list(heading: str, items: tuple[str, ...]) -> list[str]:
    lines = [heading] if items else []
    for item in items:
        lines += textwrap.wrap(item, _WIDTH, initial_indent="  - ", subsequent_indent="    ")
    return lines


def _title(plan: Plan) -> list[str]:
    shape, request = plan.request.shape, plan.request
    size = f"{_significant(shape.parameters / 1e9)}B parameters"
    if shape.active < shape.parameters:
        size += f" ({_significant(shape.active / 1e9)}B active)"
    model = f"{shape.name or 'Model'}, {size}, {plan.settings.stored.name}, KV cache {plan.settings.kv_dtype}"
    groups = f"{plan.replicas} replica{'s' if plan.replicas != 1 else ''} of TP {plan.tp}"
    return [model, f"on {request.gpu_count} x {request.gpu.name}: {groups}"]


def _memory(plan: Plan) -> list[str]:
    budget = plan.budget
    terms = [
        (f"memory x {budget.utilisation:g}", budget.usable),
        ("weights", -budget.weights),
        ("activations", -budget.activations),
        ("graphs", -budget.graphs),
        ("context", -budget.context),
        ("left for KV cache", budget.left),
    ]
    lines = ["Memory of one GPU"]
    lines += [f"  {label:<20}{value / GIB:>9.2f} GiB" for label, value in terms]
    source = "printed by the engine" if plan.kv_tokens_measured else "estimated"
    lines.append(
        f"  KV cache: {plan.kv_tokens:,} tokens a replica ({source}), "
        f"{plan.kv_bytes_per_token_per_gpu:,} bytes a token and GPU"
    )
    return lines


def _concurrency(plan: Plan) -> list[str]:
    figures = plan.concurrency
    return [
        "Sequences on one replica",
        f"  all at the longest length   {_number(figures.printed, ',.1f')}",
        f"  at mean length              {_number(figures.mean, ',.1f')}",
        f"  safe from preemption        {_number(figures.safe)}",
    ]


def _speed(plan: Plan) -> list[str]:
    speed = plan.speed
    if speed is None:
        return []

    def ms(seconds: float | None) -> str:
        return _number(None if seconds is None else seconds * 1e3, ".2f")

    lines = [
        f"Decoding, {speed.batch} sequence{'s' if speed.batch != 1 else ''} together",
        f"  step, at least   {ms(speed.step_seconds)} ms: read {ms(speed.floor.read_seconds)}, "
        f"compute {ms(speed.floor.compute_seconds)}, communication {ms(speed.communication)}",
        f"  compute-bound    from a batch of {_number(speed.crossing_batch)}",
    ]
    if speed.ceiling is not None and speed.usual is not None:
        low, high = speed.usual
        lines.append(
            f"  output tokens/s  {_significant(speed.ceiling)} at most (limit: {speed.limited_by}); "
            f"usual {_significant(low)} to {_significant(high)}"
        )
    if plan.request.measured_tokens_per_second is not None:
        measured = _significant(plan.request.measured_tokens_per_second)
        lines.append(f"  measured         {measured}, {_number(speed.efficiency, '.0%')} of the ceiling")
    return lines


def _cost(plan: Plan) -> list[str]:
    cost = plan.cost
    if cost is None:
        return []
    lines = [
        f"Cost, {_money(cost.hourly)} an hour",
        f"  at the ceiling   {_a_million(cost.at_ceiling)}; no server reaches it",
        f"  as measured      {_a_million(cost.measured_output)}",
    ]
    if cost.measured is not None:
        words = f"                   {_money(cost.measured.computed)} a million computed (input + output)"
        if plan.request.cached_prompt_share is not None:
            words += f", {_money(cost.measured.everything)} with cached input"
        lines.append(words)
    return lines


def _degrees(options: tuple[TpOption, ...]) -> list[str]:
    if len(options) < 2:
        return []
    lines = ["Tensor parallelism"]
    for option in options:
        word = "possible" if option.valid else "not possible"
        text = f"TP {option.degree}: {word}" + (f"; {'; '.join(option.reasons)}" if option.reasons else "")
        lines += textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="        ")
    return lines


def _gpus(plan: Plan) -> list[str]:
    fitting = [choice for choice in plan.ranked if choice.fits]
    if not plan.ranked:
        return []
    if not fitting:
        return ["GPUs that fit", "  none of the table, up to 8 together"]
    head = (
        f"  {'GPUs':<38}{'step ms':>9}{'sequences':>11}{'tokens/s':>10}{'$ an hour':>14}{'$ a million':>14}"
    )
    lines = ["GPUs that fit, best first", head.rstrip()]
    lines += [_row(choice) for choice in fitting[:_RANKED_ROWS]]
    own = plan.request.gpu.name
    lines += [_row(choice) for choice in fitting[_RANKED_ROWS:] if choice.gpu.name == own]
    if (more := len(fitting) - len(lines) + 2) > 0:
        lines.append(f"  and {more} more; {len(plan.ranked) - len(fitting)} kinds do not fit")
    return lines


def _row(choice: GpuChoice) -> str:
    step = None if choice.step is None else choice.step.seconds * 1e3
    return (
        f"  {f'{choice.count} x {choice.gpu.name}':<38}{_number(step, '.2f'):>9}"
        f"{_number(choice.concurrency, ',.0f'):>11}{_number(choice.ceiling, ',.0f'):>10}"
        f"{_span(choice.hourly):>14}{_span(choice.usd_per_million):>14}"
    )
