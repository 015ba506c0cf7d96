"""Figures on a page: the shared type, the chosen stretch of time, and the brush that chooses one."""

from __future__ import annotations

from functools import partial
from typing import Any

import streamlit as st

from app import state
from app.style import PAGE_FONT
from diagnostics.reports.theme import Theme

_CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}


def theme() -> Theme:
    """The theme of the viewer's page."""
    return Theme.DARK if st.context.theme.type == "dark" else Theme.LIGHT


def show(figure: Any | None, key: str, chosen: state.Selection, *, brush: bool = False, alt: str = "") -> None:
    """Draw a figure; None draws a line that says so.

    Args:
        figure: a Plotly figure, made for this run.
        key: unique on the page.
        chosen: the stretch of time that every chart with a time axis shows.
        brush: whether dragging, or clicking a bar, chooses a stretch.
        alt: what the picture shows, for who cannot see it.
    """
    if figure is None:
        st.caption("Nothing to draw: the inputs carry no course over time for this.")
        return
    figure.update_layout(font_family=PAGE_FONT)
    if chosen.window is not None:
        span = [1000 * t for t in chosen.window]
        figure.for_each_xaxis(lambda axis: axis.update(range=span), selector={"type": "date"})
    if not brush:
        st.plotly_chart(figure, theme=None, key=key, config=_CONFIG, alt=alt or None)
        return
    figure.update_layout(dragmode="select", selectdirection="h", clickmode="event+select")
    figure.update_traces(selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}}, selector={"type": "bar"})
    full_key = f"{key}-{chosen.start}-{chosen.end}"
    st.plotly_chart(
        figure, theme=None, key=full_key, config=_CONFIG, alt=alt or None, selection_mode=("box", "points"),
        on_select=partial(_brushed, full_key, figure),
    )  # fmt: skip


def _brushed(key: str, figure: Any) -> None:
    event = st.session_state.get(key)
    stretch = stretch_of(event.get("selection", {}) if event else {}, figure)
    if stretch is not None and stretch[1] - stretch[0] >= 1:
        state.choose_window(*stretch)


def stretch_of(selection: Any, figure: Any) -> tuple[float, float] | None:
    """The stretch of time of a brush or of a clicked bar, Unix seconds."""
    for box in selection.get("box", ()):
        moments = [m for m in (state.moment(x) for x in box.get("x", ())) if m is not None]
        if len(moments) >= 2:
            return min(moments), max(moments)
    for point in selection.get("points", ()):
        try:
            bar = figure.data[point["curve_number"]]
            start, length = float(bar.base[point["point_index"]]), float(bar.x[point["point_index"]])
        except (KeyError, IndexError, TypeError, ValueError):
            continue
        return start / 1000, (start + length) / 1000
    return None
