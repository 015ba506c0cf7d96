"""Accepted drafts without a win: only with a baseline or a known cost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import add_vllm, counter, vllm

from diagnostics.model.report import Report

SLUG = "drafter-too-expensive"
N = 61
Judge = Callable[..., Report]


def speculate(recording: Recording, instance: str, accepted: float) -> None:
    labels = {"instance": instance, "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    recording.add("vllm:spec_decode_num_drafts_total", counter(100, N), **labels)
    recording.add("vllm:spec_decode_num_draft_tokens_total", counter(400, N), **labels)
    recording.add("vllm:spec_decode_num_accepted_tokens_total", counter(100 * accepted, N), **labels)


def tpot(recording: Recording, instance: str, seconds: float) -> None:
    labels = {"instance": instance, "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    recording.add("vllm:request_time_per_output_token_seconds_count", counter(5, N), **labels)
    recording.add("vllm:request_time_per_output_token_seconds_sum", counter(5 * seconds, N), **labels)


def pair(seconds: float, accepted: float = 2.4) -> Recording:
    """With speculation a token takes so long, without it 20 ms."""
    recording = Recording()
    for instance, time in (("on:8000", seconds), ("off:8000", 0.02)):
        add_vllm(recording, N, instance=instance, running=4)
        tpot(recording, instance, time)
    speculate(recording, "on:8000", accepted)
    return recording


def test_fires_without_a_win(judge: Judge) -> None:
    finding = fired(judge(pair(0.02)), SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert "lossless" in " ".join(finding.do_not)


@pytest.mark.parametrize(("seconds", "fires"), [(0.0178, False), (0.0182, True)])
def test_threshold_of_the_time(judge: Judge, seconds: float, fires: bool) -> None:
    report = judge(pair(seconds))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


def test_quiet_where_drafts_are_rejected(judge: Judge) -> None:
    passed(judge(pair(0.02, accepted=0.3)), SLUG)


def test_without_a_baseline_it_is_not_judged(judge: Judge) -> None:
    recording = vllm(N)
    speculate(recording, "vllm-0:8000", 2.4)
    assert unanswered(judge(recording), SLUG) == "option-not-given"


@pytest.mark.parametrize(("overhead", "fires"), [(0.49, False), (0.51, True)])
def test_threshold_of_a_published_cost(judge: Judge, overhead: float, fires: bool) -> None:
    recording = Recording()
    labels = {"instance": "trt:8000", "job": "trt", "model_name": "m"}
    for name, values in (
        ("num_requests_running", [4.0] * N), ("num_requests_waiting", [0.0] * N),
        ("spec_decode_num_draft_tokens_total", counter(400, N)),
        ("spec_decode_num_accepted_tokens_total", counter(240, N)),
        ("spec_decode_acceptance_length", [3.4] * N), ("spec_decode_draft_overhead", [overhead] * N),
    ):  # fmt: skip
        recording.add(f"trtllm_{name}", values, **labels)
    assert (found(judge(recording), SLUG) is not None) is fires


def test_missing_speculation(judge: Judge) -> None:
    assert unanswered(judge(vllm(N)), SLUG) == "not-in-this-input"
