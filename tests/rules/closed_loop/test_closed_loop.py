"""Arrivals that follow completions, or come all at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, fired, loud, reason
from support.vllm import vllm

from diagnostics.model.findings import Role
from diagnostics.model.report import Reason
from diagnostics.rules.closed_loop import CLIENT_QUEUE_SECONDS, MIN_BURST

SLUG = "closed-loop"


@pytest.mark.parametrize(
    ("result", "fires"),
    [
        (serve(cap=8), True),
        (serve(), True),
        (serve(n=MIN_BURST - 1), False),
        (serve(n=MIN_BURST), True),
        (serve(rate=4.0), False),
        (serve(rate=4.0, cap=64), False),
        (serve(rate=4.0, cap=64, p99_client_queue_time_ms=1000 * CLIENT_QUEUE_SECONDS), True),
        (serve(rate=4.0, cap=64, p99_client_queue_time_ms=999 * CLIENT_QUEUE_SECONDS), False),
    ],
)
def test_the_pace_of_a_run(result: dict[str, Any], fires: bool, tmp_path: Path) -> None:
    """Cap without a rate, everything at once, or a cap that was reached; never open arrivals."""
    assert (SLUG in loud(judge_bench(tmp_path, result))) is fires


def test_in_a_sweep_it_is_advice(tmp_path: Path) -> None:
    """Over several concurrencies the curve comes first."""
    sweep = [serve(cap=c, output_tps=100.0 * c) for c in (1, 2, 4, 8)]
    found = finding(judge_bench(tmp_path, *sweep), SLUG)
    assert found is not None
    assert found.role is Role.ADVICE


def test_an_unknown_pace_is_not_evaluated(tmp_path: Path) -> None:
    """A block of console text without its command does not say how it was paced."""
    text = "============ Serving Benchmark Result ============\nSuccessful requests:   1000\nBenchmark duration (s):   97.65\n"
    text += "Total generated tokens:   43141\nRequest throughput (req/s):   10.24\nMean TTFT (ms):   148.0\n"
    assert reason(judge_bench(tmp_path, text=text), SLUG) is Reason.NOT_IN_THIS_INPUT


def test_without_a_benchmark(judge: Any) -> None:
    """Metrics alone bring no arrivals."""
    report = judge(vllm())
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
    assert not fired(report, SLUG)
