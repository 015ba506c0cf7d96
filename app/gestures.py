"""What the browser tells the page beside Streamlit's own elements: a stretch that was clicked, a part that comes into view."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from app import state

_STRETCH = st.components.v2.component(
    "stretch",
    js="""export default function({setTriggerValue}) {
 const chosen = (event) => {
  const part = event.target.closest && event.target.closest('[data-stretch]');
  if (part) setTriggerValue('chosen', part.dataset.stretch.split(' ').map(Number));
 };
 document.addEventListener('click', chosen);
 return () => document.removeEventListener('click', chosen);
}""",
    isolate_styles=False,
)
# One after the other: of two requests at once Streamlit would run one only. Who stays without an answer asks again.
_NEAR = st.components.v2.component(
    "near",
    html="<div class='d-later'></div>",
    js="""const waiting = [];
let asked = null;
const next = () => { asked = waiting.shift() || null; if (asked) asked.ask(); };
export default function({data, parentElement, setTriggerValue}) {
 const room = parentElement.querySelector('div'), me = {};
 room.style.height = data + 'px';
 me.ask = () => { setTriggerValue('near', true); me.timer = setTimeout(me.ask, 4000); };
 const watcher = new IntersectionObserver((seen) => {
  if (!seen.some((s) => s.isIntersecting)) return;
  watcher.disconnect();
  waiting.push(me);
  if (!asked) next();
 }, {rootMargin: '60px 0px'});
 watcher.observe(room);
 return () => {
  watcher.disconnect();
  clearTimeout(me.timer);
  if (waiting.includes(me)) waiting.splice(waiting.indexOf(me), 1);
  if (asked === me) next();
 };
}""",
    isolate_styles=False,
)
_SEEN = "seen"


def listen() -> None:
    """Let a click on anything with ``data-stretch`` choose that stretch of time."""
    with st.container(key="listen"):
        _STRETCH(key="clicked", on_chosen_change=_choose)


def _choose() -> None:
    event = st.session_state.get("clicked") or {}
    span = event.get("chosen")
    if isinstance(span, list) and len(span) == 2 and all(isinstance(x, int | float) for x in span):
        start, end = sorted(float(x) for x in span)
        if end - start >= 1:
            state.choose_window(start, end)


def turn_to(page: str) -> None:
    """Another page begins with nothing seen."""
    if st.session_state.get(_SEEN, ("", set()))[0] != page:
        st.session_state[_SEEN] = (page, set())


def when_near(key: str, height: int, draw: Callable[[], None]) -> None:
    """Draw a part of the page once it comes into view: what nobody scrolls to costs nothing.

    Args:
        key: names the part on its page.
        height: of the room that is kept free until then, pixels.
        draw: draws it.
    """
    seen: set[str] = st.session_state.get(_SEEN, ("", set()))[1]
    st.fragment(partial(_when_near, seen, key, height, draw))()


def _when_near(seen: set[str], key: str, height: int, draw: Callable[[], None]) -> None:
    if key in seen:
        draw()
    else:
        _NEAR(key=f"near-{key}", data=height, on_near_change=partial(seen.add, key))
