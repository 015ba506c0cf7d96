"""The sawtooth of a batch that drains with requests waiting."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.report import Report

SLUG = "static-batching"
WAVE = [16, 16, 15, 12, 9, 6, 4, 3, 2, 1, 1, 1]
Judge = Callable[..., Report]


def sawtooth(
    waves: int = 5, waiting: float = 18, *, wave: list[int] | None = None, kv: float = 0.2
) -> Recording:
    shape = [float(v) for v in (wave or WAVE)]
    running = shape * waves + [shape[0]] * max(0, 61 - len(shape) * waves)
    return vllm(
        len(running), step=4.0, running=running, waiting=waiting, kv=kv, queue_seconds=20.0, ttft_seconds=21.0
    )


def test_fires_and_explains_the_queue(judge: Judge) -> None:
    report = judge(sawtooth())
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert report.verdict.primary == SLUG
    assert "past-saturation-knee" in finding.explains


@pytest.mark.parametrize(("waves", "fires"), [(3, False), (4, True)])
def test_threshold_of_refills(judge: Judge, waves: int, fires: bool) -> None:
    """Four waves and a refill after each of the first three at least; three waves refill twice, and once at the end."""
    shape = [float(v) for v in WAVE]
    running = shape * waves
    report = judge(
        vllm(len(running), step=4.0, running=running, waiting=18, queue_seconds=20.0, ttft_seconds=21.0)
    )
    assert (found(report, SLUG) is not None) is fires


def test_quiet_for_bursts_with_nothing_waiting(judge: Judge) -> None:
    passed(judge(sawtooth(waiting=0)), SLUG)


@pytest.mark.parametrize(("empty", "fires"), [(2, False), (3, True)])
def test_threshold_of_empty_seats(judge: Judge, empty: int, fires: bool) -> None:
    """Of 13 scrapes a wave 2 (0.15) or 3 (0.23) are below half; the limit is 0.2."""
    wave = [16] * (13 - empty) + [1] * empty
    assert (found(judge(sawtooth(wave=wave)), SLUG) is not None) is fires


def test_quiet_when_the_cache_is_full(judge: Judge) -> None:
    assert found(judge(sawtooth(kv=0.95)), SLUG) is None


def test_quiet_where_what_waits_lacks_an_adapter(judge: Judge) -> None:
    recording = sawtooth()
    n = recording.scrapes
    recording.add(
        "vllm:num_requests_waiting_by_reason", [18.0] * n, instance="vllm-0:8000", job="vllm",
        model_name="/models/llama", engine="0", reason="deferred",
    )  # fmt: skip
    assert found(judge(recording), SLUG) is None


def test_quiet_at_the_cap(judge: Judge) -> None:
    assert found(judge(vllm(61, running=16, waiting=20, queue_seconds=5.0, ttft_seconds=6.0)), SLUG) is None


def test_missing_queue(judge: Judge) -> None:
    report = judge(sawtooth().without("vllm:num_requests_waiting"))
    assert unanswered(report, SLUG) == "not-in-this-input"


def test_dumps_cannot_tell(judge: Judge) -> None:
    assert unanswered(judge(sawtooth(), "dumps"), SLUG) == "needs-time-series"
