"""Compare: before and after a moment, or this data against other data; what moved, and what became of each finding."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import streamlit as st

from app import charts, compare_words, data, state, words
from app.data import Against, Outcome, Source
from app.frame import OWN, Opened, offered, page
from diagnostics.reports.charts import load_figure
from diagnostics.reports.compare_card import comparison_card

_MOMENT, _OTHER = "before and after a moment", "other data as the baseline"
_SLIDER_STEPS = 200


def show(opened: Opened) -> None:
    """The choice, the answer, then the proof."""
    against = _choose(opened)
    if against is None:
        return
    with st.spinner("Comparing"):
        found = _compared(opened, against)
    report = found.diagnosis.report if found.diagnosis else None
    if report is None or report.comparison is None:
        st.html(words.stand_in("This cannot be compared", found.error or "The other data shows no server."))
        return
    card = comparison_card(report.comparison)
    st.html(compare_words.answer(card))
    if against.source is None:
        _draw_load(opened, against)
    if card.moved:
        st.html(words.heading("What moved"))
        st.html(compare_words.changes(card.moved, card.names))
    if card.findings:
        st.html(words.heading("What became of each finding"))
        st.html(compare_words.findings(card.findings))
    if card.settings:
        st.html(words.heading("What was set"))
        st.html(compare_words.settings(card))
    if card.same:
        with st.expander(f"Not moved beyond noise ({len(card.same)})"):
            st.html(compare_words.changes(card.same, card.names))
    st.caption(words.markdown_label(f"Noise: {card.noise}."))


def _compared(opened: Opened, against: Against) -> Outcome:
    """The comparison; with what this session brought itself, the last one is remembered by the session."""
    given = state.given()
    baseline = against.source.key if against.source else None
    if given is None or OWN not in (opened.source.key, baseline):
        return data.compared(
            opened.source, against, since=state.SINCE[opened.chosen.since], select=opened.chosen.select
        )
    key = (given.outcome.number, opened.source.key, against.after, against.window, baseline)
    last = st.session_state.get("own_compared")
    if last is None or last[0] != key:
        if baseline == OWN:
            made = data.compared_with_given(opened.source, given.files, given.pasted)
        else:
            made = data.run_given(given.files, given.pasted, against=against)
        last = (key, made)
        st.session_state["own_compared"] = last
    return last[1]


def _choose(opened: Opened) -> Against | None:
    """What to compare with: a moment, a stretch of time chosen by a drag, or another source."""
    others = {
        s.key: s for s in offered() if s.key != opened.source.key and (s.key == OWN or len(s.inputs) == 1)
    }
    wants_other = opened.chosen.baseline in others
    st.session_state["w_kind"] = _OTHER if wants_other else _MOMENT
    left, right = st.columns([1, 2], gap="medium", vertical_alignment="bottom")
    with left:
        st.radio(
            "Compare",
            [_MOMENT, _OTHER] if others else [_MOMENT],
            key="w_kind",
            on_change=lambda: state.choose(
                baseline=next(iter(others)) if st.session_state["w_kind"] == _OTHER else None
            ),
        )
    with right:
        if wants_other:
            return _other(opened, others)
        return _moment(opened)


def _draw_load(opened: Opened, against: Against) -> None:
    """The load, with the moment in it; a drag takes a stretch as the baseline."""
    load = charts.drawn(opened, f"load-{against.after}", partial(_load, opened, against.after), by="drag")
    if load is None:
        return
    st.html(words.heading("Load; drag across it to take a stretch as the baseline"))
    charts.show(opened, load, "Requests running, waiting and finished over time.")


def _load(opened: Opened, after: float | None) -> Any | None:
    """The load with a line at the moment."""
    made = load_figure(opened.whole, opened.theme)
    if made is not None and after is not None:
        made.add_vline(x=1000 * after, line={"color": opened.theme.strong, "dash": "dot", "width": 1.5})
    return made


def _other(opened: Opened, others: dict[str, Source]) -> Against:
    st.session_state["w_baseline"] = opened.chosen.baseline
    st.selectbox(
        "Baseline",
        list(others),
        key="w_baseline",
        format_func=lambda k: words.plain_label(others[k].title),
        on_change=lambda: state.choose(baseline=st.session_state["w_baseline"]),
    )
    return Against(source=others[str(opened.chosen.baseline)])


def _moment(opened: Opened) -> Against | None:
    """A chosen stretch as the baseline, else a moment: the one of the address, else where the trouble began."""
    if opened.chosen.window is not None:
        st.html(
            words.block(
                "The stretch of time chosen above is the baseline; what follows it is compared.", "d-muted"
            )
        )
        return Against(window=opened.chosen.window)
    window = opened.whole.report.window
    if window.start is None or window.end is None or window.end - window.start < 2:
        st.html(
            words.stand_in(
                "No time", "The inputs carry no course over time, so there is no before and after."
            )
        )
        return None
    first, last = window.start + 1, window.end
    chosen = opened.chosen.after
    moment = chosen if chosen is not None and first <= chosen <= last else _default(opened, first, last)
    st.session_state["w_after"] = _naive(moment)
    st.slider(
        f"Moment of the change ({words.zone_name(moment, st.context.timezone)})",
        _naive(first),
        _naive(last),
        key="w_after",
        step=timedelta(seconds=max(1, round((last - first) / _SLIDER_STEPS))),
        format="HH:mm:ss",
        on_change=lambda: state.choose(after=state.written(_seconds(st.session_state["w_after"]))),
    )
    return Against(after=moment)


def _default(opened: Opened, first: float, last: float) -> float:
    """Where the trouble began, or the middle of what was seen."""
    began = next((d.since for d in opened.whole.report.deployments if d.since is not None), None)
    middle = (first + last) / 2
    return round(began if began is not None and first < began < last else middle)


def _naive(seconds: float) -> datetime:
    """A moment on the viewer's clock, as the slider takes it."""
    zone = words.zone_of(st.context.timezone) or UTC
    return datetime.fromtimestamp(round(seconds), zone).replace(tzinfo=None)


def _seconds(moment: datetime) -> float:
    return moment.replace(tzinfo=words.zone_of(st.context.timezone) or UTC).timestamp()


page(show, narrow=False)
