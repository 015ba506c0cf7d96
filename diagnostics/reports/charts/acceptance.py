"""Acceptance by draft position: bars that fall from left to right, and where a position stops paying."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.findings import Finding
from diagnostics.reports.charts.base import figure, share_ticks
from diagnostics.reports.theme import Theme, percent

_LISTED = re.compile(r"[Aa]cceptance by position: ((?:\d?\.?\d+(?:, )?)+)")
_POSITION = re.compile(r"position (\d+)")


def acceptance_figure(finding: Finding, theme: Theme) -> Any | None:
    """Bars by position, or None where the finding does not tell acceptance by position."""
    rates = _from_evidence(finding) or _from_words(finding)
    if len(rates) < 2:
        return None
    made = figure(theme, 210)
    made.add_bar(
        x=[str(i + 1) for i in range(len(rates))],
        y=rates,
        text=[percent(r) for r in rates],
        textposition="outside",
        textfont={"color": theme.ink, "size": 12},
        cliponaxis=False,
        marker={"color": theme.strong},
        hovertemplate="position %{x}: %{text} accepted<extra></extra>",
    )
    made.update_xaxes(
        type="category", fixedrange=True, title={"text": "position in the draft", "standoff": 4}
    )
    made.update_yaxes(range=[0, 1.08], title={"text": "accepted", "standoff": 4}, **share_ticks(1.0))
    limit = next((e.threshold for e in finding.evidence if "position" in e.statistic and e.threshold), None)
    if limit is not None:
        made.add_hline(
            y=limit,
            line={"color": theme.ink, "width": 1.2, "dash": "dash"},
            annotation={"text": f"pays above {percent(limit)}", "font": {"color": theme.ink, "size": 12}},
        )
    made.update_layout(bargap=0.45, margin={"r": 24, "b": 50})
    return made


def _from_evidence(finding: Finding) -> list[float]:
    found = {
        int(match.group(1)): e.value
        for e in finding.evidence
        if e.signal in ("spec_accepted_per_pos", "spec_pos_rate") and (match := _POSITION.search(e.statistic))
    }
    return [found[k] for k in sorted(found)]


def _from_words(finding: Finding) -> list[float]:
    match = _LISTED.search(finding.explanation)
    return [float(v) for v in match.group(1).rstrip(", ").split(", ")] if match else []
