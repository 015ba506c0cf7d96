"""Charts of benchmark runs: what they draw, and that a name from a file stays a name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bench import serve

from diagnostics import Options, diagnose
from diagnostics.model.bench_view import Compared, Comparison, Curve, CurvePoint, ParetoPoint
from diagnostics.reports import html
from diagnostics.reports.charts import comparison_figure, curve_figure, pareto_figure
from diagnostics.reports.theme import Theme

POINTS = tuple(
    CurvePoint(load, 100 * min(load, 4), 0.1 * load, 0.3 * load, 0.02, 1.0) for load in (1.0, 2.0, 4.0, 8.0)
)


def _curve(good: float | None, bad: float | None, slo: float | None = None, run: str = "a") -> Curve:
    return Curve(run, "requests/s", "tokens/s", POINTS, good, bad, None, slo)


@pytest.mark.parametrize("theme", [Theme.LIGHT, Theme.DARK], ids=lambda t: t.name)
def test_a_sweep_shows_its_knee_and_target(theme: Theme) -> None:
    """The interval is shaded from the last good load to the first bad one, the target is a line."""
    drawn = curve_figure(_curve(4.0, 8.0, 2.0), theme).to_dict()
    shaded = [s for s in drawn["layout"]["shapes"] if s["type"] == "rect"]
    assert {(s["x0"], s["x1"]) for s in shaded} == {(4.0, 8.0)}
    assert any(s["type"] == "line" and s["y0"] == 2.0 for s in drawn["layout"]["shapes"])
    assert {"knee", "target 2.0 s"} <= {a["text"] for a in drawn["layout"]["annotations"]}


def test_a_sweep_without_a_knee_shows_none() -> None:
    """Nothing is shaded and no target drawn where there is none."""
    drawn = curve_figure(_curve(None, None), Theme.LIGHT).to_dict()
    assert not drawn["layout"].get("shapes")


def test_the_front_joins_what_nothing_beats() -> None:
    """Two of three levels are on it."""
    points = [
        ParetoPoint("a", "1", 100, 10, True),
        ParetoPoint("a", "8", 50, 60, True),
        ParetoPoint("<b>", "4", 40, 40, False),
    ]
    drawn = pareto_figure(points, Theme.LIGHT)
    assert list(drawn.data[0].x) == [50, 100]
    assert "<b>" not in {t.name for t in drawn.data}
    assert pareto_figure(points[:1], Theme.LIGHT) is None


def test_an_interval_is_drawn_only_where_noise_is_known() -> None:
    """A filled point with its bar, and an open one without."""
    rows = (
        Compared("ttft", "s", "", 0.1, 0.2, (1.8, 2.3), "requests"),
        Compared("e2e", "s", "", 1.0, 1.1, None, ""),
    )
    (trace,) = comparison_figure(Comparison("a", "b", "baseline", rows, ()), Theme.LIGHT).data
    assert list(trace.marker.symbol) == ["circle", "circle-open"]
    assert trace.error_x.array[0] == pytest.approx(0.3)
    assert trace.error_x.array[1] is None


def test_a_report_shows_the_sweep_beside_its_finding(tmp_path: Path) -> None:
    """The HTML of a sweep past its knee holds the curve."""
    for rate, ttft in ((1.0, 0.1), (2.0, 0.1), (4.0, 0.12), (8.0, 30.0)):
        result = serve(rate=rate, n=300, duration=300 / min(rate, 4.4), ttft=ttft)
        (tmp_path / f"rate{rate:g}.json").write_text(json.dumps(result))
    diagnosis = diagnose([str(tmp_path)], Options(slo={"ttft_p99": 2.0}), charts=True)
    page = html.render(diagnosis)
    assert "Time to first token" in page
    assert '"text":"knee"' in page
