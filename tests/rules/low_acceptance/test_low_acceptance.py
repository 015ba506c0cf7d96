"""The acceptance rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired, reason
from support.series import Recording
from support.vllm import counter, vllm

from diagnostics.execute.speculation import MIN_DRAFTED
from diagnostics.model.report import Reason, Report
from diagnostics.rules.low_acceptance import LOW_LENGTH, LOW_RATE

SLUG = "low-acceptance"
Judge = Callable[..., Report]


def _drafts(rounds: float, drafted: float, accepted: float, n: int = 61) -> Recording:
    rec = vllm(n)
    labels = {"instance": "vllm-0:8000", "engine": "0"}
    for name, grown in (("drafts", rounds), ("draft_tokens", drafted), ("accepted_tokens", accepted)):
        rec.add(f"vllm:spec_decode_num_{name}_total", counter(grown, n), **labels)
    return rec


@pytest.mark.parametrize(("rate", "fires"), [(LOW_RATE - 0.001, True), (LOW_RATE, False)])
def test_the_rate_decides(rate: float, fires: bool, judge: Judge) -> None:
    """One token drafted a round, so that the accepted length is low anyway."""
    assert fired(judge(_drafts(1000, 1000, 1000 * rate)), SLUG) is fires


@pytest.mark.parametrize(("length", "fires"), [(LOW_LENGTH - 0.01, True), (LOW_LENGTH, False)])
def test_the_accepted_length_decides_too(length: float, fires: bool, judge: Judge) -> None:
    """Many tokens drafted a round: a low rate with a fair length is no fault."""
    assert fired(judge(_drafts(100, 1000, 100 * (length - 1))), SLUG) is fires


@pytest.mark.parametrize(("drafted", "asked"), [(MIN_DRAFTED - 1, False), (MIN_DRAFTED, True)])
def test_few_drafts_say_nothing(drafted: float, asked: bool, judge: Judge) -> None:
    """Below the least number of drafted tokens the rule cannot tell."""
    report = judge(_drafts(drafted / 60 * (1 + 1e-9), drafted / 60 * (1 + 1e-9), 0))
    assert fired(report, SLUG) is asked
    assert (reason(report, SLUG) is Reason.TOO_FEW_SAMPLES) is not asked


def test_two_dumps_are_enough(judge: Judge) -> None:
    """Counters over two dumps give the same rate, with less confidence."""
    rec = _drafts(50, 150, 15)
    over_time, between = finding(judge(rec), SLUG), finding(judge(rec, "dumps"), SLUG)
    assert over_time is not None
    assert between is not None
    assert between.evidence[0].value == over_time.evidence[0].value == pytest.approx(0.1)
    assert between.confidence <= 0.5 < over_time.confidence


def test_speculation_is_never_blamed_for_quality(judge: Judge) -> None:
    """Verification is lossless, and the finding says so."""
    found = finding(judge(_drafts(50, 150, 15)), SLUG)
    assert found is not None
    assert any("lossless" in step for step in found.do_not)
