"""Speculation beside a replica without it, and steps far above the ridge."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import add_vllm, counter, vllm

from diagnostics.model.report import Report

SLUG = "speculation-at-high-batch"
N = 61
Judge = Callable[..., Report]


def speculate(
    recording: Recording, instance: str, drafts: float, accepted: float = 2.0, length: int = 4
) -> None:
    labels = {"instance": instance, "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    recording.add("vllm:spec_decode_num_drafts_total", counter(drafts, N), **labels)
    recording.add("vllm:spec_decode_num_draft_tokens_total", counter(drafts * length, N), **labels)
    recording.add("vllm:spec_decode_num_accepted_tokens_total", counter(drafts * accepted, N), **labels)


def pair(generated: float, *, running: float = 160, plain: float = 160) -> Recording:
    """A replica with speculation at so many tokens a scrape, and one without that makes 6,700."""
    recording = Recording()
    add_vllm(recording, N, instance="on:8000", running=running, generated=generated, engine_steps=100)
    add_vllm(recording, N, instance="off:8000", running=plain, generated=6700, engine_steps=100)
    speculate(recording, "on:8000", 3000)
    return recording


def alone(positions: float, accepted: float = 2.0) -> Recording:
    """One replica whose steps compute so many positions, five for each draft."""
    recording = vllm(N, running=100, engine_steps=100)
    speculate(recording, "vllm-0:8000", positions * 100 / 5, accepted)
    return recording


def test_fires_beside_a_replica_without_it(judge: Judge) -> None:
    finding = fired(judge(pair(5900)), SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert finding.scope.replicas == ("on:8000",)
    assert "lossless" in " ".join(finding.do_not)


@pytest.mark.parametrize(("generated", "fires"), [(6690, True), (6710, False)])
def test_threshold_of_the_gain(judge: Judge, generated: float, fires: bool) -> None:
    report = judge(pair(generated))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("running", "fires"), [(31, False), (33, True)])
def test_threshold_of_the_batch(judge: Judge, running: float, fires: bool) -> None:
    assert (found(judge(pair(5900, running=running, plain=running)), SLUG) is not None) is fires


def test_quiet_where_the_batches_differ(judge: Judge) -> None:
    assert found(judge(pair(5900, running=100, plain=160)), SLUG) is None


@pytest.mark.parametrize(("positions", "fires"), [(400, False), (406, True)])
def test_threshold_of_the_step_without_a_comparison(judge: Judge, positions: float, fires: bool) -> None:
    report = judge(alone(positions))
    finding = found(report, SLUG)
    assert (finding is not None) is fires
    if finding is not None:
        assert (finding.severity, finding.role) == ("info", "advice")
        assert finding.confidence <= 0.5


def test_quiet_where_drafts_are_rejected_anyhow(judge: Judge) -> None:
    assert found(judge(alone(800, accepted=0.2)), SLUG) is None


def test_missing_speculation(judge: Judge) -> None:
    assert unanswered(judge(vllm(N)), SLUG) == "not-in-this-input"
