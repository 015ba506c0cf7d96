"""Charts of a report as Plotly figures. No page and no server in here: who shows a figure decides how."""

from diagnostics.reports.charts.acceptance import acceptance_figure
from diagnostics.reports.charts.bench import (
    comparison_figure,
    curve_figure,
    distribution_figure,
    pareto_figure,
    timeline_figure,
)
from diagnostics.reports.charts.capacity import memory_figure, roofline_figure
from diagnostics.reports.charts.fleet import fleet_figures
from diagnostics.reports.charts.load import load_figure
from diagnostics.reports.charts.proof import finding_figure
from diagnostics.reports.charts.regimes import ribbon_figure
from diagnostics.reports.charts.stages import ttft_figure

__all__ = [
    "acceptance_figure",
    "comparison_figure",
    "curve_figure",
    "distribution_figure",
    "finding_figure",
    "fleet_figures",
    "load_figure",
    "memory_figure",
    "pareto_figure",
    "ribbon_figure",
    "roofline_figure",
    "timeline_figure",
    "ttft_figure",
]
