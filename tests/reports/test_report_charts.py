"""Charts: what is emphasised, where gaps are, one set of colours for each theme."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from report_makers import SCRAPES, START, STEP, made
from support.carriers import write_openmetrics
from support.series import Recording
from support.vllm import add_vllm

from diagnostics import diagnose
from diagnostics.execute.charts import MAX_POINTS
from diagnostics.model.report import Diagnosis, ReplicaRegimes, Segment
from diagnostics.reports.charts import (
    acceptance_figure,
    finding_figure,
    fleet_figures,
    load_figure,
    ribbon_figure,
    ttft_figure,
)
from diagnostics.reports.charts.band import band
from diagnostics.reports.charts.base import line
from diagnostics.reports.theme import REGIME_COLOURS, Theme, counterparts


def figures(diagnosis: Diagnosis, theme: Theme) -> list[Any]:
    report = diagnosis.report
    made_all = [ribbon_figure(report, theme), ttft_figure(report, theme), load_figure(diagnosis, theme)]
    made_all += [finding_figure(diagnosis, f, theme) for f in report.findings]
    return [f for f in [*made_all, *fleet_figures(diagnosis, theme)] if f is not None]


def recoloured(value: Any, pairs: dict[str, str]) -> Any:
    if isinstance(value, str):
        return pairs.get(value, value)
    if isinstance(value, list):
        return [recoloured(v, pairs) for v in value]
    if isinstance(value, dict):
        return {k: recoloured(v, pairs) for k, v in value.items()}
    return value


def test_a_light_figure_recoloured_is_the_dark_figure(capped: Diagnosis) -> None:
    for light, dark in zip(figures(capped, Theme.LIGHT), figures(capped, Theme.DARK), strict=True):
        assert recoloured(json.loads(light.to_json()), counterparts()) == json.loads(dark.to_json())


def test_the_ribbon_carries_letters_and_the_colours_of_regimes(capped: Diagnosis) -> None:
    figure = ribbon_figure(capped.report, Theme.LIGHT)
    cap = next(t for t in figure.data if "concurrency cap" in t.name)
    assert cap.name.startswith("C")
    assert all(text.startswith("C") for text in cap.text)
    assert cap.marker.color == "#E69F00"
    assert list(cap.base) == [START * 1000 + 75_000]
    assert {t.marker.color for t in figure.data} <= {light for light, _ in REGIME_COLOURS.values()}
    assert any(a.text == "C 58 %" for a in figure.layout.annotations)


def test_the_ribbon_of_a_large_fleet_stays_short(capped: Diagnosis) -> None:
    part = capped.report.regimes[0].segments
    many = tuple(ReplicaRegimes(f"pod-{i}", part) for i in range(300))
    figure = ribbon_figure(replace(capped.report, regimes=many), Theme.LIGHT)
    assert figure.layout.height < 900
    assert any(a.text == "and 276 more replicas" for a in figure.layout.annotations)


def test_stages_are_shown_before_and_during(capped: Diagnosis) -> None:
    figure = ttft_figure(capped.report, Theme.LIGHT)
    queue = next(t for t in figure.data if t.name == "queue")
    shown = dict(zip(queue.y, queue.x, strict=True))
    assert shown["pod-0:8000 during"] == pytest.approx(8.3611)
    assert any("8.8 s" in a.text for a in figure.layout.annotations)


def test_load_has_three_panels_and_shades_the_incident(capped: Diagnosis) -> None:
    figure = load_figure(capped, Theme.LIGHT)
    assert len({t.yaxis for t in figure.data}) == 3
    shaded = [s for s in figure.layout.shapes if s.type == "rect"]
    assert [s.x0 for s in shaded] == [(START + 75) * 1000]
    alone = load_figure(capped, Theme.LIGHT, replicas=["pod-1:8000"])
    assert {t.name for t in alone.data} == {"pod-1:8000"}


def test_the_deciding_signal_is_strong_and_its_limit_labelled(capped: Diagnosis) -> None:
    figure = finding_figure(capped, capped.report.findings[0], Theme.LIGHT)
    strong = [t for t in figure.data if t.line.color == Theme.LIGHT.strong]
    assert [t.name for t in strong] == ["pod-0:8000"]
    assert any(a.text == "cap 4 requests, configured" for a in figure.layout.annotations)
    dashed = [s for s in figure.layout.shapes if s.type == "line" and s.line.dash == "dash"]
    assert [s.y0 for s in dashed] == [4]


def test_a_gap_is_a_gap(tmp_path: Path) -> None:
    diagnosis = made(tmp_path, gap=True)
    running = line(next(s for s in diagnosis.series if s.signal == "running"))
    inside = [
        v
        for t, v in zip(running.times / 1000, running.values, strict=True)
        if START + 25 * STEP <= t < START + 32 * STEP
    ]
    assert inside
    assert all(math.isnan(v) for v in inside)
    assert not load_figure(diagnosis, Theme.LIGHT).data[0].connectgaps


def test_replicas_are_compared_only_when_there_are_several(capped: Diagnosis, calm: Diagnosis) -> None:
    assert fleet_figures(calm, Theme.LIGHT) == []
    (figure,) = fleet_figures(capped, Theme.LIGHT)
    rows = {y for t in figure.data for y in t.y}
    assert {"requests", "tokens", "running", "KV cache", "queue wait"} == rows


def test_a_fleet_of_fifty_is_drawn_with_few_names(capped: Diagnosis) -> None:
    running = next(s for s in capped.series if s.signal == "running")
    many = tuple(replace(running, replica=f"pod-{i}") for i in range(50))
    figure = load_figure(replace(capped, series=many), Theme.LIGHT)
    assert len(figure.data) <= 9
    assert len(figure.layout.annotations) < 8


def test_many_replicas_are_a_band_that_keeps_the_peak_of_each(capped: Diagnosis) -> None:
    running = next(s for s in capped.series if s.signal == "running")
    peak = running.values.copy()
    peak[20] = 99.0
    many = [
        replace(running, replica=f"pod-{i}", values=peak if i == 33 else running.values) for i in range(50)
    ]
    area = next(
        t for t in load_figure(replace(capped, series=tuple(many)), Theme.LIGHT).data if t.fill == "toself"
    )
    assert np.nanmax(area.y) == 99.0
    gone = [replace(s, values=np.where(np.arange(len(s.values)) // 15 == 2, np.nan, s.values)) for s in many]
    xs = np.concatenate([item.times for item in map(line, gone)])
    made = band([line(s) for s in gone])
    assert np.isnan(made.high).any()
    assert made.count == 50
    assert made.times.max() <= xs.max() + made.times[1] - made.times[0]


def test_a_long_course_keeps_its_peaks_and_its_mean(tmp_path: Path) -> None:
    scrapes = 4 * MAX_POINTS
    course = [3.0 + i % 2 for i in range(scrapes)]
    course[377], course[700] = 41.0, 0.0
    write_openmetrics(add_vllm(Recording(), scrapes, running=course), tmp_path)
    series = diagnose([str(tmp_path)], charts=True).series
    running = next(s for s in series if s.signal == "running")
    assert MAX_POINTS / 2 <= len(running.times) <= MAX_POINTS
    assert (np.diff(running.times) > 0).all()
    at = {int(v): t for t, v in zip(running.times, running.values, strict=True)}
    assert at[41] == Recording().time(377)
    assert at[0] == Recording().time(700)
    assert running.mean == pytest.approx(sum(course) / scrapes)
    finished = next(s for s in series if s.signal == "requests_finished")
    assert finished.mean == pytest.approx(1.0)
    ttft = next(s for s in series if s.signal == "ttft")
    assert ttft.mean == pytest.approx(0.1)


def test_without_points_or_time_there_is_no_chart(capped: Diagnosis, empty: Diagnosis) -> None:
    assert load_figure(empty, Theme.LIGHT) is None
    assert ttft_figure(empty.report, Theme.LIGHT) is None
    assert finding_figure(replace(capped, series=()), capped.report.findings[0], Theme.LIGHT) is None
    ribbon_figure(empty.report, Theme.LIGHT)


def test_acceptance_by_position_comes_from_the_finding(capped: Diagnosis) -> None:
    finding = capped.report.findings[0]
    assert acceptance_figure(finding, Theme.LIGHT) is None
    told = replace(finding, explanation="Acceptance by position: 0.61, 0.30, 0.12. Every round pays.")
    assert list(acceptance_figure(told, Theme.LIGHT).data[0].y) == [0.61, 0.3, 0.12]


def test_labels_cannot_be_markup_in_a_figure(tmp_path: Path) -> None:
    hostile = '<a href="javascript:alert(1)">x</a>'
    for figure in figures(made(tmp_path, {hostile: True, "b:1": False}), Theme.LIGHT):
        assert "<a" not in figure.to_json()


def test_segments_of_no_length_are_left_out(capped: Diagnosis) -> None:
    first = capped.report.regimes[0].segments[0]
    short = ReplicaRegimes("pod-9", (Segment(START, START, first.regime, False),))
    assert len(ribbon_figure(replace(capped.report, regimes=(short,)), Theme.LIGHT).data) == 0
    assert SCRAPES * STEP == 300


def test_long_names_that_end_alike_stay_apart(tmp_path: Path) -> None:
    names = ("ip-10-0-31-17.eu-west-1.compute.internal:8000", "ip-10-0-31-99.eu-west-1.compute.internal:8000")
    diagnosis = made(tmp_path, {names[0]: True, names[1]: False})
    ribbon = ribbon_figure(diagnosis.report, Theme.LIGHT)
    assert list(ribbon.layout.yaxis.ticktext) == ["ip-10-0-31-17", "ip-10-0-31-99"]
    assert len({y for t in ribbon.data for y in t.y}) == 2
    stages = ttft_figure(diagnosis.report, Theme.LIGHT)
    assert "ip-10-0-31-17 during" in stages.layout.yaxis.ticktext
