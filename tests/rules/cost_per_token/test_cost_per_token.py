"""The rule on cost: the arithmetic, and when it is loud."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import read
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report
from diagnostics.rules.cost_per_token import MIN_FULL_SECONDS, MULTIPLE

SLUG = "cost-per-token"
Judge = Callable[..., Report]


def test_states_the_cost(judge: Judge) -> None:
    """4.00 an hour at 1,000 tokens/s is 1.11 a million."""
    found = finding(judge(vllm(generated=5000, step=5.0), gpu_hourly=4.0), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO
    assert found.evidence[0].value == pytest.approx(1.111, abs=0.001)


def test_counts_the_gpus(judge: Judge) -> None:
    """The price is of one GPU; the degree says how many there are."""
    rec = vllm(generated=5000, command="vllm serve m --tensor-parallel-size 2")
    found = finding(judge(rec, gpu_hourly=2.0), SLUG)
    assert found is not None
    assert found.evidence[0].value == pytest.approx(1.111, abs=0.001)


def _phases(full: int, fast: float) -> dict[str, list[float]]:
    """Calm at 100 tokens a scrape, then full at ``fast`` for so many scrapes."""
    calm = 361 - full
    return {
        "running": [1.0] * calm + [8.0] * full, "waiting": [0.0] * calm + [20.0] * full,
        "generated": [100.0] * calm + [fast] * full,
    }  # fmt: skip


@pytest.mark.parametrize(("fast", "loud"), [(200.0, False), (1000.0, True)])
def test_loud_when_full_is_a_multiple_cheaper(fast: float, loud: bool, judge: Judge) -> None:
    """These GPUs made tokens three times cheaper while they were full."""
    mean = (300 * 100 + 61 * fast) / 361
    assert (fast / mean >= MULTIPLE) is loud
    rec = vllm(361, **_phases(61, fast), kv=0.3, command="vllm serve m --max-num-seqs 8")
    found = finding(judge(rec, gpu_hourly=4.0), SLUG)
    assert found is not None
    assert (found.severity is Severity.WARNING) is loud


def test_a_short_peak_proves_nothing(judge: Judge) -> None:
    """Less than a minute under full load does not show what they reach."""
    full = int(MIN_FULL_SECONDS / 5) - 4
    rec = vllm(361, **_phases(full, 5000.0), kv=0.3, command="vllm serve m --max-num-seqs 8")
    found = finding(judge(rec, gpu_hourly=4.0), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO


def test_missing_price(judge: Judge) -> None:
    """Without a price nothing is said."""
    report = judge(vllm())
    assert reason(report, SLUG) is Reason.OPTION_NOT_GIVEN
    assert not fired(report, SLUG)


def test_missing_tokens(tmp_path: Path) -> None:
    """A price without a course of tokens is not enough."""
    report = read(tmp_path, "$ vllm serve m/l  # 2.836 USD per hour\n")
    assert reason(report, SLUG) is Reason.NEEDS_TIME_SERIES


def test_quiet_without_tokens(judge: Judge) -> None:
    """A server that made no token has no cost a token."""
    assert not fired(judge(vllm(generated=0, running=0, finished=0, prompts=0), gpu_hourly=4.0), SLUG)
