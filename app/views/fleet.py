"""Fleet: the replicas side by side, sortable, and how evenly the work is shared."""

from __future__ import annotations

import streamlit as st

from app import charts, fleet_table, gestures, parts, words
from app.frame import Opened, page
from diagnostics.reports.charts import fleet_figures

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

MOST_ROWS = 200


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
    dots = charts.drawn(
        opened, "fleet", lambda: next(iter(fleet_figures(opened.diagnosis, opened.theme)), None)
    )
    if dots is not None:
        st.html(words.heading("How evenly the work is shared"))
        charts.show(opened, dots, "One row a measure, one dot a replica.")
    elif len(rows) == 1:
        st.caption("One replica: there is nothing to compare it with.")
    gestures.when_near("ribbon", 300, lambda: parts.binding(opened, MOST_ROWS))
    parts.findings(opened, RULES)


page(show)
