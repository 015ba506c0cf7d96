"""Failures, size, start-up and late clients, each at its threshold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import detailed, judge_bench, serve
from support.findings import finding, fired, reason
from support.vllm import vllm

from diagnostics.model.findings import Role
from diagnostics.model.report import Reason
from diagnostics.rules.bench_untrustworthy import (
    FAILED_SHARE,
    MIN_FOR_P99,
    MIN_SECONDS,
    ROUNDS,
    STARTUP_RATIO,
    STARTUP_SECONDS,
)

SLUG = "bench-untrustworthy"
LATE = """$ vllm bench serve --model m --request-rate 4
"""


@pytest.mark.parametrize(
    ("result", "fires"),
    [
        (serve(rate=4.0), False),
        (serve(rate=4.0, n=1000, failed=int(1000 * FAILED_SHARE)), False),
        (serve(rate=4.0, n=1000, failed=int(1000 * FAILED_SHARE) + 2), True),
        (serve(rate=1.0, n=MIN_FOR_P99), False),
        (serve(rate=1.0, n=MIN_FOR_P99 - 1), True),
        (serve(rate=4.0, duration=MIN_SECONDS), False),
        (serve(rate=4.0, duration=MIN_SECONDS - 0.1), True),
        (serve(cap=16, n=16 * ROUNDS, duration=60.0), False),
        (serve(cap=16, n=16 * ROUNDS - 1, duration=60.0), True),
    ],
)
def test_the_size_and_the_failures_of_a_run(result: dict[str, Any], fires: bool, tmp_path: Path) -> None:
    """Each weakness alone is enough, just beyond its threshold."""
    assert fired(judge_bench(tmp_path, result), SLUG) is fires


def test_a_run_that_failed_entirely(tmp_path: Path) -> None:
    """Its zeros are no latencies, and no other rule draws anything from it."""
    failed = serve(
        completed=0, failed=8, request_throughput=0.0, output_throughput=0.0, total_output_tokens=0
    )
    failed |= {k: 0.0 for k in failed if k.endswith("_ms")}
    report = judge_bench(tmp_path, failed)
    assert report.verdict.primary == SLUG
    assert finding(report, SLUG).role is Role.CAUSE  # type: ignore[union-attr]


@pytest.mark.parametrize(("ratio", "fires"), [(STARTUP_RATIO - 0.5, False), (STARTUP_RATIO + 0.5, True)])
def test_a_start_inside_the_measurement(ratio: float, fires: bool, tmp_path: Path) -> None:
    """First tokens of the first tenth against the rest."""
    n, usual = 300, STARTUP_SECONDS / 5
    ttft = [usual * ratio] * 31 + [usual] * (n - 31)
    inputs = [50 + 13 * i % 700 for i in range(n)]
    result = detailed([i / 4 for i in range(n)], ttft, [1.0] * n, inputs, inputs, rate=4.0)
    assert fired(judge_bench(tmp_path, result), SLUG) is fires


def test_one_small_level_of_a_sweep_is_no_flaw(tmp_path: Path) -> None:
    """The lightest level always has few requests."""
    sweep = [serve(rate=r, n=int(60 * r)) for r in (1.0, 2.0, 4.0, 8.0)]
    assert not fired(judge_bench(tmp_path, *sweep), SLUG)


@pytest.mark.parametrize(("middle", "fires"), [(340.0, True), (420.0, False)])
def test_a_broken_point_of_a_sweep(middle: float, fires: bool, tmp_path: Path) -> None:
    """A level with less than half of what a lighter and a heavier one make is no load level."""
    outputs = {8: 800.0, 16: middle, 32: 1500.0, 64: 600.0}
    sweep = [serve(cap=c, output_tps=o, n=30 * c, duration=60.0) for c, o in outputs.items()]
    found = finding(judge_bench(tmp_path, *sweep), SLUG)
    assert (found is not None) is fires
    assert found is None or "at 16 open requests" in found.summary


def test_without_a_benchmark(judge: Any) -> None:
    """Nothing to look at."""
    assert reason(judge(vllm()), SLUG) is Reason.NOT_IN_THIS_INPUT
