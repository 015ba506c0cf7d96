"""What all charts share: layout, time axis, the shaded incident, lines with their name at the end."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from msgspec import Struct
from numpy.typing import NDArray

from diagnostics.model.report import Diagnosis, Report, SignalSeries
from diagnostics.reports import escape
from diagnostics.reports.cards import primary
from diagnostics.reports.ribbon import sickness
from diagnostics.reports.theme import FONT, Theme

# A step this many times longer than usual is a gap in the data, and drawn as one.
GAP_STEPS = 3.5
# More lines than this are not labelled one by one.
LABELLED = 4
# More lines of context than this are drawn as one band.
MAX_LINES = 8
# Room for names on the left, for what a line is called on the right.
LEFT, RIGHT = 92, 84
# Below this many seconds, minutes alone would repeat themselves on the axis.
_SHORT = 15 * 60.0
# A stretch that covers nearly everything is not shaded: there is nothing to tell it from.
_WHOLE = 0.97
# Steps between the marks of an axis of shares.
_SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
CLEAR = "rgba(0,0,0,0)"
# A line of names; clicking on one would hide what the page speaks of.
LEGEND: dict[str, Any] = {
    "orientation": "h",
    "x": 0,
    "yanchor": "bottom",
    "font": {"size": 12},
    "itemclick": False,
    "itemdoubleclick": False,
    "traceorder": "normal",
}


class Line(Struct, frozen=True, eq=False):
    """One line of a chart: times as milliseconds, gaps as NaN."""

    replica: str
    signal: str
    unit: str
    times: NDArray[np.float64]
    values: NDArray[np.float64]


def line(series: SignalSeries) -> Line:
    """A series as a line, with a gap wherever scrapes are missing."""
    times, values = np.asarray(series.times, np.float64), np.asarray(series.values, np.float64)
    if len(times) > 2:
        steps = np.diff(times)
        breaks = np.flatnonzero(steps > GAP_STEPS * np.median(steps))
        times = np.insert(times, breaks + 1, (times[breaks] + times[breaks + 1]) / 2)
        values = np.insert(values, breaks + 1, np.nan)
    return Line(series.replica, series.signal, series.unit, np.round(times * 1000), values)


def lines(diagnosis: Diagnosis, signal: str, replicas: Iterable[str] | None = None) -> list[Line]:
    """The lines of one signal, for some replicas or all."""
    wanted = None if replicas is None else set(replicas)
    return [
        line(s)
        for s in diagnosis.series
        if s.signal == signal and (wanted is None or s.replica in wanted) and np.isfinite(s.values).any()
    ]


def label(text: str, limit: int = 28) -> str:
    """Text that a figure may show: Plotly reads some HTML, so none is left; long names keep both ends."""
    plain = escape.terminal(text)
    if len(plain) > limit:
        plain = plain[: limit // 2] + "…" + plain[-(limit - limit // 2 - 1) :]
    return escape.markup(plain)


def short_names(names: Sequence[str], limit: int) -> dict[str, str]:
    """A label for each name; where names are too long, the port or domain that all share is left out."""
    backwards = [n[::-1] for n in names] if len(set(names)) > 1 else []
    shared = os.path.commonprefix(backwards)[::-1]  # noqa: RUF071  letter by letter is what is meant
    cut = min((i for i in (shared.find("."), shared.find(":")) if i >= 0), default=len(shared))
    tail = len(shared) - cut
    return {n: label(n[: len(n) - tail] if tail and len(n) > limit else n, limit) for n in names}


def worst_first(report: Report) -> list[str]:
    """Names of the replicas, the one that was longest under a limit first."""
    return [r.replica for r in sorted(report.regimes, key=sickness)]


def incident(report: Report) -> tuple[float, float] | None:
    """The stretch that the verdict is about, Unix seconds."""
    first = primary(report)
    if first is None or first.window.start is None or first.window.end is None:
        return None
    return first.window.start, first.window.end


def figure(theme: Theme, height: int, **layout: Any) -> Any:
    """An empty figure in the theme's type and colours, on a clear ground."""
    made = go.Figure()
    style(made, theme, height, **layout)
    return made


def style(made: Any, theme: Theme, height: int, **layout: Any) -> None:
    """Give a figure the theme's type and colours."""
    made.update_layout(
        template="none", height=height, autosize=True, paper_bgcolor=CLEAR, plot_bgcolor=CLEAR,
        showlegend=False, dragmode="zoom", font={"family": FONT, "size": 12, "color": theme.muted},
        margin={"l": LEFT, "r": RIGHT, "t": 14, "b": 34},
        hoverlabel={"bgcolor": theme.panel, "bordercolor": theme.line,
                    "font": {"color": theme.ink, "family": FONT}},
        **layout,
    )  # fmt: skip
    made.update_xaxes(
        showgrid=False,
        zeroline=False,
        linecolor=theme.line,
        tickcolor=theme.line,
        ticks="outside",
        ticklen=4,
        title_font_size=12,
    )
    made.update_yaxes(
        gridcolor=theme.line,
        zeroline=False,
        rangemode="tozero",
        nticks=4,
        title_font_size=12,
        fixedrange=True,
    )


def time_axis(made: Any, report: Report, theme: Theme) -> None:
    """The same stretch of time on every chart, in UTC."""
    window, span, form = report.window, {}, "%H:%M"
    if window.start is not None and window.end is not None and window.end > window.start:
        span = {"range": [window.start * 1000, window.end * 1000]}
        form = "%H:%M:%S" if window.end - window.start < _SHORT else "%H:%M"
    made.update_xaxes(type="date", tickformat=form, hoverformat="%H:%M:%S UTC", nticks=7, tickangle=0, **span)
    # Whoever shows several figures can keep their time axes together.
    made.update_layout(meta={"time": True})
    made.add_annotation(
        text="UTC", xref="paper", yref="paper", x=1, y=0, xanchor="left", yanchor="top", xshift=30, yshift=-6,
        showarrow=False, font={"size": 12, "color": theme.muted},
    )  # fmt: skip


def share_ticks(top: float) -> dict[str, Any]:
    """Marks of an axis of shares up to ``top``, written as everywhere: 20 %."""
    step = next((s for s in _SHARES if top / s <= 4), _SHARES[-1])
    marks = [i * step for i in range(int(top / step) + 1)] if top > 0 else [0.0]
    return {"tickvals": marks, "ticktext": [f"{100 * m:.3g} %" for m in marks]}


def shade(made: Any, report: Report, stretch: tuple[float, float] | None, theme: Theme) -> None:
    """Shade a stretch of time over the full height, in every row."""
    if stretch is None:
        return
    window = report.window
    if window.start is not None and window.end is not None:
        inside = min(stretch[1], window.end) - max(stretch[0], window.start)
        if inside >= _WHOLE * (window.end - window.start):
            return
    made.add_shape(
        type="rect", xref="x", yref="paper", x0=stretch[0] * 1000, x1=stretch[1] * 1000, y0=0, y1=1,
        fillcolor=theme.shade, line_width=0, layer="below",
    )  # fmt: skip


def last_point(item: Line) -> tuple[float, float] | None:
    """Where the name of a line goes."""
    known = np.flatnonzero(np.isfinite(item.values))
    return (float(item.times[known[-1]]), float(item.values[known[-1]])) if len(known) else None


def spread(heights: Sequence[float], least: float) -> list[float]:
    """Heights moved apart until neighbours are ``least`` from each other, order kept."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = list(heights)
    for before, after in itertools.pairwise(order):
        placed[after] = max(placed[after], placed[before] + least)
    return placed
