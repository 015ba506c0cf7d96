"""Pages about one topic: the charts of its signals, and the findings of its rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st
from msgspec import Struct
from msgspec.structs import replace

from app import charts, parts, words
from app.frame import Opened
from diagnostics.model.findings import ChartHint, Evidence, Finding, Impact, Role, Scope, Severity, Window
from diagnostics.reports.charts import finding_figure

IN_VIEW = 2
"""So many charts are in view when the page opens."""


class Topic(Struct, frozen=True):
    """What a page is about.

    Attributes:
        rules: slugs of the rules whose findings belong here.
        pictures: (heading, signals) of the charts, the strong signal first.
        absent: what to say where no input carries any of the signals.
        how: how to get them.
    """

    rules: frozenset[str]
    pictures: tuple[tuple[str, ChartHint], ...]
    absent: str
    how: str


def lay_out(opened: Opened, topic: Topic) -> None:
    """Charts in two columns, then the findings, then what of this topic could not be checked."""
    measured = {s.signal for s in opened.diagnosis.series}
    shown = [(title, hint) for title, hint in topic.pictures if measured.intersection(hint.signals)]
    if not shown:
        st.html(words.stand_in(topic.absent, topic.how))
    columns = st.columns(2, gap="medium") if len(shown) > 1 else [st.container()]
    for number, (title, hint) in enumerate(shown):
        make = partial(picture, opened, hint)
        with columns[number % len(columns)]:
            st.html(words.heading(title))
            if number < IN_VIEW:
                charts.show(opened, charts.drawn(opened, f"topic-{title}", make, by="drag"), title)
            else:
                charts.later(opened, f"topic-{title}", make, title, by="drag")
    parts.findings(opened, topic.rules, folded=True)
    report = opened.report
    parts.looked_at(
        replace(
            opened,
            diagnosis=replace(
                opened.diagnosis,
                report=replace(
                    report,
                    passed=tuple(p for p in report.passed if p in topic.rules),
                    not_evaluated=tuple(n for n in report.not_evaluated if n.rule in topic.rules),
                    suppressed={k: v for k, v in report.suppressed.items() if k in topic.rules},
                ),
            ),
        )
    )


def picture(opened: Opened, hint: ChartHint) -> Any | None:
    """A chart of some signals over time, without a finding behind it; None where no input has them."""
    evidence: Sequence[Evidence] = ()
    nobody = Finding(
        code="",
        rule="",
        title="",
        severity=Severity.INFO,
        role=Role.ADVICE,
        confidence=0.0,
        confidence_because="",
        scope=Scope("", "", ()),
        window=_incident(opened),
        summary="",
        explanation="",
        evidence=tuple(evidence),
        chart=hint,
        impact=Impact(""),
        remedies=(),
        do_not=(),
        refuted_by="",
        verify=(),
        explains=(),
        runbook="",
    )
    return finding_figure(opened.diagnosis, nobody, opened.theme)


def _incident(opened: Opened) -> Window:
    """The stretch that the verdict is about, so that every chart shades the same."""
    verdict = opened.report.verdict
    return next((f.window for f in opened.report.findings if f.rule == verdict.primary), Window(None, None))
