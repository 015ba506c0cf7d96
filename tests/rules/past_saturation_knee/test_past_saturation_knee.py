"""The knee at its thresholds, and as a symptom."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.vllm import vllm

from diagnostics.model.findings import Role
from diagnostics.model.report import Report
from diagnostics.rules.past_saturation_knee import MIN_QUEUE_SECONDS, QUEUE_SHARE

SLUG = "past-saturation-knee"
RAMP = "5+0.1x60"
Judge = Callable[..., Report]


@pytest.mark.parametrize(("share", "fires"), [(QUEUE_SHARE - 0.01, False), (QUEUE_SHARE + 1e-6, True)])
def test_the_queue_is_most_of_the_time_to_first_token(share: float, fires: bool, judge: Judge) -> None:
    """Queue time by time to first token decides."""
    rec = vllm(running=RAMP, waiting=10, kv=0.4, queue_seconds=10 * share, ttft_seconds=10)
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("seconds", "fires"), [(MIN_QUEUE_SECONDS - 0.01, False), (MIN_QUEUE_SECONDS + 1e-6, True)]
)
def test_short_queues_trouble_nobody(seconds: float, fires: bool, judge: Judge) -> None:
    """However large its share, a queue below the threshold is none."""
    rec = vllm(running=RAMP, waiting=10, kv=0.4, queue_seconds=seconds, ttft_seconds=seconds * 1.1)
    assert fired(judge(rec), SLUG) is fires


def test_without_a_cause_the_headline_says_so(judge: Judge) -> None:
    """The symptom becomes the primary, and its cause is said not to be established."""
    report = judge(vllm(running=RAMP, waiting=10, kv=0.4, queue_seconds=5, ttft_seconds=5.5))
    found = finding(report, SLUG)
    assert found is not None
    assert found.role is Role.SYMPTOM
    assert report.verdict.primary == SLUG
    assert "cause is not established" in report.verdict.headline
