"""Acceptance as a benchmark prints it."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import judge_bench, serve
from support.findings import loud, reason

from diagnostics.model.report import Reason
from diagnostics.rules.low_acceptance import LOW_LENGTH, LOW_RATE

SLUG = "low-acceptance"


@pytest.mark.parametrize(
    ("rate", "length", "fires"),
    [
        (LOW_RATE - 0.01, LOW_LENGTH - 0.01, True),
        (LOW_RATE + 0.01, LOW_LENGTH - 0.01, False),
        (LOW_RATE - 0.01, LOW_LENGTH + 0.01, False),
    ],
)
def test_rate_and_length(rate: float, length: float, fires: bool, tmp_path: Path) -> None:
    """Both must be below break-even; the file's rate is in percent."""
    result = serve(rate=4.0, spec_decode_acceptance_rate=100 * rate, spec_decode_acceptance_length=length)
    assert (SLUG in loud(judge_bench(tmp_path, result))) is fires


def test_without_speculation(tmp_path: Path) -> None:
    """A result without acceptance is not evaluated."""
    assert reason(judge_bench(tmp_path, serve(rate=4.0)), SLUG) is Reason.NOT_IN_THIS_INPUT
