"""The prompt lookup rule at its threshold."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.series import Recording
from support.vllm import counter, vllm

from diagnostics.model.findings import Role
from diagnostics.model.report import Report
from diagnostics.rules.prompt_lookup_misfit import NEAR_ZERO

SLUG = "prompt-lookup-misfit"
NGRAM = """vllm serve m --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}'"""
Judge = Callable[..., Report]


def _lookup(rate: float) -> Recording:
    rec = vllm(command=NGRAM)
    labels = {"instance": "vllm-0:8000", "engine": "0"}
    for name, grown in (("drafts", 100.0), ("draft_tokens", 300.0), ("accepted_tokens", 300 * rate)):
        rec.add(f"vllm:spec_decode_num_{name}_total", counter(grown, 61), **labels)
    return rec


@pytest.mark.parametrize(("rate", "fires"), [(NEAR_ZERO - 0.001, True), (NEAR_ZERO + 1e-9, False)])
def test_near_zero_is_the_threshold(rate: float, fires: bool, judge: Judge) -> None:
    """From the threshold on, lookup finds something to copy."""
    assert fired(judge(_lookup(rate)), SLUG) is fires


def test_it_explains_low_acceptance(judge: Judge) -> None:
    """The drafter that does not fit is the cause; the low rate becomes its symptom."""
    report = judge(_lookup(0.01))
    assert report.verdict.primary == SLUG
    low = finding(report, "low-acceptance")
    assert low is not None
    assert low.role is Role.SYMPTOM
