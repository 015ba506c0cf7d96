"""Figures on a page: the shared type, the chosen stretch of time, and the brush that chooses one."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import partial
from typing import Any, Literal

import streamlit as st

from app import state, words
from app.style import PAGE_FONT
from diagnostics.reports.theme import Theme

Gesture = Literal["none", "drag", "click"]
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}


def theme() -> Theme:
    """The theme of the viewer's page."""
    return Theme.DARK if st.context.theme.type == "dark" else Theme.LIGHT


def show(
    figure: Any | None, key: str, chosen: state.Selection, *, by: Gesture = "none", alt: str = ""
) -> None:
    """Draw a figure; None draws a line that says so.

    Args:
        figure: a Plotly figure, made for this run.
        key: unique on the page.
        chosen: the stretch of time that every chart with a time axis shows.
        by: what chooses a stretch of time: a drag across a course, a click on a bar, or nothing.
        alt: what the picture shows, for who cannot see it.
    """
    if figure is None:
        st.caption("Nothing to draw: the inputs carry no course over time for this.")
        return
    figure.update_layout(font_family=PAGE_FONT)
    if chosen.window is not None:
        span = [1000 * t for t in chosen.window]
        figure.for_each_xaxis(lambda axis: axis.update(range=span), selector={"type": "date"})
    _name_the_zone(figure)
    if by == "none":
        st.plotly_chart(figure, theme=None, key=key, config=_CONFIG, alt=alt or None)
        return
    # Streamlit passes clicks on only where a drag does not select, so a chart has one gesture or the other.
    if by == "drag":
        figure.update_layout(dragmode="select", selectdirection="h")
    else:
        figure.update_xaxes(fixedrange=True)
        figure.update_yaxes(fixedrange=True)
        figure.update_traces(selected={"marker": {"opacity": 1}}, unselected={"marker": {"opacity": 1}})
    full_key = f"{key}-{chosen.start}-{chosen.end}"
    st.plotly_chart(
        figure,
        theme=None,
        key=full_key,
        config=_CONFIG,
        alt=alt or None,
        selection_mode="box" if by == "drag" else "points",
        on_select=partial(_selected, full_key, figure),
    )


def _name_the_zone(figure: Any) -> None:
    """Name the viewer's zone on time axes: Plotly draws moments that are numbers in the browser's own time."""
    zone = words.zone_of(st.context.timezone)
    if zone is None:
        return
    said = datetime.now(zone).tzname() or "UTC"
    said = f"UTC{said}" if said[:1] in "+-" else said
    figure.for_each_xaxis(lambda axis: axis.update(hoverformat=f"%H:%M:%S {said}"), selector={"type": "date"})
    figure.for_each_annotation(lambda note: note.update(text=said), selector={"text": "UTC"})


def _selected(key: str, figure: Any) -> None:
    event = st.session_state.get(key)
    zone = words.zone_of(st.context.timezone) or UTC
    stretch = stretch_of(event.get("selection", {}) if event else {}, figure, zone)
    if stretch is not None and stretch[1] - stretch[0] >= 1:
        state.choose_window(*stretch)


def stretch_of(selection: Any, figure: Any, zone: tzinfo = UTC) -> tuple[float, float] | None:
    """The stretch of time of a drag or of a clicked bar, Unix seconds; ``zone`` is the browser's."""
    for box in selection.get("box", ()):
        moments = [m for m in (state.moment(x, zone) for x in box.get("x", ())) if m is not None]
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
