"""Charts of benchmark runs: sweep with its knee, speed for one user against output, quantiles, requests over time, A/B."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from plotly.subplots import make_subplots

from diagnostics.model.bench_view import Comparison, Curve, Distribution, ParetoPoint, Timeline
from diagnostics.reports.charts.base import LEGEND, figure, label, share_ticks, style
from diagnostics.reports.theme import Theme, duration

METRICS = {"ttft": "time to first token", "tpot": "time per output token", "e2e": "whole request",
           "output_tps": "output tokens/s"}  # fmt: skip
_DASHES = ("solid", "dash", "dot", "dashdot")
_SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "x")
_MARGIN = {"l": 66, "r": 24, "t": 34, "b": 44}


def curve_figure(curve: Curve, theme: Theme) -> Any:
    """Output above, time to first token below, over the load; the knee shaded, the target as a line."""
    made = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.16)
    style(made, theme, 340)
    loads = [p.load for p in curve.points]
    line = {"color": theme.strong, "width": 2.2}
    context = {"color": theme.muted, "width": 1.4, "dash": "dash"}
    marks = {"color": theme.strong, "size": 7}
    made.add_scatter(x=loads, y=[p.rate for p in curve.points], mode="lines+markers", line=line, marker=marks, row=1, col=1,
                     name="output", hovertemplate=f"%{{y:,.4~g}} {curve.rate_unit} at %{{x:,.4~g}}<extra></extra>")  # fmt: skip
    made.add_scatter(x=loads, y=[p.ttft for p in curve.points], mode="lines+markers", line=line, marker=marks, row=2, col=1,
                     name="median", hovertemplate="median %{y:.3~g} s at %{x:,.4~g}<extra></extra>")  # fmt: skip
    if any(p.ttft_p99 is not None for p in curve.points):
        made.add_scatter(x=loads, y=[p.ttft_p99 for p in curve.points], mode="lines", line=context, row=2, col=1, name="p99",
                         hovertemplate="p99 %{y:.3~g} s at %{x:,.4~g}<extra></extra>")  # fmt: skip
    spread_out = max(loads) > 20 * max(min(loads), 1e-9)
    made.update_xaxes(type="log" if spread_out else "linear", fixedrange=True, tickvals=loads if spread_out else None,
                      ticktext=[f"{x:g}" for x in loads] if spread_out else None)  # fmt: skip
    made.update_xaxes(title={"text": curve.unit, "standoff": 4}, row=2, col=1)
    _title(made, 1, f"<b>Output</b>, {curve.rate_unit}", theme)
    _title(made, 2, "<b>Time to first token</b>, seconds (median, p99 dashed)", theme)
    _knee(made, curve, theme, logarithmic=spread_out)
    if curve.slo_ttft is not None:
        made.add_hline(y=curve.slo_ttft, row=2, col=1, line={"color": theme.ink, "width": 1.2, "dash": "dot"})
        made.add_annotation(x=0, xref="x2 domain", y=curve.slo_ttft, yref="y2", text=f"target {duration(curve.slo_ttft)}",
                            showarrow=False, xanchor="left", yanchor="bottom", font={"size": 12, "color": theme.ink})  # fmt: skip
    made.update_layout(margin=_MARGIN | {"r": 44})
    return made


def _knee(made: Any, curve: Curve, theme: Theme, *, logarithmic: bool) -> None:
    """Shade the interval in which the knee lies, and name it."""
    if curve.bad is None:
        return
    first = curve.good if curve.good is not None else curve.points[0].load
    for row in (1, 2):
        made.add_vrect(
            x0=first, x1=curve.bad, fillcolor=theme.shade, line_width=0, layer="below", row=row, col=1
        )
    if first == curve.bad:
        made.add_vline(x=curve.bad, line={"color": theme.muted, "dash": "dot", "width": 1})
    middle = math.sqrt(first * curve.bad) if logarithmic else (first + curve.bad) / 2
    made.add_annotation(x=math.log10(middle) if logarithmic else middle, xref="x", y=0, yref="y domain", text="knee",
                        showarrow=False, yanchor="bottom", font={"size": 12, "color": theme.ink})  # fmt: skip


def pareto_figure(points: Sequence[ParetoPoint], theme: Theme) -> Any | None:
    """Tokens/s that one user sees against tokens/s of one GPU; the levels that nothing beats on both, joined."""
    if len(points) < 2:
        return None
    made = figure(theme, 320)
    runs = list(dict.fromkeys(p.run for p in points))
    front = sorted((p for p in points if p.best), key=lambda p: p.per_user)
    made.add_scatter(x=[p.per_user for p in front], y=[p.per_gpu for p in front], mode="lines", hoverinfo="skip",
                     line={"color": theme.strong, "width": 2}, name="best", showlegend=len(front) > 1)  # fmt: skip
    for i, run in enumerate(runs[: len(_SYMBOLS)]):
        mine = [p for p in points if p.run == run]
        made.add_scatter(
            x=[p.per_user for p in mine], y=[p.per_gpu for p in mine], mode="markers", name=label(run, 36),
            marker={"symbol": _SYMBOLS[i], "size": 9, "line": {"width": 1.5, "color": theme.strong if i == 0 else theme.muted},
                    "color": [theme.strong if p.best else theme.context for p in mine]},
            text=[label(p.level, 40) for p in mine],
            hovertemplate="%{text}: %{x:.3~g} tokens/s for a user, %{y:,.4~g} tokens/s of a GPU<extra></extra>",
        )  # fmt: skip
    made.update_xaxes(
        title={"text": "tokens/s for one user", "standoff": 4}, fixedrange=True, rangemode="tozero"
    )
    made.update_yaxes(title={"text": "tokens/s of one GPU", "standoff": 6})
    made.update_layout(showlegend=True, legend=LEGEND | {"y": 1.02}, margin=_MARGIN | {"t": 60})
    return made


def distribution_figure(found: Sequence[Distribution], theme: Theme) -> Any | None:
    """Seconds by share of requests, one line a level; the heaviest level strong."""
    if not found:
        return None
    made = figure(theme, 260)
    for i, item in enumerate(found):
        last = i == len(found) - 1
        made.add_scatter(
            x=[share for share, _ in item.quantiles], y=[value for _, value in item.quantiles], mode="lines+markers",
            name=label(item.level, 30), marker={"size": 4},
            line={"color": theme.strong if last else theme.muted, "width": 2.2 if last else 1.4, "dash": _DASHES[
                (len(found) - 1 - i) % len(_DASHES)]},
            hovertemplate="%{x:.1%} of requests within %{y:.3~g} s<extra>" + label(item.level, 30) + "</extra>",
        )  # fmt: skip
    made.update_xaxes(title={"text": "share of requests", "standoff": 4}, fixedrange=True, **share_ticks(1.0))
    made.update_yaxes(title={"text": "seconds", "standoff": 6})
    made.update_layout(showlegend=True, legend=LEGEND | {"y": 1.02}, margin=_MARGIN | {"t": 52})
    return made


def timeline_figure(item: Timeline, theme: Theme) -> Any:
    """One line a request: waiting until its first token, then answering; failed ones in the colour of alarm."""
    made = figure(theme, 300)
    rows = range(len(item.starts))
    waits = [e if math.isnan(f) else f for f, e in zip(item.firsts, item.ends, strict=True)]
    for name, begins, ends, colour, wanted in (
        ("until the first token", item.starts, waits, theme.stage_queue, False),
        ("answering", waits, item.ends, theme.stage_prefill, False),
        ("failed", item.starts, item.ends, theme.alarm, True),
    ):
        chosen = [i for i in rows if item.failed[i] is wanted]
        made.add_scatter(
            x=[v for i in chosen for v in (begins[i], ends[i], None)],
            y=[v for i in chosen for v in (i + 1, i + 1, None)],
            mode="lines", name=name, line={"color": colour, "width": 2}, showlegend=bool(chosen), hoverinfo="skip",
        )  # fmt: skip
    made.update_xaxes(title={"text": "seconds since the first request", "standoff": 4}, fixedrange=True)
    made.update_yaxes(title={"text": "request", "standoff": 6}, autorange="reversed", rangemode="normal")
    made.update_layout(showlegend=True, legend=LEGEND | {"y": 1.02}, margin=_MARGIN | {"t": 52})
    return made


def comparison_figure(item: Comparison, theme: Theme) -> Any:
    """B by A for every figure and load, with its interval; one is no change."""
    rows = [(f"{METRICS.get(r.metric, r.metric)}{f', {r.load}' if r.load else ''}", r) for r in item.rows][
        :24
    ]
    made = figure(theme, 90 + 26 * len(rows))
    ratios = [r.b / r.a for _, r in rows]
    made.add_scatter(
        x=ratios, y=[label(text, 60) for text, _ in rows], mode="markers",
        marker={"size": 9, "color": [theme.strong if r.interval else theme.context for _, r in rows],
                "symbol": ["circle" if r.interval else "circle-open" for _, r in rows]},
        error_x={"type": "data", "symmetric": False, "color": theme.strong, "thickness": 1.4, "width": 4,
                 "array": [max(0.0, r.interval[1] - x) if r.interval else None for x, (_, r) in zip(ratios, rows, strict=True)],
                 "arrayminus": [max(0.0, x - r.interval[0]) if r.interval else None for x, (_, r) in zip(ratios, rows,
                                                                                                       strict=True)]},
        hovertemplate="%{y}: %{x:.3f} times<extra></extra>",
    )  # fmt: skip
    made.add_vline(x=1, line={"color": theme.ink, "width": 1.2, "dash": "dash"})
    made.update_xaxes(title={"text": "B by A (open circle: noise unknown)", "standoff": 4}, fixedrange=True)
    made.update_yaxes(
        autorange="reversed", rangemode="normal", automargin=True, gridcolor=theme.line, nticks=None
    )
    made.update_layout(margin=_MARGIN | {"l": 20, "t": 14})
    return made


def _title(made: Any, row: int, text: str, theme: Theme) -> None:
    made.add_annotation(x=0, xref="x domain", y=1, yref="y domain", text=text, showarrow=False, xanchor="left",
                        yanchor="bottom", yshift=3, font={"size": 12, "color": theme.ink}, row=row, col=1)  # fmt: skip
