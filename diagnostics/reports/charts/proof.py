"""The proof of one finding: the signal that decided with its limit, and what lends it context."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from diagnostics.model.bench_view import Curve
from diagnostics.model.findings import Evidence, Finding
from diagnostics.model.report import Diagnosis
from diagnostics.reports.charts.base import Line, lines, shade
from diagnostics.reports.charts.bench import curve_figure
from diagnostics.reports.charts.panels import Limit, Panel, panels, pick
from diagnostics.reports.theme import Theme, format_value

MAX_PANELS = 4
# A share of few tokens jumps; it is taken over so many scrapes.
SCRAPES = 5
# Signals that are only worth a chart as a share of each other: (part, whole, name).
RATIOS = {
    "prefix_hit_rate": ("prefix_hits", "prefix_queries", "prefix tokens found in the cache"),
    "spec_accept_rate": ("spec_accepted_tokens", "spec_draft_tokens", "drafted tokens accepted"),
}
NAMES = {
    "kv_usage": "KV cache in use", "iteration_tokens": "tokens per step", "ttft": "time to first token",
    "itl": "gap between tokens", "queue_time": "wait for the first schedule", "e2e": "whole request",
    "generation_tokens": "generated", "prompt_tokens": "prompt", "requests_finished": "finished",
    "prefill_time": "prefill", "up": "answers scrapes", "spec_draft_tokens": "drafted",
    "spec_accepted_tokens": "accepted", "prefix_queries": "prefix lookups", "prefix_hits": "prefix hits",
    "waiting_deferred": "waiting, deferred",
}  # fmt: skip
MEANS = frozenset({"ttft", "itl", "queue_time", "prefill_time", "e2e", "iteration_tokens"})


def finding_figure(diagnosis: Diagnosis, finding: Finding, theme: Theme) -> Any | None:
    """The deciding signal large and strong, its context below, the time of the finding shaded.

    Returns:
        None where none of the finding's signals has a course over time, and no sweep is behind it.
    """
    if (curve := _sweep(diagnosis, finding)) is not None:
        return curve_figure(curve, theme)
    shown = list(itertools.islice(_panels(diagnosis, finding), MAX_PANELS))
    if not shown:
        return None
    made = panels(diagnosis.report, shown, theme, heights=[1.75] + [0.8] * (len(shown) - 1))
    window = finding.window
    if window.start is not None and window.end is not None:
        shade(made, diagnosis.report, (window.start, window.end), theme)
    return made


def _sweep(diagnosis: Diagnosis, finding: Finding) -> Curve | None:
    """The sweep that a finding rests on: its evidence names a run where others name a replica."""
    curves = diagnosis.bench.curves if diagnosis.bench is not None else ()
    named = [e.replica for e in finding.evidence]
    return next((c for c in curves if any(n == c.run or n.startswith(f"{c.run}, ") for n in named)), None)


def _panels(diagnosis: Diagnosis, finding: Finding) -> Iterator[Panel]:
    """Panels in the order of the rule, which names the deciding signal first."""
    signals = list(finding.chart.signals)
    limits = finding.chart.thresholds
    first = True
    for rate, (part, whole, name) in RATIOS.items():
        if rate in limits and part in signals:
            found = _shares(lines(diagnosis, part), lines(diagnosis, whole))
            if found:
                yield _panel(
                    diagnosis,
                    finding,
                    found,
                    name=name,
                    limit=_limit(finding, rate, limits[rate]),
                    deciding=first,
                )
                first = False
                signals = [s for s in signals if s not in (part, whole)] + [whole]
    for signal in signals:
        found = lines(diagnosis, signal)
        if found:
            name = NAMES.get(signal, signal.replace("_", " ")) + (", mean" if signal in MEANS else "")
            limit = _limit(finding, signal, limits[signal]) if signal in limits else None
            yield _panel(diagnosis, finding, found, name=name, limit=limit, deciding=first)
            first = False


def _panel(
    diagnosis: Diagnosis,
    finding: Finding,
    found: list[Line],
    *,
    name: str,
    limit: Limit | None,
    deciding: bool,
) -> Panel:
    strong, context = pick(diagnosis.report, found, finding.scope.replicas)
    return Panel(
        name,
        found[0].unit,
        strong,
        context,
        (limit,) if limit else (),
        found[0].signal == "waiting",
        deciding,
    )


def _limit(finding: Finding, signal: str, value: float) -> Limit:
    """A limit with the word for where it was learnt."""
    held = next((e for e in finding.evidence if _is_about(e, signal, value)), None)
    unit = held.unit if held else "ratio" if signal in RATIOS or signal == "kv_usage" else ""
    what = {"running": "cap", "iteration_tokens": "budget"}.get(signal, "limit")
    learnt = f", {held.provenance.value}" if held and what == "cap" else ""
    return Limit(value, f"{what} {format_value(value, unit)}{learnt}")


def _is_about(item: Evidence, signal: str, value: float) -> bool:
    return item.signal == signal and item.threshold is not None and abs(item.threshold - value) < 1e-9


def _shares(parts: list[Line], wholes: list[Line]) -> list[Line]:
    """Part by whole over a few scrapes; a gap where nothing was counted."""
    by_replica = {w.replica: w for w in wholes}
    made = []
    for part in parts:
        whole = by_replica.get(part.replica)
        if whole is None or len(whole.times) != len(part.times):
            continue
        around = np.ones(SCRAPES)
        counted = np.convolve(np.nan_to_num(whole.values), around, "same")
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.convolve(np.nan_to_num(part.values), around, "same") / counted
        shares[counted <= 0] = np.nan
        if np.isfinite(shares).any():
            made.append(Line(part.replica, part.signal, "ratio", part.times, shares))
    return made
