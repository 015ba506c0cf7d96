"""Capacity & cost: memory, safe concurrency, speed limits, GPUs that fit, price; from inputs that can be edited."""

from __future__ import annotations

from functools import partial

import streamlit as st

from app import charts, state, words
from app.frame import Opened, page
from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.inputs import FIELDS, MissingError, request_of
from diagnostics.capacity.plan import Plan, make_plan
from diagnostics.model.report import Known
from diagnostics.reports import capacity_cards as cards
from diagnostics.reports.charts import memory_figure, roofline_figure

GROUPS = ("Model", "Hardware", "Engine", "Load")


def show(opened: Opened) -> None:
    """The plan, then its inputs; without a model or a GPU the inputs come first."""
    known = {item.name: item for item in opened.whole.known}
    entered = state.planned()
    values = {name: item.value for name, item in known.items()} | entered
    if any(field.name in entered for field in cards.fields_in("Model") if field.name != "stored"):
        values.pop("config", None)
    try:
        plan = make_plan(request_of(values))
    except MissingError as missing:
        st.html(
            words.stand_in("Not enough to plan with", f"Enter what is missing: {', '.join(missing.titles)}.")
        )
        _inputs(known, entered)
        return
    except CapacityError as error:
        st.html(words.stand_in("These inputs give no plan", str(error)))
        _inputs(known, entered)
        return
    _plan(opened, plan, values)
    _inputs(known, entered)
    if plan.assumptions:
        with st.expander(f"Taken for granted ({len(plan.assumptions)})", icon=":material/rule:"):
            st.html(words.listing(plan.assumptions))


def _plan(opened: Opened, plan: Plan, values: dict[str, str]) -> None:
    for problem in plan.problems:
        st.html(words.stand_in("Does not work as it is", problem[:1].upper() + problem[1:] + "."))
    st.html(words.figures(cards.figures(plan)))
    name = "plan-" + repr(sorted(values.items()))
    left, right = st.columns(2, gap="medium")
    with left:
        st.html(words.heading("Memory of one GPU"))
        memory = charts.drawn(opened, f"memory-{name}", lambda: memory_figure(plan, opened.theme))
        charts.show(
            opened,
            memory,
            "Weights, activations, graphs and context, and KV cache against the card's memory.",
        )
        st.html(words.heading("Tensor parallelism"))
        degrees = cards.degrees(plan)
        shown = 3 if any(why for _, _, why in degrees) else 2
        names = ("Degree", "Possible", "Why, or what to know")[:shown]
        st.html(words.rows(names, [row[:shown] for row in degrees]))
    with right:
        st.html(words.heading("Limits of decoding"))
        limits = charts.drawn(
            opened, f"roofline-{name}", lambda: roofline_figure(plan, _point(plan, values), opened.theme)
        )
        charts.show(
            opened, limits, "Output tokens a second over the batch, with the measured point below its limits."
        )
    if priced := cards.costs(plan):
        st.html(words.heading("Cost, US dollars a million tokens"))
        st.html(words.rows(("The same bill, divided by", "USD"), priced))
    if stages := cards.cold_start(opened.whole.known):
        st.html(words.heading("Last cold start"))
        st.html(words.rows(("Stage", "Time"), stages))
    if fitting := cards.choices(plan):
        st.html(words.heading("GPUs that fit, best first"))
        heads = ("GPUs", "Step, at least", "Sequences", "Tokens/s, at most", "USD an hour", "USD a million")
        st.html(words.rows(heads, fitting))


def _point(plan: Plan, values: dict[str, str]) -> tuple[float, float] | None:
    rate = plan.request.measured_tokens_per_second
    try:
        return None if rate is None else (float(values["batch"]), rate / max(1, plan.replicas))
    except (KeyError, ValueError):
        return None


def _inputs(known: dict[str, Known], entered: dict[str, str]) -> None:
    """Every input with where its value comes from; what is entered is kept in the address."""
    st.html(words.heading("Inputs"))
    for column, group in zip(st.columns(len(GROUPS), gap="medium"), GROUPS, strict=True):
        with column:
            st.html(words.heading(group))
            for field in cards.fields_in(group):
                item = known.get(field.name)
                key = f"w_c_{field.name}"
                st.session_state[key] = entered.get(field.name) or (item.value if item else "")
                st.text_input(
                    words.markdown_label(field.title),
                    key=key,
                    placeholder=field.assumed or "not known",
                    on_change=partial(_entered, field.name, key, item.value if item else ""),
                )
                if said := cards.mark(field, entered.get(field.name, ""), item):
                    st.html(words.block(words.markup(said), "d-mark"))
    if entered:
        st.button("Back to what was observed", icon=":material/undo:", on_click=_forget)


def _entered(name: str, key: str, observed: str) -> None:
    value = str(st.session_state[key]).strip()
    state.choose(**{state.PLANNED + name: None if value == observed else value})


def _forget() -> None:
    state.choose(**{state.PLANNED + field.name: None for field in FIELDS})


page(show)
