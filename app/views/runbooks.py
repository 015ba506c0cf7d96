"""Runbooks: every fault that is known, each with a page of its own."""

from __future__ import annotations

import streamlit as st

from app import runbooks, words


def show() -> None:
    """The index, searchable, and the runbook that was chosen."""
    st.html(words.heading("Runbooks"))
    wanted = (
        st.text_input(
            "Search", placeholder="cap, preemption, cache", label_visibility="collapsed", type="search"
        )
        or ""
    )
    found = [
        e for e in runbooks.index() if wanted.lower() in f"{e.slug} {e.code} {e.title} {e.family}".lower()
    ]
    if not found:
        st.caption("No runbook has these words.")
        return
    with_rule = [e for e in found if e.code]
    others = [e for e in found if not e.code]
    if with_rule:
        st.html(words.index(with_rule))
    if others:
        st.html(words.heading("Faults that no rule looks for yet"))
        st.html(words.index(others))


show()
