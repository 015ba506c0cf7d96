"""Slow tokens with nothing waiting, against a target or the replica's own light load."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.report import Report

SLUG = "decode-bound"
Judge = Callable[..., Report]
GAPS = {"0.05": 0.0, "0.1": 190.0, "0.2": 300.0, "+Inf": 300.0}


def loaded(seconds: float = 0.09, *, waiting: float = 0, preempted: float = 0) -> Recording:
    """One load for the whole window: 300 gaps a scrape of this mean."""
    return vllm(61, running=40, waiting=waiting, preempted=preempted, itl=GAPS, itl_sum=300 * seconds)


def day(light: float = 0.03, heavy: float = 0.15) -> Recording:
    """Light load with 4 running, then 40 running; a gap takes so long in each."""
    recording = vllm(120, running=[4.0] * 60 + [40.0] * 60, itl=GAPS, itl_sum=0.0)
    total = next(line for line in recording.lines if line.name == "vllm:inter_token_latency_seconds_sum")
    grown = 0.0
    for i in range(len(total.values)):
        total.values[i] = grown
        grown += 300 * (light if i < 59 else heavy)
    return recording


def test_fires_over_the_target(judge: Judge) -> None:
    report = judge(loaded(), slo={"itl_mean": 0.05})
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert report.verdict.primary == SLUG
    assert "a target of 50 ms" in finding.summary


@pytest.mark.parametrize(("limit", "fires"), [(0.091, False), (0.089, True)])
def test_threshold_is_the_target(judge: Judge, limit: float, fires: bool) -> None:
    report = judge(loaded(), slo={"itl_mean": limit})
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


def test_a_target_of_another_time_is_none(judge: Judge) -> None:
    assert unanswered(judge(loaded(), slo={"ttft_p99": 2.0}), SLUG) == "option-not-given"


def test_without_a_reference_it_is_not_judged(judge: Judge) -> None:
    assert unanswered(judge(loaded()), SLUG) == "option-not-given"


@pytest.mark.parametrize(("heavy", "fires"), [(0.118, False), (0.122, True)])
def test_threshold_of_the_light_load(judge: Judge, heavy: float, fires: bool) -> None:
    """Three times the 40 ms of light load."""
    report = judge(day(0.04, heavy))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("heavy", "fires"), [(0.098, False), (0.102, True)])
def test_faster_than_people_read_is_no_complaint(judge: Judge, heavy: float, fires: bool) -> None:
    assert (found(judge(day(0.02, heavy)), SLUG) is not None) is fires


@pytest.mark.parametrize(("waiting", "fires"), [(0.4, True), (0.6, False)])
def test_quiet_where_requests_wait(judge: Judge, waiting: float, fires: bool) -> None:
    assert (found(judge(loaded(waiting=waiting), slo={"itl_mean": 0.05}), SLUG) is not None) is fires


def test_quiet_where_sequences_are_preempted(judge: Judge) -> None:
    assert found(judge(loaded(preempted=1), slo={"itl_mean": 0.05}), SLUG) is None


def test_quiet_where_single_long_gaps_make_the_mean(judge: Judge) -> None:
    stalls = {"0.02": 280.0, "0.05": 285.0, "5.0": 300.0, "+Inf": 300.0}
    recording = vllm(61, running=40, itl=stalls, itl_sum=300 * 0.09)
    assert found(judge(recording, slo={"itl_mean": 0.05}), SLUG) is None


def test_missing_gaps(judge: Judge) -> None:
    report = judge(loaded().without("vllm:inter_token_latency"), slo={"itl_mean": 0.05})
    assert unanswered(report, SLUG) == "not-in-this-input"
