"""The cost of a benchmark's tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, reason

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason

SLUG = "cost-per-token"


@pytest.mark.parametrize(("gpus", "cost"), [(1, 1.111), (2, 2.222)])
def test_price_by_output_tokens(gpus: int, cost: float, tmp_path: Path) -> None:
    """4.00 an hour and GPU at 1,000 tokens/s."""
    result = serve(rate=4.0, output_tps=1000.0, tensor_parallel_size=gpus)
    found = finding(judge_bench(tmp_path, result, gpu_hourly=4.0), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO
    assert found.evidence[0].value == pytest.approx(cost, abs=0.001)


def test_at_the_load_that_meets_the_slo(tmp_path: Path) -> None:
    """Told apart from the cost at the highest output."""
    runs = (serve(rate=4.0, output_tps=500.0), serve(rate=8.0, output_tps=1000.0, ttft=5.0))
    found = finding(judge_bench(tmp_path, *runs, gpu_hourly=4.0, slo={"ttft_p99": 1.0}), SLUG)
    assert found is not None
    assert "1.11 at the 1,000 output tokens/s" in found.summary
    assert "meets the SLO (4 requests/s) it is 2.22" in found.explanation


def test_without_a_price(tmp_path: Path) -> None:
    """Nothing is said, and how to get it."""
    assert reason(judge_bench(tmp_path, serve(rate=4.0)), SLUG) is Reason.OPTION_NOT_GIVEN
