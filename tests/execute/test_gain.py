"""What lifting a limit would return, from what arrives and what is served."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding
from support.vllm import vllm

from diagnostics.model.findings import Impact
from diagnostics.model.report import Report

Judge = Callable[..., Report]
COMMAND = "vllm serve m --max-num-seqs 8"


def impact(report: Report, slug: str) -> Impact:
    """The impact of a finding that must be there."""
    found = finding(report, slug)
    assert found is not None
    return found.impact


def test_no_more_than_arrives_can_be_served(judge: Judge) -> None:
    """One finishes a second and the queue grows by half a request a second: 1.5 arrive for each one served."""
    rec = vllm(
        running=8, waiting="10+2.5x60", finished=5, queue_seconds=9.9, ttft_seconds=10, command=COMMAND
    )
    found = impact(judge(rec), "cap-throttled")
    assert found.unit == "x throughput"
    assert found.estimate == pytest.approx(1.5, rel=0.05)
    assert found.interval == (1.0, found.estimate)
    assert "time to first token could fall from 10 s to between 50 ms and 100 ms at best" in found.statement


def test_a_larger_cap_gives_at_most_its_factor(judge: Judge) -> None:
    """Four arrive for each one served, and the cap suggested is twice as large."""
    rec = vllm(running=8, waiting="10+15x60", finished=5, queue_seconds=9, ttft_seconds=10, command=COMMAND)
    found = impact(judge(rec), "cap-throttled")
    assert found.estimate == 2.0
    assert "at most 2 times" in found.basis


def test_a_queue_that_does_not_grow_costs_time_and_no_throughput(judge: Judge) -> None:
    found = impact(judge(vllm(running=8, waiting=20, finished=5, command=COMMAND)), "cap-throttled")
    assert found.estimate is None
    assert "adds no throughput" in found.statement


def test_more_memory_is_bounded_by_what_arrives(judge: Judge) -> None:
    rec = vllm(running=4, waiting="10+1.25x60", kv=0.95, finished=5, command="vllm serve m --max-num-seqs 64")
    assert impact(judge(rec), "memory-bound").estimate == pytest.approx(1.25, rel=0.05)


def test_the_interval_is_said_in_words_and_not_repeated_in_json(judge: Judge) -> None:
    from diagnostics.reports.json import as_dict

    rec = vllm(running=8, waiting="10+2.5x60", finished=5, command=COMMAND)
    assert set(as_dict(impact(judge(rec), "cap-throttled"))) == {"statement", "estimate", "unit", "basis"}
