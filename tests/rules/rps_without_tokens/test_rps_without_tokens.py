"""A request rate that says nothing of the work."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, reason
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason

SLUG = "rps-without-tokens"
BARE = {k: v for k, v in serve(rate=4.0).items() if "token" not in k and k != "output_throughput"}


def test_requests_per_second_alone(tmp_path: Path) -> None:
    """A remark, nothing more."""
    found = finding(judge_bench(tmp_path, BARE), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO


@pytest.mark.parametrize(
    "known", [{"output_throughput": 90.0}, {"total_output_tokens": 4001}, {"total_token_throughput": 900.0}]
)
def test_one_figure_of_tokens_is_enough(known: dict[str, float], tmp_path: Path) -> None:
    """Any figure that tells the work keeps it quiet."""
    assert SLUG in judge_bench(tmp_path, BARE | known).passed


def test_without_a_benchmark(judge: object) -> None:
    """Nothing to look at."""
    assert reason(judge(vllm()), SLUG) is Reason.NOT_IN_THIS_INPUT  # type: ignore[operator]
