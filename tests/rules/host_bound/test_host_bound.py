"""Time before the engine, with the CPU pinned or the GPU idle."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import counter, vllm

from diagnostics.model.report import Report

SLUG = "host-bound"
N = 61
Judge = Callable[..., Report]
TARGET = {"instance": "vllm-0:8000", "job": "vllm"}


def host(
    ttft: float = 2.0, *, cores: float | None = 0.98, dram: float | None = None, waiting: float = 0
) -> Recording:
    """Queue and prefill take 0.06 s together."""
    recording = vllm(N, running=30, waiting=waiting, ttft_seconds=ttft)
    if cores is not None:
        recording.add("process_cpu_seconds_total", counter(5.0 * cores, N), **TARGET)
    if dram is not None:
        recording.add("DCGM_FI_PROF_DRAM_ACTIVE", [dram] * N, **TARGET, gpu="0")
        recording.add("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", [dram / 2] * N, **TARGET, gpu="0")
    return recording


@pytest.mark.parametrize("carrier", ["openmetrics", "query_range"])
def test_fires_with_the_cpu_pinned(judge: Judge, carrier: str) -> None:
    report = judge(host(), carrier)
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert report.verdict.primary == SLUG
    assert not finding.remedies[0].restart


def test_fires_with_an_idle_gpu(judge: Judge) -> None:
    assert "busy for 20 %" in fired(judge(host(cores=0.3, dram=0.2)), SLUG).explanation


@pytest.mark.parametrize(("cores", "fires"), [(0.89, False), (0.92, True)])
def test_threshold_of_the_cpu(judge: Judge, cores: float, fires: bool) -> None:
    report = judge(host(cores=cores))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("dram", "fires"), [(0.31, False), (0.29, True)])
def test_threshold_of_the_gpu(judge: Judge, dram: float, fires: bool) -> None:
    assert (found(judge(host(cores=None, dram=dram)), SLUG) is not None) is fires


@pytest.mark.parametrize(("ttft", "fires"), [(0.55, False), (0.57, True)])
def test_threshold_of_the_gap(judge: Judge, ttft: float, fires: bool) -> None:
    """0.5 s beyond the 0.06 s of queue and prefill."""
    assert (found(judge(host(ttft)), SLUG) is not None) is fires


def test_quiet_while_the_engine_queues(judge: Judge) -> None:
    assert found(judge(host(waiting=5)), SLUG) is None


def test_a_gap_alone_proves_nothing(judge: Judge) -> None:
    assert unanswered(judge(host(cores=None)), SLUG) == "not-in-this-input"


def test_missing_prefill_time(judge: Judge) -> None:
    report = judge(host().without("vllm:request_prefill_time"))
    assert unanswered(report, SLUG) == "not-in-this-input"
