"""The stall rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import fired
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.report import Report
from diagnostics.rules.prefill_stalls_decode import (
    KNOWN_MEAN,
    KNOWN_TAIL,
    MAX_PREEMPTED,
    MIN_GAPS,
    MIN_STALL_SECONDS,
    STALL_MEAN,
    STALL_TAIL,
)

SLUG = "prefill-stalls-decode"
OFF = "vllm serve m --no-enable-chunked-prefill"
MEDIAN = 0.02 * 50 / 97  # 97 of 100 gaps lie at or below 0.02 s
Judge = Callable[..., Report]


def _gaps(
    mean: float, tail: float, *, median: float = MEDIAN, n: int = 61, command: str = "", **more: object
) -> Recording:
    """A hundred gaps a scrape: 97 short ones with this median, three long ones with this p99."""
    short = median * 97 / 50
    low = max(short, tail / 4)
    high = low + (tail - low) * 1.5  # the p99 lies two thirds up the bucket of the last three
    buckets = {str(short): 97.0, str(low): 97.0, str(high): 100.0, "+Inf": 100.0}
    return vllm(n, itl=buckets, itl_sum=100 * mean, command=command, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("command", "limit"), [("", STALL_MEAN), (OFF, KNOWN_MEAN)], ids=["flag unknown", "chunking off"]
)
@pytest.mark.parametrize(("factor", "fires"), [(0.99, False), (1.001, True)])
def test_the_mean_gap_by_the_median_decides(
    command: str, limit: float, factor: float, fires: bool, judge: Judge
) -> None:
    """With the cause in the settings a smaller factor is enough."""
    rec = _gaps(MEDIAN * limit * factor, 4.0, command=command)
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("command", "limit"), [("", STALL_TAIL), (OFF, KNOWN_TAIL)], ids=["flag unknown", "chunking off"]
)
@pytest.mark.parametrize(("factor", "fires"), [(0.99, False), (1.001, True)])
def test_the_tail_by_the_median_decides(
    command: str, limit: float, factor: float, fires: bool, judge: Judge
) -> None:
    """With the cause in the settings half the tail is enough."""
    rec = _gaps(MEDIAN * 8, MEDIAN * limit * factor, command=command)
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("seconds", "fires"), [(MIN_STALL_SECONDS - 0.01, False), (MIN_STALL_SECONDS + 0.001, True)]
)
def test_a_stall_is_noticed_by_a_reader(seconds: float, fires: bool, judge: Judge) -> None:
    """Gaps too short to notice are no stalls, however many times the median."""
    rec = _gaps(0.02, seconds, median=0.002)
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("scrapes", "fires"), [(int(MIN_GAPS / 100), False), (int(MIN_GAPS / 100) + 1, True)]
)
def test_few_gaps_have_no_tail(scrapes: int, fires: bool, judge: Judge) -> None:
    """A p99 over fewer gaps than the threshold means nothing; n scrapes show the growth of n - 1."""
    assert fired(judge(_gaps(MEDIAN * 8, 4.0, n=scrapes)), SLUG) is fires


@pytest.mark.parametrize(("share", "fires"), [(MAX_PREEMPTED, True), (MAX_PREEMPTED + 0.001, False)])
def test_a_tail_beside_preemptions_may_be_theirs(share: float, fires: bool, judge: Judge) -> None:
    """From the stated share of preempted requests on, the tail is not laid on prefill."""
    rec = _gaps(MEDIAN * 8, 4.0, preempted=100 * share, finished=100)
    assert fired(judge(rec), SLUG) is fires


def test_a_saturated_server_is_not_accused(judge: Judge) -> None:
    """Where a limit binds most of the time, that limit explains the tail."""
    rec = _gaps(MEDIAN * 8, 4.0, running=8, waiting=20, command="vllm serve m --max-num-seqs 8")
    report = judge(rec)
    assert not fired(report, SLUG)
    assert report.verdict.primary == "cap-throttled"
