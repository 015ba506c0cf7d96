"""The storm rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired, reason
from support.vllm import vllm

from diagnostics.model.report import Reason, Report
from diagnostics.rules.preemption_storm import PAIR_RATIO
from diagnostics.signals.regimes import STORM_MIN, STORM_RATIO

SLUG = "preemption-storm"
Judge = Callable[..., Report]


@pytest.mark.parametrize(("ratio", "fires"), [(STORM_RATIO - 0.01, False), (STORM_RATIO + 0.001, True)])
def test_a_storm_is_a_share_of_finished_requests(ratio: float, fires: bool, judge: Judge) -> None:
    """Ten requests finish a scrape; preemptions beside them decide."""
    rec = vllm(preempted=10 * ratio, finished=10, kv=0.9, running="5+0.1x60")
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(("events", "fires"), [(STORM_MIN - 1, False), (STORM_MIN, True)])
def test_a_handful_is_no_storm(events: int, fires: bool, judge: Judge) -> None:
    """In one minute with hardly a finished request, the number of preemptions decides."""
    preempted = [0.0] * 5 + [float(events)] + [0.0] * 7
    rec = vllm(13, preempted=preempted, finished=0.1, kv=0.9, running=5)
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("events", "finished", "fires"),
    [
        (PAIR_RATIO * 20, 20, True),
        (PAIR_RATIO * 20 - 1, 20, False),
        (STORM_MIN, 1, True),
        (STORM_MIN - 1, 1, False),
    ],
)
def test_two_dumps_ask_for_twice_the_share(events: float, finished: float, fires: bool, judge: Judge) -> None:
    """An increase without a course must be far beyond the threshold."""
    rec = vllm(3, preempted=[0.0, events], finished=[0.0, finished], kv=0.9)
    found = finding(judge(rec, "dumps"), SLUG)
    assert (found is not None) is fires
    if found:
        assert found.confidence <= 0.5


def test_one_dump_with_a_large_total_cannot_tell(judge: Judge) -> None:
    """A total since the server started is no storm now; the way out is named."""
    rec = vllm(1, kv=0.9).without("vllm:num_preemptions")
    rec.add("vllm:num_preemptions_total", "5000", instance="vllm-0:8000", engine="0")
    report = judge(rec, "last dump")
    assert not fired(report, SLUG)
    assert reason(report, SLUG) is Reason.NEEDS_TIME_SERIES


def test_the_work_lost_is_estimated_from_the_pool(judge: Judge) -> None:
    """Tokens lost are preemptions times what a running sequence holds, and called an estimate."""
    rec = vllm(preempted=5, finished=5, kv=0.8, running=8)
    rec.add(
        "vllm:cache_config_info", "1x60", instance="vllm-0:8000", engine="0", kv_cache_size_tokens="100000"
    )
    found = finding(judge(rec), SLUG)
    assert found is not None
    assert found.impact.estimate == pytest.approx(300 * 100_000 * 0.8 / 8, rel=0.02)
    assert "estimate" in found.impact.basis
