"""The ribbon: which constraint was binding on which replica, when."""

from __future__ import annotations

from typing import Any

from diagnostics.model.report import Regime, ReplicaRegimes, Report, Segment
from diagnostics.reports import escape
from diagnostics.reports.charts.base import LEGEND, figure, label, short_names, time_axis, worst_first
from diagnostics.reports.ribbon import CALM, LETTER, MEANING, longest, merged, span
from diagnostics.reports.theme import ON_BRIGHT, ON_REGIME, REGIME_HATCH, Theme, clock, duration

ROW, FRAME = 27, 62
NAME = 14
MAX_ROWS = 24
# A stretch this wide has room for words beside its letter.
_WORDY = 0.22


def ribbon_figure(report: Report, theme: Theme, rows: int = MAX_ROWS) -> Any:
    """One row a replica, worst first; a letter in each stretch, so that no colour carries a meaning alone.

    Args:
        report: the report.
        theme: colours.
        rows: draw so many replicas; the others are counted in a line below.
    """
    shown = worst_first(report)[:rows]
    by_name = {r.replica: r for r in report.regimes}
    made = figure(theme, max(1, len(shown)) * ROW + FRAME, barmode="overlay", bargap=0.22)
    whole = span(report.regimes)
    for regime in Regime:
        parts = [(name, s) for name in shown for s in merged(by_name[name]) if s.regime is regime]
        if parts and whole is not None:
            made.add_bar(**_bars(regime, parts, whole[1] - whole[0], theme))
    _rows(made, shown)
    time_axis(made, report, theme)
    if report.window.start is None and whole is not None:
        made.update_xaxes(range=[whole[0] * 1000, whole[1] * 1000])
    made.update_layout(
        annotations=[*made.layout.annotations, *(_worst(by_name[name], theme) for name in shown)],
        showlegend=True,
        margin={"t": 4, "b": 56},
        uniformtext={"minsize": 9, "mode": "hide"},
        legend=LEGEND | {"y": 0, "yref": "container"},
    )
    _more(made, len(by_name) - len(shown), theme)
    return made


def _rows(made: Any, shown: list[str]) -> None:
    """A row a replica: told apart by its whole name, labelled with a short one."""
    names, short = [escape.markup(name) for name in shown], short_names(shown, NAME)
    made.update_yaxes(
        type="category",
        categoryorder="array",
        categoryarray=names[::-1],
        showgrid=False,
        ticks="",
        tickmode="array",
        tickvals=names,
        ticktext=[short[name] for name in shown],
        automargin=False,
    )


def _bars(regime: Regime, parts: list[tuple[str, Segment]], whole: float, theme: Theme) -> dict[str, Any]:
    """One trace: all stretches of one regime."""
    inferred = all(s.inferred for _, s in parts)
    name = f"{LETTER[regime]}  {MEANING[regime]}" + (" (inferred)" if inferred else "")
    hatch = REGIME_HATCH.get(regime, "")
    return {
        "orientation": "h",
        "name": name,
        "y": [escape.markup(n) for n, _ in parts],
        "base": [s.start * 1000 for _, s in parts],
        "x": [(s.end - s.start) * 1000 for _, s in parts],
        "text": [_words(s, whole) for _, s in parts],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"size": 12, "color": _text_colour(regime, theme)},
        "customdata": [[_hover(s), label(n, 60)] for n, s in parts],
        "hovertemplate": "%{customdata[1]}<br>%{customdata[0]}<extra></extra>",
        "marker": {
            "color": theme.regime(regime),
            "line": {"width": 0.5, "color": theme.line},
            "pattern": {"shape": hatch, "fgcolor": theme.context, "size": 6, "solidity": 0.25},
        },
    }


def _words(part: Segment, whole: float) -> str:
    letter = LETTER[part.regime]
    return (
        f"{letter}  {MEANING[part.regime]}" if whole and (part.end - part.start) / whole >= _WORDY else letter
    )


def _worst(replica: ReplicaRegimes, theme: Theme) -> dict[str, Any]:
    """At the end of a row: the limit that held longest and its share of the time."""
    return {
        "text": longest(replica),
        "x": 1,
        "xref": "paper",
        "y": escape.markup(replica.replica),
        "xanchor": "left",
        "xshift": 6,
        "showarrow": False,
        "font": {"size": 12, "color": theme.ink},
    }


def _text_colour(regime: Regime, theme: Theme) -> str:
    if regime in CALM:
        return theme.muted
    if regime is Regime.DOWN:
        return theme.regime(Regime.UNDECIDED)
    return ON_REGIME.get(regime, ON_BRIGHT)


def _hover(part: Segment) -> str:
    inferred = ", inferred" if part.inferred else ""
    held = duration(part.end - part.start)
    return f"{MEANING[part.regime]}{inferred}<br>{clock(part.start)} to {clock(part.end)} UTC, {held}"


def _more(made: Any, hidden: int, theme: Theme) -> None:
    if hidden > 0:
        made.add_annotation(
            text=f"and {hidden} more replicas",
            xref="paper",
            yref="paper",
            x=1,
            y=0,
            yshift=-44,
            showarrow=False,
            xanchor="right",
            font={"size": 12, "color": theme.muted},
        )
