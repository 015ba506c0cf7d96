"""The knee of a sweep: its interval, its thresholds, and the highest load within the SLOs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, fired, loud, reason

from diagnostics.execute.bench_knee import ADDED_SECONDS, FAR_BELOW, LATENCY_RATIO, MIN_SINGLE
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason

SLUG = "past-saturation-knee"
RATES = (1.0, 2.0, 4.0, 8.0, 16.0)


def _sweep(last_ttft: float, served: float = 1.0) -> list[dict[str, Any]]:
    """Rates that all keep up at 0.2 s but for the highest one."""
    calm = [serve(rate=r, n=int(100 * r), ttft=0.2) for r in RATES[:-1]]
    n = int(100 * RATES[-1])
    return [*calm, serve(rate=RATES[-1], n=n, ttft=last_ttft, duration=(n / RATES[-1] + 1) / served)]


@pytest.mark.parametrize(("ratio", "fires"), [(LATENCY_RATIO - 0.1, False), (LATENCY_RATIO + 0.1, True)])
def test_latency_by_that_of_light_load(ratio: float, fires: bool, tmp_path: Path) -> None:
    """A level whose first tokens wait is past the knee, and the knee lies below it."""
    report = judge_bench(tmp_path, *_sweep(0.2 * ratio))
    assert (SLUG in loud(report)) is fires
    if fires:
        assert report.verdict.primary == SLUG
        assert "between 8 and 16 requests/s" in report.verdict.headline
    else:
        assert reason(report, SLUG) is Reason.TOO_FEW_SAMPLES


def test_a_wait_that_nobody_feels(tmp_path: Path) -> None:
    """Several times a few milliseconds is no queue."""
    sweep = [serve(rate=r, n=int(100 * r), ttft=0.02) for r in RATES[:-1]]
    sweep.append(serve(rate=16.0, n=1600, ttft=0.02 + 0.9 * ADDED_SECONDS))
    assert not fired(judge_bench(tmp_path, *sweep), SLUG)


@pytest.mark.parametrize(("served", "fires"), [(0.95, False), (0.85, True)])
def test_less_is_served_than_sent(served: float, fires: bool, tmp_path: Path) -> None:
    """Beyond what chance in the arrivals explains, even where first tokens stay quick."""
    assert fired(judge_bench(tmp_path, *_sweep(0.2, served)), SLUG) is fires


def test_two_levels_are_no_sweep(tmp_path: Path) -> None:
    """Nothing is said of a knee."""
    assert reason(judge_bench(tmp_path, *_sweep(5.0)[-2:]), SLUG) is Reason.TOO_FEW_SAMPLES


def test_the_highest_load_within_the_slo(tmp_path: Path) -> None:
    """Goodput is the highest load up to which every level meets it."""
    report = judge_bench(tmp_path, *_sweep(5.0), slo={"ttft_p99": 1.0})
    assert "The highest load that meets the SLO (ttft_p99 1.0 s) is 8 requests/s" in report.verdict.headline
    report = judge_bench(tmp_path, *_sweep(5.0), slo={"ttft_p99": 0.1})
    assert "No load tried meets the SLO" in report.verdict.headline


@pytest.mark.parametrize(
    ("rates", "severity"),
    [
        ((100.0, 200.0, 400.0, 800.0), None),
        ((100.0, 200.0, 400.0, 410.0), Severity.INFO),
        ((100.0, 200.0, 205.0, 210.0), Severity.WARNING),
        ((100.0, 200.0, 225.0, 250.0), Severity.WARNING),
        ((100.0, 200.0, 150.0, 280.0), None),
    ],
)
def test_a_closed_loop_is_flat(rates: tuple[float, ...], severity: Severity | None, tmp_path: Path) -> None:
    """Doubling the open requests adds nothing: one odd level is a remark, two are the knee; a dip is none."""
    caps = (4, 8, 16, 32)
    sweep = [serve(cap=c, output_tps=r, e2e=100 * c / r) for c, r in zip(caps, rates, strict=True)]
    found = finding(judge_bench(tmp_path, *sweep), SLUG)
    assert (found.severity if found else None) is severity
    if found:
        assert "open requests" in found.summary


@pytest.mark.parametrize(("served", "ttft", "n", "fires"), [
    (0.5, 50.0, 400, True), (FAR_BELOW + 0.02, 50.0, 400, False), (0.5, 0.2, 400, False), (0.5, 50.0, MIN_SINGLE - 1, False),
])  # fmt: skip
def test_one_run_far_above(served: float, ttft: float, n: int, fires: bool, tmp_path: Path) -> None:
    """Half of what is offered is served and first tokens wait; long answers alone are no queue."""
    result = serve(rate=4.0, n=n, duration=n / 4.0 / served, ttft=ttft)
    assert fired(judge_bench(tmp_path, result), SLUG) is fires
