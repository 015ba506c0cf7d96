"""Panels above each other on one time axis: one signal each, the strong line named at its end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from plotly.subplots import make_subplots

from diagnostics.model.report import Report
from diagnostics.reports.charts.band import band
from diagnostics.reports.charts.base import (
    LABELLED,
    MAX_LINES,
    Line,
    label,
    last_point,
    share_ticks,
    short_names,
    spread,
    style,
    time_axis,
    worst_first,
)
from diagnostics.reports.theme import Theme, format_value

PANEL = 84
_GAP = 31
# Strong lines beside the band of a large fleet.
BESIDE_BAND = 2
# Room for the numbers of an axis.
AXIS = 50
# Lines that share a panel without being the deciding one differ in their dashes, not in colour alone.
_DASHES = ("solid", "dash", "dot", "dashdot")


class Limit(Struct, frozen=True):
    """A threshold of a panel and where it was learnt."""

    value: float
    text: str


class Panel(Struct, frozen=True):
    """One signal. ``strong`` lines decide, ``context`` lines are thin and grey."""

    title: str
    unit: str
    strong: list[Line]
    context: list[Line]
    limits: tuple[Limit, ...] = ()
    filled: bool = False
    deciding: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


def pick(report: Report, found: list[Line], wanted: Sequence[str] = ()) -> tuple[list[Line], list[Line]]:
    """The strong lines, of the replicas asked for or the worst, never more than get names; and the others."""
    asked = set(wanted)
    order = [*wanted, *(name for name in worst_first(report) if name not in asked)]
    rank = {name: i for i, name in enumerate(order)}
    ranked = sorted(found, key=lambda item: rank.get(item.replica, len(rank)))
    meant = sum(item.replica in asked for item in ranked)
    count = meant or (len(ranked) if len(ranked) <= LABELLED else 1)
    count = min(count, LABELLED if len(ranked) <= MAX_LINES else BESIDE_BAND)
    return ranked[:count], ranked[count:]


def panels(report: Report, shown: list[Panel], theme: Theme, heights: list[float]) -> Any:
    """All panels as one figure; ``heights`` are relative, 1 is an ordinary panel."""
    total = PANEL * sum(heights) + _GAP * len(shown) + 24
    made = make_subplots(
        rows=len(shown), cols=1, shared_xaxes=True, row_heights=heights, vertical_spacing=_GAP / total
    )
    style(made, theme, round(total))
    notes: list[dict[str, Any]] = []
    for row, panel in enumerate(shown, start=1):
        made.add_traces([_on(row, trace) for trace in _traces(panel, theme)])
        _axis(made, panel, row, theme)
        notes += [
            {
                "xref": f"{_axis_name('x', row)} domain",
                "yref": _axis_name("y", row),
                "showarrow": False,
                "xanchor": "left",
            }
            | note
            for note in (
                *_names(panel, heights[row - 1], theme),
                *(_limit_note(limit, theme) for limit in panel.limits),
                _title(panel, theme) | {"yref": f"{_axis_name('y', row)} domain"},
            )
        ]
    made.update_layout(
        annotations=notes,
        shapes=[_limit_line(x, row, theme) for row, panel in enumerate(shown, 1) for x in panel.limits],
        margin={"l": AXIS, "t": 28, "b": 30},
        hovermode="x unified",
    )
    time_axis(made, report, theme)
    return made


def _axis_name(letter: str, row: int) -> str:
    """How Plotly calls the axis of a row: the first one has no number."""
    return letter if row == 1 else f"{letter}{row}"


def _on(row: int, trace: dict[str, Any]) -> dict[str, Any]:
    return {"xaxis": _axis_name("x", row), "yaxis": _axis_name("y", row)} | trace


def _traces(panel: Panel, theme: Theme) -> Iterator[dict[str, Any]]:
    if len(panel.context) > MAX_LINES:
        yield from _band(panel, theme)
    else:
        for item in panel.context:
            yield _trace(item, {"width": 1, "color": theme.context}, opacity=0.8)
    for i, item in enumerate(panel.strong):
        colour = theme.strong if panel.deciding else theme.context
        line = {"width": 2.4 if panel.deciding else 1.4, "color": colour, "dash": _DASHES[i % len(_DASHES)]}
        fill = (
            {"fill": "tozeroy", "fillcolor": theme.shade} if panel.filled and len(panel.strong) == 1 else {}
        )
        yield _trace(item, line, **fill)


def _band(panel: Panel, theme: Theme) -> Iterator[dict[str, Any]]:
    """All the context of a large fleet: the area between its extremes, and its middle."""
    made = band(panel.context)
    xs, ys = made.outline()
    area = {
        "fill": "toself",
        "fillcolor": theme.context,
        "opacity": 0.3,
        "line": {"width": 0},
        "hoverinfo": "skip",
    }
    yield {"type": "scatter", "mode": "lines", "x": xs, "y": ys, "name": "others", **area}
    value = _value(panel.unit)
    yield {
        "type": "scatter",
        "mode": "lines",
        "x": made.times,
        "y": made.middle,
        "name": f"middle of {made.count} others",
        "connectgaps": False,
        "line": {"width": 1, "color": theme.context},
        "hovertemplate": f"{value}<extra>%{{fullData.name}}</extra>",
    }


def _trace(item: Line, line: dict[str, Any], **more: Any) -> dict[str, Any]:
    shape = "hv" if item.unit == "0/1" else "linear"
    return {
        "type": "scatter",
        "mode": "lines",
        "x": item.times,
        "y": item.values,
        "connectgaps": False,
        "name": label(item.replica),
        "line": line | {"shape": shape},
        "hovertemplate": f"{_value(item.unit)}<extra>%{{fullData.name}}</extra>",
    } | more


def _axis(made: Any, panel: Panel, row: int, theme: Theme) -> None:
    """The y axis: from zero, shares as percent, with room for the limit."""
    tops = [float(np.nanmax(item.values)) for item in (*panel.strong, *panel.context)]
    top = max([*tops, *(limit.value for limit in panel.limits)], default=1.0)
    settings: dict[str, Any] = {"range": [0, top * 1.12 if top > 0 else 1.0]}
    if panel.unit == "ratio":
        settings |= share_ticks(top)
    elif top <= 0:
        settings |= {"tickvals": [0]}
    if panel.unit == "0/1":
        settings = {"range": [-0.08, 1.15], "tickvals": [0, 1], "ticktext": ["down", "up"]}
    made.update_yaxes(row=row, col=1, tickfont_color=theme.muted, **settings)


def _value(unit: str) -> str:
    """A value as it is shown under the pointer."""
    if unit == "ratio":
        return "%{y:.1%}"
    return "%{y:.4~g}" + ("" if unit == "0/1" else f" {unit}")


def _names(panel: Panel, height: float, theme: Theme) -> Iterator[dict[str, Any]]:
    """Names at the ends of the strong lines, moved apart; a lone line tells its highest value instead."""
    both = (*panel.strong, *panel.context)
    named = both if len(both) <= LABELLED else panel.strong
    placed = [(item, end) for item in named if (end := last_point(item)) is not None]
    top = max((float(np.nanmax(i.values)) for i in both), default=0.0) or 1.0
    ys = spread([end[1] for _, end in placed], top * 17 / (PANEL * height))
    alone = len(both) == 1
    short = short_names([i.replica for i in both], 12)
    if panel.unit == "0/1" and alone:
        return
    for (item, _), y in zip(placed, ys, strict=True):
        highest = float(np.nanmax(item.values))
        text = f"max {format_value(highest, _short(item.unit))}" if alone else short[item.replica]
        yield {
            "x": 1,
            "y": highest if alone else y,
            "text": text,
            "xshift": 6,
            "font": {
                "size": 12,
                "color": theme.strong if panel.deciding and item in panel.strong else theme.muted,
            },
        }


def _short(unit: str) -> str:
    return unit if unit in ("ratio", "s") else ""


def _limit_line(limit: Limit, row: int, theme: Theme) -> dict[str, Any]:
    return {
        "type": "line",
        "xref": f"{_axis_name('x', row)} domain",
        "yref": _axis_name("y", row),
        "x0": 0,
        "x1": 1,
        "y0": limit.value,
        "y1": limit.value,
        "line": {"color": theme.ink, "width": 1.2, "dash": "dash"},
    }


def _limit_note(limit: Limit, theme: Theme) -> dict[str, Any]:
    return {
        "x": 0,
        "y": limit.value,
        "text": label(limit.text, 80),
        "yanchor": "bottom",
        "xshift": 4,
        "font": {"size": 12, "color": theme.ink},
    }


def _title(panel: Panel, theme: Theme) -> dict[str, Any]:
    """The name and unit above the panel's left edge: read before the line, and no rotated text."""
    weight = f"<b>{panel.title}</b>" if panel.deciding else panel.title
    unit = {"ratio": "share", "0/1": "", "s": "seconds"}.get(panel.unit, panel.unit)
    return {
        "x": 0,
        "y": 1,
        "text": f"{weight}{f', {unit}' if unit else ''}",
        "yanchor": "bottom",
        "yshift": 3,
        "font": {"size": 12, "color": theme.ink},
    }
