"""The replicas of a fleet side by side: one row a measure, one dot a replica.

All rows share one axis, multiples of the fleet's mean: equal requests are a narrow row, unequal work a wide
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from diagnostics.model.report import Diagnosis
from diagnostics.reports.charts.base import figure, label, short_names, worst_first
from diagnostics.reports.theme import Theme, format_value

ROW, FRAME = 54, 64
_TOKENS = ("prompt_tokens", "generation_tokens")
# (name, signals that are added, unit, the least mean of the fleet that is worth a row)
MEASURES: tuple[tuple[str, tuple[str, ...], str, float], ...] = (
    ("requests", ("requests_finished",), "requests/s", 0.0),
    ("tokens", _TOKENS, "tokens/s", 0.0),
    ("running", ("running",), "requests", 0.0),
    ("KV cache", ("kv_usage",), "ratio", 0.0),
    ("queue wait", ("queue_time",), "s", 0.01),
)


class Row(Struct, frozen=True):
    """One measure of every replica."""

    name: str
    unit: str
    values: dict[str, float]


def fleet_figures(diagnosis: Diagnosis, theme: Theme) -> list[Any]:
    """One figure with all measures; none for a single replica, where there is nothing to compare."""
    rows = [row for row in _rows(diagnosis) if len(row.values) > 1]
    if not rows:
        return []
    made = figure(theme, len(rows) * ROW + FRAME)
    widest = 2.0
    for row in rows:
        mean = sum(row.values.values()) / len(row.values)
        relative = {name: value / mean for name, value in row.values.items()}
        widest = max(widest, *relative.values())
        _dots(made, row, relative, _loud(diagnosis), theme)
    names = [row.name for row in rows]
    made.update_yaxes(
        type="category", categoryorder="array", categoryarray=names[::-1], rangemode="normal",
        tickfont={"size": 12, "color": theme.ink}, ticks="",
        range=[-0.6, len(rows) - 0.4], tickmode="array", tickvals=names, showgrid=False,
    )  # fmt: skip
    made.update_xaxes(
        range=[-0.05 * widest, widest * 1.05],
        tickvals=_ticks(widest),
        fixedrange=True,
        title={"text": "times the mean of the replicas", "standoff": 10},
    )
    made.add_vline(x=1, layer="below", line={"color": theme.context, "width": 1, "dash": "dot"})
    made.update_layout(margin={"t": 10, "r": 24, "b": 50})
    return [made]


def _loud(diagnosis: Diagnosis) -> set[str]:
    """The replica that a finding is about first, or the worst: it is drawn strong."""
    report = diagnosis.report
    named = next((f.scope.replicas for f in report.findings if len(f.scope.replicas) > 0), ())
    return set((named or tuple(worst_first(report)))[:1])


def _rows(diagnosis: Diagnosis) -> Iterator[Row]:
    """Means over the whole window; a measure that is nought everywhere says nothing."""
    for name, signals, unit, least in MEASURES:
        values: dict[str, float] = {}
        for series in diagnosis.series:
            if series.signal in signals and math.isfinite(series.mean):
                values[series.replica] = values.get(series.replica, 0.0) + series.mean
        if values and sum(values.values()) > least * len(values):
            yield Row(name, unit, values)


def _ticks(widest: float) -> list[float]:
    step = 0.5 if widest <= 3 else 1.0 if widest <= 6 else 5.0
    return [step * i for i in range(int(widest / step) + 1)]


def _dots(made: Any, row: Row, relative: dict[str, float], loud: set[str], theme: Theme) -> None:
    order = sorted(relative, key=lambda name: (name in loud, relative[name]))
    ends = {min(relative, key=lambda n: relative[n]), max(relative, key=lambda n: relative[n])}
    low, high = min(relative.values()), max(relative.values())
    short = short_names(list(relative), 14)
    made.add_scatter(
        x=[low, high],
        y=[row.name] * 2,
        mode="lines",
        hoverinfo="skip",
        line={"width": 5, "color": theme.line},
    )
    made.add_scatter(
        x=[relative[n] for n in order], y=[row.name] * len(order), mode="markers+text",
        text=[f"{short[n]} {format_value(row.values[n], row.unit)}" if n in ends else "" for n in order],
        textposition=["top right" if relative[n] == low else "bottom left" for n in order],
        textfont={"size": 12, "color": theme.muted}, cliponaxis=False,
        customdata=[[label(n), format_value(row.values[n], row.unit)] for n in order],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
        marker={"size": 11, "color": [theme.strong if n in loud else theme.context for n in order],
                "symbol": ["diamond" if n in loud else "circle" for n in order],
                "line": {"width": 1, "color": theme.panel}},
    )  # fmt: skip
