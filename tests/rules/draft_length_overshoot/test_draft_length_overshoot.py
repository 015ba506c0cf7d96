"""The draft length rule at its threshold."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.series import Recording
from support.vllm import counter, vllm

from diagnostics.model.report import Report
from diagnostics.rules.draft_length_overshoot import POSITION_PAYS

SLUG = "draft-length-overshoot"
Judge = Callable[..., Report]


def _curve(*shares: float) -> Recording:
    """A hundred rounds a scrape; each position accepted in this share of them."""
    rec = vllm()
    labels = {"instance": "vllm-0:8000", "engine": "0"}
    for name, grown in (
        ("drafts", 100.0),
        ("draft_tokens", 100.0 * len(shares)),
        ("accepted_tokens", 100 * sum(shares)),
    ):
        rec.add(f"vllm:spec_decode_num_{name}_total", counter(grown, 61), **labels)
    for position, share in enumerate(shares):
        name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
        rec.add(name, counter(100 * share, 61), **labels, position=str(position))
    return rec


@pytest.mark.parametrize(("last", "fires"), [(POSITION_PAYS - 0.001, True), (POSITION_PAYS + 1e-9, False)])
def test_the_last_position_must_pay(last: float, fires: bool, judge: Judge) -> None:
    """Below the threshold the last position costs more than it returns."""
    assert fired(judge(_curve(0.8, 0.4, last)), SLUG) is fires


@pytest.mark.parametrize(("first", "fires"), [(POSITION_PAYS - 0.001, False), (POSITION_PAYS + 1e-9, True)])
def test_the_first_position_must_pay(first: float, fires: bool, judge: Judge) -> None:
    """Where not even the first pays, the drafter is wrong and not the length."""
    assert fired(judge(_curve(first, 0.01)), SLUG) is fires


def test_the_best_length_is_named(judge: Judge) -> None:
    """Ten positions and more are in numeric order, and the last that pays is named."""
    shares = [0.8, 0.6, 0.4, 0.2, 0.15, 0.12, 0.08, 0.05, 0.03, 0.02, 0.01]
    found = finding(judge(_curve(*shares)), SLUG)
    assert found is not None
    assert found.remedies[0].suggested == "num_speculative_tokens=6"
    assert found.remedies[0].current == "num_speculative_tokens=11"
