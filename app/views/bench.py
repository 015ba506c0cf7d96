"""Bench: is the measurement honest, where is the knee, what did a change buy, what does a token cost."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import charts, parts, words
from app.frame import Opened, page
from diagnostics.model.bench_view import BenchView, Comparison
from diagnostics.reports.bench_cards import TableCard, comparison_card, cost_card, score_card
from diagnostics.reports.charts import (
    comparison_figure,
    curve_figure,
    distribution_figure,
    pareto_figure,
    timeline_figure,
)

RULES = frozenset(
    {
        "past-saturation-knee", "identical-prompts", "uniform-lengths", "closed-loop", "rps-without-tokens",
        "bench-untrustworthy", "bench-regression", "client-bound", "cost-per-token", "quantization-unvalidated",
        "weight-only-quant-compute-bound", "speculation-at-high-batch", "drafter-too-expensive", "tp-over-slow-link",
        "cuda-graph-ceiling", "cap-throttled", "prefix-cache-miss", "preemption-storm", "prefill-stalls-decode",
        "low-acceptance",
    }
)  # fmt: skip
_METRICS = {"ttft": "Time to first token", "tpot": "Time per output token", "e2e": "Whole request"}


def show(opened: Opened) -> None:
    """Lay the page out."""
    view = opened.diagnosis.bench
    if view is None or not view.runs:
        _empty(view)
        return
    _curves(opened, view)
    front = charts.drawn(opened, "pareto", lambda: pareto_figure(view.pareto, opened.theme))
    if front is not None:
        st.html(words.heading("Speed for one user against output of a GPU"))
        charts.show(opened, front, "Tokens a second for one user against tokens a second of one GPU.")
    for number, item in enumerate(view.comparisons):
        _comparison(opened, item, comparison_card(item), number)
    st.html(words.heading("How real the load was"))
    for card in map(score_card, view.scorecards):
        with st.expander(
            words.markdown_label(f"{card.title}: {card.note}"), expanded=len(view.scorecards) == 1
        ):
            st.html(words.rows(card.header, card.rows))
    if view.costs:
        _table(cost_card(view.costs))
    _latencies(opened, view)
    parts.findings(opened, RULES, folded=True)
    st.html(words.heading("A command to repeat it"))
    st.code(view.command, language=None, wrap_lines=True)


def _empty(view: BenchView | None) -> None:
    """No result: what the page would show, and how to get there."""
    st.html(
        words.stand_in(
            "No benchmark result in this data",
            "Run this against your server, then give its JSON file on Data: where the knee is, how real the load was, what "
            "a change bought and what a token costs will be here.",
        )
    )
    if view is not None:
        st.code(view.command, language=None, wrap_lines=True)
    st.page_link("views/data.py", label="Give a result", icon=":material/upload:")


def _curves(opened: Opened, view: BenchView) -> None:
    if not view.curves:
        st.html(
            words.stand_in(
                "No sweep", "A knee needs three loads or more of the same work: repeat at other rates."
            )
        )
        return
    st.html(words.heading("Output and latency over load"))
    columns = st.columns(2, gap="medium") if len(view.curves) > 1 else [st.container()]
    for number, curve in enumerate(view.curves):
        with columns[number % len(columns)]:
            st.html(words.block(words.markup(curve.run), "d-muted"))
            drawn = charts.drawn(opened, f"curve-{number}", partial(curve_figure, curve, opened.theme))
            charts.show(opened, drawn, f"Sweep {number + 1}.")


def _comparison(opened: Opened, item: Comparison, card: TableCard, number: int) -> None:
    st.html(words.heading(card.title))
    st.html(words.block(words.markup(card.note), "d-muted"))
    drawn = charts.drawn(opened, f"pair-{number}", lambda: comparison_figure(item, opened.theme))
    charts.show(opened, drawn, card.title)
    with st.expander("Figures"):
        st.html(words.rows(card.header, card.rows))


def _table(card: TableCard) -> None:
    st.html(words.heading(card.title))
    st.html(words.block(words.markup(card.note), "d-muted"))
    st.html(words.rows(card.header, card.rows))


def _latencies(opened: Opened, view: BenchView) -> None:
    runs = list(dict.fromkeys(d.run for d in view.distributions))
    if runs:
        st.html(words.heading("Latency of single requests"))
        run = st.selectbox("Run", runs, format_func=words.plain_label) if len(runs) > 1 else runs[0]
        drawn = [
            (title, found)
            for metric, title in _METRICS.items()
            if (found := [d for d in view.distributions if d.run == run and d.metric == metric])
        ]
        for column, (title, found) in zip(st.columns(len(drawn), gap="medium"), drawn, strict=True):
            with column:
                st.html(words.block(words.markup(title), "d-muted"))
                figure = partial(distribution_figure, found, opened.theme)
                charts.show(opened, charts.drawn(opened, f"spread-{run}-{title}", figure), title)
    if view.timelines:
        _timeline(opened, view)


def _timeline(opened: Opened, view: BenchView) -> None:
    st.html(words.heading("Requests over time"))
    named = {f"{t.run}, {t.level}": t for t in view.timelines}
    chosen = (
        st.selectbox("Level", list(named), format_func=words.plain_label)
        if len(named) > 1
        else next(iter(named))
    )
    item = named[chosen]
    said = f"The first {len(item.starts):,} of {item.total:,} requests"
    st.html(words.block(words.markup(said), "d-muted"))
    timeline = charts.drawn(opened, f"timeline-{chosen}", lambda: timeline_figure(item, opened.theme))
    charts.show(opened, timeline, said)


page(show)
