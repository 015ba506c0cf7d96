"""Clocks held down, as the driver records it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording, Value
from support.vllm import counter, vllm

from diagnostics.model.report import Report

SLUG = "gpu-throttled"
N = 61
Judge = Callable[..., Report]


def gpu(running: float = 8, **series: list[Value]) -> Recording:
    """A server whose GPU 3 has these series; GPU 0 runs at 1,755 MHz."""
    recording = vllm(N, running=running)
    target = {"instance": "vllm-0:8000", "job": "vllm"}
    recording.add("DCGM_FI_DEV_SM_CLOCK", [1755.0] * N, **target, gpu="0")
    for name, values in series.items():
        recording.add(f"DCGM_FI_DEV_{name}", values, **target, gpu="3")
    return recording


def thermal(share: float) -> list[Value]:
    """Nanoseconds of violation: 5 s between scrapes."""
    return counter(share * 5e9, N)


@pytest.mark.parametrize("carrier", ["openmetrics", "query_range"])
def test_fires_on_heat(judge: Judge, carrier: str) -> None:
    report = judge(gpu(THERMAL_VIOLATION=thermal(0.6), SM_CLOCK=[1065.0] * N, GPU_TEMP=[87.0] * N), carrier)
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert "GPU 3" in finding.summary
    assert "heat" in finding.summary
    assert "87 degrees" in finding.explanation


@pytest.mark.parametrize(("share", "fires"), [(0.09, False), (0.11, True)])
def test_threshold_of_the_time_held(judge: Judge, share: float, fires: bool) -> None:
    report = judge(gpu(THERMAL_VIOLATION=thermal(share)))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("clock", "fires"), [(1420.0, False), (1400.0, True)])
def test_a_power_limit_counts_at_low_clocks_only(judge: Judge, clock: float, fires: bool) -> None:
    report = judge(gpu(POWER_VIOLATION=thermal(0.9), SM_CLOCK=[clock] * N))
    assert (found(report, SLUG) is not None) is fires


@pytest.mark.parametrize(
    ("mask", "fires"),
    [(0, False), (1, False), (4, False), (8, True), (32, True), (64 | 4, True), (128, True)],
)
def test_bits_of_the_driver(judge: Judge, mask: int, fires: bool) -> None:
    """Idle (1) and the power limit at full clocks (4) are no fault."""
    report = judge(gpu(CLOCK_THROTTLE_REASONS=[float(mask)] * N, SM_CLOCK=[1755.0] * N))
    assert (found(report, SLUG) is not None) is fires


def test_quiet_when_idle(judge: Judge) -> None:
    assert found(judge(gpu(0, THERMAL_VIOLATION=thermal(0.6))), SLUG) is None


@pytest.mark.parametrize(("code", "fires"), [(79.0, True), (94.0, True), (13.0, False), (31.0, False)])
def test_a_new_error_of_the_hardware(judge: Judge, code: float, fires: bool) -> None:
    report = judge(gpu(XID_ERRORS=[0.0] * 30 + [code] * 31))
    assert (found(report, SLUG) is not None) is fires


def test_an_old_error_is_sticky_and_no_news(judge: Judge) -> None:
    passed(judge(gpu(XID_ERRORS=[79.0] * N)), SLUG)


def test_missing_exporter(judge: Judge) -> None:
    assert unanswered(judge(vllm(N)), SLUG) == "not-in-this-input"
