"""The idle remark at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Regime, Report
from diagnostics.rules.idle_capacity import HOURS, IDLE_SHARE, MIN_SECONDS

SLUG = "idle-capacity"
Judge = Callable[..., Report]


def _idle(n: int, busy: int = 0, step: float = 5.0) -> object:
    load = [1.0] * busy + [0.0] * (n - busy)
    return vllm(n, step=step, running=[2 * x for x in load], prompts=[100 * x for x in load],
                generated=[100 * x for x in load], finished=load, engine_steps=[10 * x for x in load])  # fmt: skip


def _share(report: Report) -> float:
    segments = report.regimes[0].segments
    idle = sum(s.end - s.start for s in segments if s.regime is Regime.IDLE)
    return idle / sum(s.end - s.start for s in segments)


def test_idle_for_most_of_the_time_is_remarked_on_from_a_share(judge: Judge) -> None:
    """More and more work: the remark ends exactly where the idle share falls below its threshold."""
    seen = []
    for busy in range(20, 44, 4):
        report = judge(_idle(200, busy))
        assert fired(report, SLUG) is (_share(report) >= IDLE_SHARE)
        seen.append(fired(report, SLUG))
    assert seen[0]
    assert not seen[-1]


@pytest.mark.parametrize(("seconds", "fires"), [(MIN_SECONDS - 5, False), (MIN_SECONDS, True)])
def test_a_pause_is_not_idleness(seconds: float, fires: bool, judge: Judge) -> None:
    """Less than the least time without a request is a pause."""
    assert fired(judge(_idle(int(seconds / 5))), SLUG) is fires


@pytest.mark.parametrize(
    ("seconds", "price", "severity"),
    [(HOURS, 4.2, Severity.WARNING), (HOURS - 60, 4.2, Severity.INFO), (HOURS, None, Severity.INFO)],
)
def test_hours_at_a_known_price_are_loud(
    seconds: float, price: float | None, severity: Severity, judge: Judge
) -> None:
    """Only a known price and hours of it make this a warning."""
    report = judge(_idle(int(seconds / 60), step=60.0), gpu_hourly=price)
    found = finding(report, SLUG)
    assert found is not None
    assert found.severity is severity
