"""Figures on a page: built once for each choice, in the viewer's zone, with the brush that chooses a stretch."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, tzinfo
from functools import partial
from typing import Any, Literal

import streamlit as st
from msgspec import Struct
from plotly.basedatatypes import BaseFigure

from app import gestures, state, words
from app.frame import Opened
from app.style import PAGE_FONT

Gesture = Literal["none", "drag"]
_CONFIG = {"displayModeBar": False, "scrollZoom": False, "doubleClick": False, "showTips": False}


# Figures of the last choices, for all sessions: some 100 kB each on a large fleet.
_KEPT, _KEPT_SECONDS = 300, 1800


class Drawn(Struct, frozen=True):
    """A figure, and the same ready to be sent."""

    figure: Any
    ready: Any
    key: str
    by: Gesture


def drawn(opened: Opened, key: str, make: Callable[[], Any | None], *, by: Gesture = "none") -> Drawn | None:
    """A figure for what is chosen, built at the first call and recalled at the next.

    Args:
        opened: what the page shows.
        key: names the figure; on every page the same name means the same figure.
        make: builds the Plotly figure, or None where there is nothing to draw.
        by: what chooses a stretch of time: a drag across a course, or nothing.
    """
    zone = st.context.timezone
    chosen = opened.chosen
    choice = (opened.number, chosen.deployment, chosen.replica, chosen.window, opened.theme.name, zone, key)
    built = _built(choice, make, by, chosen, zone)
    return None if built is None else Drawn(*built, key, by)


@st.cache_resource(show_spinner=False, max_entries=_KEPT, ttl=_KEPT_SECONDS)
def _built(
    choice: tuple[Any, ...],
    _make: Callable[[], Any | None],
    _by: Gesture,
    _chosen: state.Selection,
    _zone: str | None,
) -> tuple[Any, Any] | None:
    figure = _make()
    if figure is None:
        return None
    figure.update_layout(font_family=PAGE_FONT)
    if _chosen.window is not None:
        span = [1000 * t for t in _chosen.window]
        figure.for_each_xaxis(lambda axis: axis.update(range=span), selector={"type": "date"})
    _name_the_zone(figure, _zone)
    if _by == "drag":
        figure.update_layout(dragmode="select", selectdirection="h")
    return figure, _Ready(figure.to_dict())


class _Ready(BaseFigure):  # type: ignore[misc]
    """What Streamlit asks of a figure, made once: its dictionary with the arrays encoded."""

    def __init__(self, dictionary: dict[str, Any]) -> None:
        self._dictionary = dictionary

    def to_dict(self) -> dict[str, Any]:
        """The figure as Plotly's JSON."""
        return self._dictionary


def show(opened: Opened, made: Drawn | None, alt: str) -> None:
    """Show a figure; None shows a line that says so.

    Args:
        opened: what the page shows.
        made: the figure.
        alt: what the picture shows, for who cannot see it.
    """
    if made is None:
        st.caption("Nothing to draw: the inputs carry no course over time for this.")
        return
    if made.by == "none":
        st.plotly_chart(made.ready, theme=None, key=made.key, config=_CONFIG, alt=alt)
        return
    # What was selected belongs to the stretch that was shown.
    key = f"{made.key}-{opened.chosen.start}-{opened.chosen.end}"
    st.plotly_chart(
        made.ready,
        theme=None,
        key=key,
        config=_CONFIG,
        alt=alt,
        selection_mode="box",
        on_select=partial(_selected, key),
    )


def later(
    opened: Opened,
    key: str,
    make: Callable[[], Any | None],
    alt: str,
    *,
    by: Gesture = "none",
    height: int = 300,
) -> None:
    """Build and show a figure once it comes into view; ``height`` is about its own, pixels."""
    gestures.when_near(key, height, lambda: show(opened, drawn(opened, key, make, by=by), alt))


def _name_the_zone(figure: Any, name: str | None) -> None:
    """Name the viewer's zone on time axes: Plotly draws moments that are numbers in the browser's own time."""
    zone = words.zone_of(name)
    if zone is None:
        return
    spans = [axis.range for axis in figure.select_xaxes(selector={"type": "date"}) if axis.range]
    at = state.moment(spans[0][0]) if spans else None
    said = words.zone_name(time.time() if at is None else at, name)
    figure.for_each_xaxis(lambda axis: axis.update(hoverformat=f"%H:%M:%S {said}"), selector={"type": "date"})
    figure.for_each_annotation(lambda note: note.update(text=said), selector={"text": "UTC"})


def _selected(key: str) -> None:
    event = st.session_state.get(key)
    zone = words.zone_of(st.context.timezone) or UTC
    stretch = stretch_of(event.get("selection", {}) if event else {}, zone)
    if stretch is not None and stretch[1] - stretch[0] >= 1:
        state.choose_window(*stretch)


def stretch_of(selection: Any, zone: tzinfo = UTC) -> tuple[float, float] | None:
    """The stretch of time of a drag, Unix seconds; ``zone`` is the browser's."""
    for box in selection.get("box", ()):
        moments = [m for m in (state.moment(x, zone) for x in box.get("x", ())) if m is not None]
        if len(moments) >= 2:
            return min(moments), max(moments)
    return None
