"""What every page shares: the bar with the choices, the report that is shown, and its states."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import streamlit as st
from msgspec import Struct

from app import data, exports, gestures, state, style, words
from app.data import REFRESH_SECONDS, Outcome, Source
from app.state import Selection
from diagnostics.model.report import Diagnosis, Report
from diagnostics.reports.theme import Theme

OWN = "own"
"""The key of what this session brought itself; it means nothing to others."""


class Opened(Struct, frozen=True):
    """What a page shows: the narrowed diagnosis, what it was narrowed from, and the number of its outcome."""

    diagnosis: Diagnosis
    whole: Diagnosis
    chosen: Selection
    theme: Theme
    source: Source
    number: int

    @property
    def report(self) -> Report:
        """The narrowed report."""
        return self.diagnosis.report


View = Callable[[Opened], None]


def page(view: View, *, title: str = "", narrow: bool = True) -> None:
    """Draw one page: the bar, then the view on the report, or the state that stands in for it.

    Args:
        view: lays out the rest.
        title: a heading, if any.
        narrow: whether a chosen stretch of time is judged by itself; else the view sees all of the time.
    """
    chosen = state.read()
    gestures.turn_to(view.__code__.co_filename)
    bar = st.container(horizontal=True, vertical_alignment="center", key="bar")
    source = _choose_source(bar, chosen)
    if source is None:
        _nothing(chosen)
        return
    slot = bar.container(horizontal=True, vertical_alignment="center", key="bar-more", width="content")
    following = source.live and chosen.end is None and not st.session_state.get("paused", False)
    body = partial(_body, view, source, slot, title, narrow)
    if source.live:
        _choose_live(slot, chosen)
    if following:
        st.fragment(body, run_every=REFRESH_SECONDS)()
    else:
        body()


def offered() -> tuple[Source, ...]:
    """What this session may choose."""
    given = state.given()
    own: tuple[Source, ...] = ()
    if given is not None:
        names = [f.name for f in given.files] + (["pasted text"] if given.pasted.strip() else [])
        title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
        own = (Source(OWN, f"Yours: {title}", "upload", ()),)
    return (*own, *data.sources())


def _choose_source(bar: st.delta_generator.DeltaGenerator, chosen: Selection) -> Source | None:
    options = offered()
    source = next((s for s in options if s.key == chosen.source), None) or data.find(chosen.source)
    if source is None:
        return None
    if source not in options:
        options = (*options, source)
    titles = {s.key: s.title for s in options}
    st.session_state["w_source"] = source.key
    bar.selectbox(
        "Data",
        list(titles),
        key="w_source",
        format_func=lambda k: words.plain_label(titles.get(k, k)),
        label_visibility="collapsed",
        width=340,
        on_change=lambda: state.choose_source(st.session_state["w_source"]),
    )
    return source


def _choose_live(slot: st.delta_generator.DeltaGenerator, chosen: Selection) -> None:
    st.session_state["w_since"] = chosen.since
    slot.selectbox(
        "Look back",
        list(state.SINCE),
        key="w_since",
        label_visibility="collapsed",
        width=90,
        on_change=lambda: state.choose(since=st.session_state["w_since"], start=None, end=None),
    )
    slot.toggle("Pause", key="paused", help="Stop following the source")


def _body(
    view: View, source: Source, slot: st.delta_generator.DeltaGenerator, title: str, narrow: bool
) -> None:
    chosen = state.read()
    found = _outcome(source, chosen, chosen.window if narrow else None)
    if found.diagnosis is None:
        _failed(found)
        return
    whole = found.diagnosis
    opened = Opened(
        data.narrowed(whole, chosen.deployment, chosen.replica),
        whole,
        chosen,
        style.theme(),
        source,
        found.number,
    )
    with slot:
        _choose_part(opened)
        exports.menu(opened.diagnosis)
    st.html(_strip(opened))
    if chosen.window is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="stretch"):
            st.button(
                "Show all of the time",
                icon=":material/close:",
                on_click=lambda: state.choose(start=None, end=None),
            )
            if narrow:
                st.caption("Everything below is judged on this stretch alone.", width="content")
    if title:
        st.title(title, anchor=False)
    view(opened)


def _outcome(source: Source, chosen: Selection, asked: tuple[float, float] | None) -> Outcome:
    given = state.given()
    with st.spinner("Reading the data and running the rules"):
        if source.key == OWN and given is not None:
            return _own(given, asked)
        return data.outcome(
            source,
            since=state.SINCE[chosen.since],
            select=chosen.select,
            start=asked[0] if asked else None,
            end=asked[1] if asked else None,
        )


def _own(given: state.Given, stretch: tuple[float, float] | None) -> Outcome:
    """The outcome of what this session brought; of a stretch of it the last one is remembered."""
    if stretch is None:
        return given.outcome
    key = (given.outcome.number, stretch)
    last = st.session_state.get("own_stretch")
    if last is None or last[0] != key:
        last = (key, data.run_given(given.files, given.pasted, stretch))
        st.session_state["own_stretch"] = last
    return last[1]


def _choose_part(opened: Opened) -> None:
    """Deployment and replica, where there are several."""
    deployments = [d.name for d in opened.whole.report.deployments]
    if len(deployments) > 1:
        st.session_state["w_deployment"] = (
            opened.chosen.deployment if opened.chosen.deployment in deployments else deployments[0]
        )
        st.selectbox(
            "Deployment",
            deployments,
            key="w_deployment",
            label_visibility="collapsed",
            width=220,
            format_func=words.plain_label,
            on_change=lambda: state.choose(deployment=st.session_state["w_deployment"], replica=None),
        )
    replicas = [r.replica for r in opened.whole.report.regimes]
    if len(replicas) > 1:
        everything = ""
        st.session_state["w_replica"] = (
            opened.chosen.replica if opened.chosen.replica in replicas else everything
        )
        st.selectbox(
            "Replica",
            [everything, *replicas],
            key="w_replica",
            label_visibility="collapsed",
            width=190,
            format_func=lambda r: words.plain_label(r) if r else f"all {len(replicas)} replicas",
            on_change=lambda: state.choose(replica=st.session_state["w_replica"]),
        )


def _strip(opened: Opened) -> str:
    """One line: which model, which time, how old the data is."""
    report = opened.report
    names = ", ".join(dict.fromkeys(d.name for d in report.deployments)) or "no deployment"
    count = len({r.replica for r in report.regimes})
    replicas = f"{count} replica{'' if count == 1 else 's'}" if count else ""
    end = report.window.end
    start, stop = opened.chosen.window or (report.window.start, end)
    parts = [
        f"<b>{words.markup(names)}</b>",
        replicas,
        words.markup(words.window(start, stop, st.context.timezone)),
    ]
    if opened.source.live and end is not None:
        paused = st.session_state.get("paused", False) or opened.chosen.end is not None
        said = "paused" if paused else "live"
        old = words.age(time.time() - end)
        parts.append(f'<span><i class="d-dot{" d-off" if paused else ""}"></i>{said}, data {old}</span>')
    elif end is not None:
        parts.append(f"recorded, ended {words.ago(time.time() - end)}")
    return words.block("".join(f"<span>{p}</span>" for p in parts if p), "d-strip")


def _failed(found: Outcome) -> None:
    st.html(words.stand_in("This could not be read", found.error))
    st.page_link("views/data.py", label="Choose other data", icon=":material/database:")


def _nothing(chosen: Selection) -> None:
    """No source: none at all, or one that a link names and this server does not know."""
    if chosen.source == OWN:
        said = (
            "The link points to data somebody uploaded, kept in their session only. Upload it here to see it."
        )
    elif chosen.source:
        said = f"This server does not show {chosen.source}. Connect to it on Data, or choose other data."
    else:
        said = "No data yet. Connect to a Prometheus, upload files of an incident, or paste what you have."
    st.html(words.stand_in("Nothing to show" if chosen.source else "Ready", said))
    st.page_link("views/data.py", label="Go to Data", icon=":material/database:")
