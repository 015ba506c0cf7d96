"""One replica slower at the same work."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import add_vllm

from diagnostics.model.report import Report

SLUG = "replica-outlier"
N = 61
Judge = Callable[..., Report]
QUICK = {"0.02": 290.0, "0.05": 300.0, "0.1": 300.0, "+Inf": 300.0}
SLOW = {"0.02": 0.0, "0.05": 290.0, "0.1": 300.0, "+Inf": 300.0}


def fleet(
    seconds: float = 0.048, *, work: float = 300, preempted: float = 0, buckets: dict[str, float] = SLOW
) -> Recording:
    """Four replicas, three at 19 ms a token; the third takes ``seconds``."""
    recording = Recording()
    for i in range(4):
        sick = i == 2
        add_vllm(
            recording, N, instance=f"vllm-{i}:8000", running=20 if sick else 8, itl=buckets if sick else QUICK,
            itl_sum=300 * (seconds if sick else 0.019), generated=work if sick else 300,
            preempted=preempted if sick else 0,
        )  # fmt: skip
    return recording


@pytest.mark.parametrize("carrier", ["openmetrics", "query_range", "dumps"])
def test_fires_on_the_slow_one(judge: Judge, carrier: str) -> None:
    finding = fired(judge(fleet(), carrier), SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert len(finding.scope.replicas) == 1
    if carrier != "dumps":
        assert finding.scope.replicas == ("vllm-2:8000",)


@pytest.mark.parametrize(("seconds", "fires"), [(0.0375, False), (0.0385, True)])
def test_threshold_of_the_mean(judge: Judge, seconds: float, fires: bool) -> None:
    report = judge(fleet(seconds))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


def test_quiet_where_the_median_is_equal(judge: Judge) -> None:
    """Long prefills lengthen the mean and not the median."""
    passed(judge(fleet(buckets=QUICK)), SLUG)


@pytest.mark.parametrize(("work", "fires"), [(780, True), (980, False)])
def test_quiet_where_work_differs(judge: Judge, work: float, fires: bool) -> None:
    """Prompt and generated tokens of the others are 800 a scrape; 1.5 times that is the limit."""
    report = judge(fleet(work=work - 500 + 140))
    assert (found(report, SLUG) is not None) is fires


def test_quiet_where_sequences_are_preempted(judge: Judge) -> None:
    assert found(judge(fleet(preempted=3)), SLUG) is None


def test_one_replica_has_no_peers(judge: Judge) -> None:
    recording = add_vllm(Recording(), N)
    assert unanswered(judge(recording), SLUG) == "not-in-this-input"


def test_missing_gaps(judge: Judge) -> None:
    report = judge(fleet().without("vllm:inter_token_latency"))
    assert unanswered(report, SLUG) == "not-in-this-input"
