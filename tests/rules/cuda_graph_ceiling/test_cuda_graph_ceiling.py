"""A jump of the time a token at the size of the largest graph."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.report import Report

SLUG = "cuda-graph-ceiling"
N = 120
Judge = Callable[..., Report]
ARGS = "vllm serve m --max-num-seqs 512 --max-cudagraph-capture-size 256"


def around(
    above: float = 0.037,
    *,
    scrapes: int = 60,
    high: float = 270,
    preempted: float = 0,
    kv: float = 0.4,
    args: str = ARGS,
) -> Recording:
    """At 250 running a gap takes 24 ms; the last ``scrapes`` run ``high`` with gaps of ``above``."""
    low = N - scrapes
    recording = vllm(
        N, running=[250.0] * low + [high] * scrapes, preempted=preempted, kv=kv, itl_sum=0.0, command=args
    )
    total = next(line for line in recording.lines if line.name == "vllm:inter_token_latency_seconds_sum")
    grown = 0.0
    for i in range(N):
        total.values[i] = grown
        grown += 300 * (0.024 if i < low - 1 else above)
    return recording


def test_fires_on_the_jump(judge: Judge) -> None:
    report = judge(around())
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert "above 256" in finding.summary
    assert "configured" in {e.provenance.value for e in finding.evidence}


@pytest.mark.parametrize(("above", "fires"), [(0.0308, False), (0.0316, True)])
def test_threshold_of_the_jump(judge: Judge, above: float, fires: bool) -> None:
    """1.3 times 24 ms are 31.2 ms."""
    report = judge(around(above))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("scrapes", "fires"), [(5, False), (9, True)])
def test_threshold_of_the_time_above(judge: Judge, scrapes: int, fires: bool) -> None:
    """Five and nine of 120 scrapes are 0.04 and 0.075; the limit is 0.05, and 2,000 gaps on each side."""
    assert (found(judge(around(scrapes=scrapes)), SLUG) is not None) is fires


def test_quiet_below_the_ceiling(judge: Judge) -> None:
    passed(judge(around(high=256)), SLUG)


def test_speculation_lowers_the_ceiling(judge: Judge) -> None:
    args = ARGS + """ --speculative-config '{"method": "ngram", "num_speculative_tokens": 3}'"""
    report = judge(around(args=args))
    assert found(report, SLUG) is None
    assert unanswered(report, SLUG) == "too-few-samples"


def test_quiet_where_memory_explains_it(judge: Judge) -> None:
    assert found(judge(around(kv=0.95)), SLUG) is None
    assert found(judge(around(preempted=5)), SLUG) is None


def test_missing_ceiling(judge: Judge) -> None:
    assert unanswered(judge(around(args="vllm serve m")), SLUG) == "not-in-this-input"
