"""Pictures of a plan: what one GPU's memory is spent on, and the limits of decoding with the measured point."""

from __future__ import annotations

import math
from typing import Any

from diagnostics.capacity.course import roofline
from diagnostics.capacity.hardware import GIB
from diagnostics.capacity.plan import Plan
from diagnostics.reports.charts.base import LEGEND, figure
from diagnostics.reports.theme import ON_BRIGHT, Theme, number


def memory_figure(plan: Plan, theme: Theme) -> Any:
    """One stacked bar of the four terms a GPU, with what the engine may use and what the card has."""
    budget = plan.budget
    terms = (
        ("weights", budget.weights, theme.stage_queue, theme.on_strong),
        ("activations", budget.activations, theme.stage_api_server, ON_BRIGHT),
        ("graphs and context", budget.graphs + budget.context, theme.stage_gateway, theme.ink),
        ("KV cache", budget.kv, theme.stage_prefill, ON_BRIGHT),
    )
    made = figure(theme, 150, barmode="stack")
    whole = max(budget.memory, sum(size for _, size, _, _ in terms)) / GIB
    for name, size, colour, ink in terms:
        text = f"{name} {number(size / GIB)} GiB"
        made.add_bar(
            orientation="h", y=["GPU"], x=[size / GIB], name=text, text=[text if size / GIB / whole > 0.16 else ""],
            textposition="inside", insidetextanchor="middle", textangle=0, textfont={"size": 12, "color": ink},
            marker={"color": colour, "line": {"width": 0}}, hovertemplate=f"{text}<extra></extra>",
        )  # fmt: skip
    for at, text, up in (
        (budget.usable, f"the engine may use {number(budget.usable / GIB)} GiB", 0),
        (budget.memory, f"card {number(budget.memory / GIB)} GiB", 16),
    ):
        made.add_vline(x=at / GIB, line={"color": theme.ink, "width": 1.4, "dash": "dash"})
        made.add_annotation(
            x=at / GIB, y=1, yref="paper", yanchor="bottom", xanchor="right", yshift=up, text=text, showarrow=False,
            font={"size": 12, "color": theme.ink},
        )  # fmt: skip
    made.update_xaxes(range=[0, whole * 1.04], nticks=5, ticksuffix=" GiB", fixedrange=True)
    made.update_yaxes(visible=False)
    made.update_layout(
        showlegend=True, legend=LEGEND | {"y": 0, "yref": "container"},
        margin={"l": 12, "r": 24, "t": 42, "b": 104}, height=240,
    )  # fmt: skip
    return made


def roofline_figure(plan: Plan, measured: tuple[float, float] | None, theme: Theme) -> Any | None:
    """Output tokens/s of a replica over the batch, both axes logarithmic; None where the model does not fit.

    Args:
        plan: the plan.
        measured: (requests running, output tokens/s) of one replica.
        theme: colours.
    """
    if plan.speed is None:
        return None
    points = roofline(plan)
    batches = [p.batch for p in points]
    made = figure(theme, 320)
    lines = [("reading weights and KV", [p.reading for p in points], theme.context, "dash")]
    if points[0].computing is not None:
        lines.append(("computing", [p.computing or 0.0 for p in points], theme.context, "dot"))
    lines.append(("limit", [p.limit for p in points], theme.strong, "solid"))
    for name, values, colour, dash in lines:
        made.add_scatter(
            x=batches, y=values, mode="lines", name=name, line={"color": colour, "dash": dash, "width": 2},
            hovertemplate="batch %{x}: %{y:,.0f} tokens/s<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    top = max(p.limit for p in points) * 2
    low = min(p.limit for p in points) / 2
    if measured is not None and measured[0] > 0 and measured[1] > 0:
        low = min(low, measured[1] / 2)
        made.add_scatter(
            x=[measured[0]], y=[measured[1]], mode="markers+text", name="measured", text=["measured"],
            textposition="bottom right", textfont={"color": theme.ink, "size": 12},
            marker={"size": 11, "color": theme.ink, "symbol": "diamond"},
            hovertemplate="measured: batch %{x:.3~g}, %{y:,.0f} tokens/s<extra></extra>",
        )  # fmt: skip
    ticks = [10.0**k for k in range(-3, 9)]
    made.update_xaxes(type="log", title={"text": "sequences that decode together", "standoff": 6}, fixedrange=True,
                      tickvals=[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024])  # fmt: skip
    made.update_yaxes(type="log", range=[math.log10(low), math.log10(top)], rangemode="normal", tickvals=ticks,
                      ticktext=[number(t) for t in ticks], title={"text": "output tokens/s of a replica"})  # fmt: skip
    made.update_layout(showlegend=True, legend=LEGEND | {"y": 1}, margin={"l": 70, "r": 16, "t": 30, "b": 46})
    return made
