"""Load over time: running, waiting, finished per second, on one time axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from diagnostics.model.report import Diagnosis
from diagnostics.reports.cards import primary
from diagnostics.reports.charts.base import incident, lines, shade
from diagnostics.reports.charts.panels import Panel, panels, pick
from diagnostics.reports.theme import Theme

MEASURES = (("running", "running"), ("waiting", "waiting"), ("requests_finished", "finished"))


def load_figure(diagnosis: Diagnosis, theme: Theme, replicas: Sequence[str] | None = None) -> Any | None:
    """Three panels on one time axis; None where no input has a course over time.

    Args:
        diagnosis: report and points.
        theme: colours.
        replicas: draw these only; None draws all, with the worst in colour.
    """
    first = primary(diagnosis.report)
    meant = first.scope.replicas if first else ()
    shown = []
    for signal, name in MEASURES:
        found = lines(diagnosis, signal, replicas)
        if found:
            strong, context = pick(diagnosis.report, found, meant)
            shown.append(Panel(name, found[0].unit, strong, context, filled=signal == "waiting"))
    if not shown:
        return None
    made = panels(diagnosis.report, shown, theme, heights=[1.0] * len(shown))
    shade(made, diagnosis.report, incident(diagnosis.report), theme)
    return made
