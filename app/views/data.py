"""Data: what is shown and what was recognised in it; upload, paste, or connect to something else."""

from __future__ import annotations

import streamlit as st

from app import data, state, words
from app.data import Named
from app.frame import OWN, Opened, page
from app.state import Given
from diagnostics.reports.cards import inputs_card

MAX_FILES, MAX_BYTES, MAX_PASTE = 50, 128 * 1024**2, 2_000_000


def show(opened: Opened) -> None:
    """What became of each input."""
    card = inputs_card(opened.report)
    st.html(words.heading(card.title))
    if card.window:
        st.html(words.block(words.markup(card.window), "d-muted"))
    if card.used:
        st.html(words.inputs(card.used))
    if card.unused:
        st.html(words.heading(f"Not recognised ({len(card.unused)})"))
        st.html(words.inputs(card.unused))


def bring() -> None:
    """The three ways to bring something else."""
    upload, paste, connect = st.tabs(["Upload files", "Paste text", "Connect"])
    with upload, st.form("upload", border=False):
        files = st.file_uploader(
            "Metrics, logs, bench results, configuration; all of one incident together",
            accept_multiple_files=True,
            key="files",
        )
        if st.form_submit_button("Diagnose these files", type="primary"):
            _take([Named(f.name, f.getvalue()) for f in files or ()], "")
    with paste, st.form("paste", border=False):
        text = st.text_area(
            "Anything you have, mixed and cut as it is",
            height=180,
            max_chars=MAX_PASTE,
            key="pasted",
            placeholder="$ vllm serve ...\nINFO ... Running: 64 reqs, Waiting: 93 reqs, ...",
        )
        if st.form_submit_button("Diagnose this text", type="primary"):
            _take([], text or "")
    with connect, st.form("connect", border=False):
        address = st.text_input(
            "Address of a Prometheus, or of a /metrics page",
            placeholder="http://prometheus:9090",
            key="address",
        )
        left, right = st.columns([3, 1])
        select = left.text_input(
            "Only series with (PromQL matchers)", placeholder='job="vllm"', key="matchers"
        )
        since = right.selectbox("Look back", list(state.SINCE), index=1, key="look-back")
        if st.form_submit_button("Connect", type="primary"):
            _connect((address or "").strip(), (select or "").strip(), str(since))


def _take(files: list[Named], pasted: str) -> None:
    """Diagnose what was given, and show it."""
    size = sum(len(f.content) for f in files)
    if not files and not pasted.strip():
        st.warning("There is nothing to diagnose yet.")
        return
    if len(files) > MAX_FILES or size > MAX_BYTES:
        st.warning(f"Too much at once: at most {MAX_FILES} files and {MAX_BYTES // 1024**2} MB together.")
        return
    with st.spinner("Reading the data and running the rules"):
        outcome = data.run_given(files, pasted)
    state.keep_given(Given(tuple(files), pasted, outcome))
    state.choose_source(OWN)
    st.switch_page("views/now.py")


def _connect(address: str, select: str, since: str) -> None:
    refused = data.connect(address)
    if refused is not None:
        st.warning(refused)
        return
    state.choose_source(address)
    state.choose(select=select.strip("{} "), since=since)
    st.switch_page("views/now.py")


page(show)
st.html(words.heading("Show other data"))
bring()
