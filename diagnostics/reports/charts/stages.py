"""Where the time to first token goes: stages before and during the trouble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diagnostics.model.report import Report, TimeToFirstToken
from diagnostics.reports import escape
from diagnostics.reports.cards import STAGES
from diagnostics.reports.charts.base import LEGEND, figure, short_names
from diagnostics.reports.theme import ON_BRIGHT, Theme, duration

MAX_REPLICAS = 4
NAME = 20
ROW, FRAME = 34, 74
# A stage narrower than this share of the longest bar has no room for its name.
_NARROW = 0.13


def ttft_figure(report: Report, theme: Theme) -> Any | None:
    """Stacked bars of seconds by stage, two a replica, the slowest first; None without measurements."""
    chosen = slowest_first(report)
    named = len(report.time_to_first_token) > 1
    rows = [
        (f"{escape.markup(item.replica)} {when}" if named else when, stages)
        for item in chosen
        for when, stages in spells(item)
    ]
    if not rows:
        return None
    longest = max(sum(stages.values()) for _, stages in rows) or 1.0
    made = figure(theme, len(rows) * ROW + FRAME, barmode="stack", bargap=0.35)
    for stage, name in STAGES.items():
        if any(stages.get(stage) for _, stages in rows):
            made.add_bar(**_bars(stage, name, rows, longest, theme))
    for text, stages in rows:
        made.add_annotation(
            x=sum(stages.values()),
            y=text,
            text=f"<b>{duration(sum(stages.values()))}</b>",
            showarrow=False,
            xanchor="left",
            xshift=6,
            font={"color": theme.ink, "size": 13},
        )
    _axis(made, [text for text, _ in rows], chosen, theme)
    made.update_xaxes(
        range=[0, longest * 1.02],
        title={"text": "mean time to first token, seconds", "standoff": 10},
        nticks=6,
        fixedrange=True,
        rangemode="tozero",
    )
    made.update_layout(
        showlegend=True,
        margin={"r": 60, "t": 26, "b": 46},
        uniformtext={"minsize": 10, "mode": "hide"},
        legend=LEGEND | {"y": 1},
    )
    return made


def _axis(made: Any, rows: list[str], chosen: list[TimeToFirstToken], theme: Theme) -> None:
    """Rows told apart by whole names, labelled with short ones."""
    short = {escape.markup(n): text for n, text in short_names([t.replica for t in chosen], NAME).items()}
    made.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=rows[::-1],
        showgrid=False,
        tickfont={"size": 12, "color": theme.ink},
        rangemode="normal",
        ticks="",
        automargin=True,
        tickmode="array",
        tickvals=rows,
        ticktext=[
            f"{short[name]} {when}" if (name := row.rpartition(" ")[0]) in short else when
            for row in rows
            for when in [row.rpartition(" ")[2]]
        ],
    )


def slowest_first(report: Report) -> list[TimeToFirstToken]:
    """The few replicas that are shown, the slowest first."""
    return sorted(report.time_to_first_token, key=lambda t: -_total(t))[:MAX_REPLICAS]


def _total(item: TimeToFirstToken) -> float:
    return sum((item.during or item.before or {}).values())


def spells(item: TimeToFirstToken) -> Iterator[tuple[str, dict[str, float]]]:
    """(when, seconds by stage) of one replica; without trouble there is nothing to compare."""
    if item.before:
        yield ("before" if item.during else "mean"), item.before
    if item.during:
        yield "during", item.during


def _bars(
    stage: str, name: str, rows: list[tuple[str, dict[str, float]]], longest: float, theme: Theme
) -> dict[str, Any]:
    values = [stages.get(stage, 0.0) for _, stages in rows]
    return {
        "orientation": "h",
        "name": name,
        "y": [text for text, _ in rows],
        "x": values,
        "text": [f"{name} {duration(v)}" if v / longest >= _NARROW else "" for v in values],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"size": 12, "color": theme.on_strong if stage == "queue" else ON_BRIGHT},
        "customdata": [duration(v) for v in values],
        "hovertemplate": f"{name}: %{{customdata}}<extra></extra>",
        "marker": {"color": theme.stage(stage), "line": {"width": 0}},
    }
