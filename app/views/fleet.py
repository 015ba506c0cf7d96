"""Fleet: the replicas side by side, sortable, and how evenly the work is shared."""

from __future__ import annotations

import streamlit as st

from app import charts, fleet_table, parts, words
from app.frame import Opened, page
from diagnostics.reports.charts import fleet_figures, ribbon_figure

RULES = frozenset(
    {
        "round-robin-imbalance",
        "rank-imbalance",
        "routing-skew",
        "replica-down-or-restarting",
        "replica-outlier",
        "prefix-blind-routing",
        "rps-without-tokens",
    }
)


def show(opened: Opened) -> None:
    """Lay the page out."""
    rows = fleet_table.rows(opened.diagnosis)
    if not rows:
        st.html(words.stand_in("Nothing to compare", "The inputs carry no course over time of any replica."))
        return
    st.dataframe(
        {name: [row[name] for row in rows] for name in rows[0]},
        hide_index=True,
        width="stretch",
        key="fleet-table",
        column_config={
            m.name: st.column_config.NumberColumn(m.name, format=m.format, help=m.help)
            for m in fleet_table.MEASURES
        },
        alt="Means of every replica over the time seen.",
    )
    figures = fleet_figures(opened.diagnosis, opened.theme)
    if figures:
        st.html(words.heading("How evenly the work is shared"))
        for number, figure in enumerate(figures):
            charts.show(figure, f"fleet-{number}", opened.chosen, alt="One row a measure, one dot a replica.")
    elif len(rows) == 1:
        st.caption("One replica: there is nothing to compare it with.")
    if opened.report.regimes:
        st.html(words.heading("What was binding"))
        charts.show(
            ribbon_figure(opened.report, opened.theme),
            "ribbon",
            opened.chosen,
            by="click",
            alt="Regimes by replica.",
        )
    parts.findings(opened, RULES)


page(show)
