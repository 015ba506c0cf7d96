"""The outage rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.series import START
from support.vllm import vllm

from diagnostics.model.report import Report
from diagnostics.signals.regimes import OUTAGE_SCRAPES, OUTAGE_SECONDS

SLUG = "replica-down-or-restarting"
Judge = Callable[..., Report]


def _failed(count: int, n: int = 61) -> list[float]:
    """So many failed scrapes in a row."""
    return [1.0] * 20 + [0.0] * count + [1.0] * (n - 20 - count)


@pytest.mark.parametrize(("count", "fires"), [(int(OUTAGE_SECONDS) - 1, False), (int(OUTAGE_SECONDS), True)])
def test_an_outage_lasts_from_its_threshold(count: int, fires: bool, judge: Judge) -> None:
    """Scraped every second, so many seconds without an answer are an outage."""
    assert fired(judge(vllm(up=_failed(count), step=1.0)), SLUG) is fires


@pytest.mark.parametrize(("count", "fires"), [(OUTAGE_SCRAPES - 1, False), (OUTAGE_SCRAPES, True)])
def test_one_failed_scrape_is_none(count: int, fires: bool, judge: Judge) -> None:
    """Scraped every half minute, a single failed scrape is no outage however long it was."""
    assert fired(judge(vllm(up=_failed(count), step=30.0)), SLUG) is fires


@pytest.mark.parametrize(("moved", "fires"), [(0.5, False), (120.0, True)])
def test_a_new_start_time_is_a_restart(moved: float, fires: bool, judge: Judge) -> None:
    """The clock of a process wobbles by less than a second; a new process starts later."""
    starts = [START - 3600] * 30 + [START - 3600 + moved] * 31
    assert fired(judge(vllm(process_start=starts)), SLUG) is fires


def test_a_replica_that_is_still_down_is_said_to_be(judge: Judge) -> None:
    """The outage that lasts to the end is told from one that is over."""
    report = judge(vllm(up=[1.0] * 30 + [0.0] * 31))
    found = finding(report, SLUG)
    assert found is not None
    assert "has been down" in found.summary
    assert report.deployments[0].worst_regime == "down"
