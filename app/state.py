"""What is chosen, and the address that says so: a link opens the same view."""

from __future__ import annotations

import math
from datetime import UTC, datetime, tzinfo

import streamlit as st
from msgspec import Struct

from app.data import Named, Outcome
from diagnostics.capacity.inputs import FIELDS

PLANNED = "c-"
"""Begins the name of an input of the capacity plan in an address."""
PARAMETERS = (
    *("source", "deployment", "replica", "from", "to", "since", "select", "after", "baseline"),
    *(PLANNED + field.name for field in FIELDS),
)
SINCE = {"15m": 900.0, "30m": 1800.0, "1h": 3600.0, "3h": 10800.0, "6h": 21600.0, "24h": 86400.0}
_LATEST = 4_102_444_800.0  # the year 2100: what lies beyond is no time of a recording
_STORED = "chosen"
_GIVEN = "given"


class Selection(Struct, frozen=True):
    """What is chosen.

    ``start``, ``end`` and ``after`` are Unix seconds; ``since`` is a key of ``SINCE``; ``baseline`` is the key of a source
    to compare with.
    """

    source: str | None = None
    deployment: str | None = None
    replica: str | None = None
    start: float | None = None
    end: float | None = None
    since: str = "30m"
    select: str = ""
    after: float | None = None
    baseline: str | None = None

    @property
    def window(self) -> tuple[float, float] | None:
        """The chosen stretch of time, or None for all of it."""
        return (self.start, self.end) if self.start is not None and self.end is not None else None


def read() -> Selection:
    """The selection of the address; where a page switch dropped it from there, of this session."""
    in_address = {name: st.query_params[name] for name in PARAMETERS if name in st.query_params}
    if in_address:
        st.session_state[_STORED] = in_address
    elif stored := st.session_state.get(_STORED):
        st.query_params.update(stored)
        in_address = dict(stored)
    start, end = moment(in_address.get("from")), moment(in_address.get("to"))
    if start is None or end is None or end <= start:
        start = end = None
    since = in_address.get("since", "")
    return Selection(
        source=in_address.get("source") or None,
        deployment=in_address.get("deployment") or None,
        replica=in_address.get("replica") or None,
        start=start,
        end=end,
        since=since if since in SINCE else "30m",
        select=in_address.get("select", ""),
        after=moment(in_address.get("after")),
        baseline=in_address.get("baseline") or None,
    )


def choose(**changes: str | None) -> None:
    """Change the selection; None or an empty text takes a choice away.

    ``start`` and ``end`` are written ``from`` and ``to``.
    """
    names = {"start": "from", "end": "to"}
    stored: dict[str, str] = dict(st.session_state.get(_STORED, {}))
    for name, value in changes.items():
        parameter = names.get(name, name)
        stored.pop(parameter, None)
        if value:
            stored[parameter] = value
    st.session_state[_STORED] = stored
    for parameter in PARAMETERS:
        if parameter in stored:
            st.query_params[parameter] = stored[parameter]
        elif parameter in st.query_params:
            del st.query_params[parameter]


def choose_source(key: str) -> None:
    """Choose a source; what was chosen within the old one goes."""
    gone = [p for p in PARAMETERS if p not in ("source", "since")]
    choose(**dict.fromkeys(gone), source=key)


def planned() -> dict[str, str]:
    """Inputs of the capacity plan that a person entered, by name of field."""
    names = [field.name for field in FIELDS]
    return {n: st.query_params[PLANNED + n] for n in names if st.query_params.get(PLANNED + n)}


def choose_window(start: float, end: float) -> None:
    """Choose a stretch of time, Unix seconds."""
    choose(start=written(start), end=written(end))


def written(seconds: float) -> str:
    """A moment as it stands in an address."""
    return datetime.fromtimestamp(round(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def moment(text: object, zone: tzinfo = UTC) -> float | None:
    """Unix seconds of a moment in an address or of a chart's axis; None when it is none.

    Args:
        text: ISO 8601, or milliseconds.
        zone: of a text that names none.
    """
    seconds = math.nan
    if isinstance(text, int | float):
        seconds = float(text) / 1000.0
    elif isinstance(text, str) and text:
        try:
            parsed = datetime.fromisoformat(text)
            seconds = (parsed if parsed.tzinfo else parsed.replace(tzinfo=zone)).timestamp()
        except (OverflowError, ValueError):
            return None
    return seconds if 0 <= seconds < _LATEST else None


class Given(Struct, frozen=True):
    """What a person uploaded or pasted in this session, and what came of it."""

    files: tuple[Named, ...]
    pasted: str
    outcome: Outcome


def given() -> Given | None:
    """What this session brought itself."""
    found = st.session_state.get(_GIVEN)
    return found if isinstance(found, Given) else None


def keep_given(value: Given | None) -> None:
    """Remember what this session brought, or forget it."""
    if value is None:
        st.session_state.pop(_GIVEN, None)
    else:
        st.session_state[_GIVEN] = value
