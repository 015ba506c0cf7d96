"""The thin-pool rule: measured, told, configured and estimated lengths, each at its threshold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.findings import finding, fired, loud, reason
from support.texts import LLAMA_8B, log, read
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report
from diagnostics.rules.kv_budget_thin import (
    FEW_CONFIGURED,
    FEW_REAL,
    MEASURABLE,
    NEEDED,
    SHORT_MAXIMUM,
    THIN_SHARE,
)

SLUG = "kv-budget-thin"
Judge = Callable[..., Report]


def _start(tokens: int, longest: int) -> str:
    return log(
        f"GPU KV cache size: {tokens:,} tokens",
        f"Maximum concurrency for {longest:,} tokens per request: 1.00x",
    )


@pytest.mark.parametrize(
    ("tokens", "fires"), [(int(FEW_CONFIGURED * 32768) - 16, True), (int(FEW_CONFIGURED * 32768), False)]
)
def test_configured_length(tokens: int, fires: bool, tmp_path: Path) -> None:
    """Without a load, fewer than two sequences of the maximum length are few."""
    assert fired(read(tmp_path, _start(tokens, 32768)), SLUG) is fires


@pytest.mark.parametrize(("tokens", "fires"), [(4 * 4096 - 16, True), (4 * 4096, False)])
def test_short_maximum(tokens: int, fires: bool, tmp_path: Path) -> None:
    """Requests come near a short maximum, so four of them must fit."""
    assert SHORT_MAXIMUM > 4096
    assert FEW_REAL == 4
    assert fired(read(tmp_path, _start(tokens, 4096)), SLUG) is fires


@pytest.mark.parametrize(("held", "fires"), [(3.99, True), (4.01, False)])
def test_told_length_decides_before_the_maximum(held: float, fires: bool, tmp_path: Path) -> None:
    """A remark on prompts is nearer to the traffic than the maximum."""
    text = _start(round(held * 10_000), 131_072) + "# 10000-token prompts\n"
    assert fired(read(tmp_path, text), SLUG) is fires


@pytest.mark.parametrize(
    ("running", "fires"), [(FEW_REAL * NEEDED - 0.01, True), (FEW_REAL * NEEDED + 0.01, False)]
)
def test_measured_sequences(running: float, fires: bool, judge: Judge) -> None:
    """Running by usage says how many sequences fit."""
    assert fired(judge(vllm(running=running, kv=NEEDED, waiting=0)), SLUG) is fires


@pytest.mark.parametrize(("kv", "fires"), [(NEEDED, True), (NEEDED - 0.01, False)])
def test_quiet_when_the_load_never_needs_more(kv: float, fires: bool, judge: Judge) -> None:
    """A small pool that is not used up is large enough."""
    assert fired(judge(vllm(running=2, kv=kv, waiting=0)), SLUG) is fires


def test_quiet_when_usage_is_too_coarse(judge: Judge) -> None:
    """One request in an empty pool measures nothing."""
    assert not fired(judge(vllm(running=1, kv=MEASURABLE / 2)), SLUG)


@pytest.mark.parametrize(("degree", "fires"), [(2, True), (4, False)])
def test_estimate_from_the_name(degree: int, fires: bool, tmp_path: Path) -> None:
    """70B in 16 bit on two cards of 80 GB loads and leaves almost nothing (S02)."""
    report = read(
        tmp_path, f"$ vllm serve m/Llama-70B --tensor-parallel-size {degree}  # {degree}x A100 80GB\n"
    )
    found = finding(report, SLUG)
    assert (found is not None) is fires
    if found:
        assert found.evidence[0].value < THIN_SHARE
        assert "weights" in found.explanation
        assert found.confidence <= 0.5


def test_estimate_from_the_structure(tmp_path: Path) -> None:
    """With the configuration the estimate is in sequences."""
    text = "$ vllm serve m/l --max-model-len 131072  # NVIDIA L4\n"
    found = finding(read(tmp_path, text, LLAMA_8B), SLUG)
    assert found is not None
    assert found.evidence[0].unit == "requests"


def test_missing(tmp_path: Path) -> None:
    """A command without a GPU proves nothing."""
    report = read(tmp_path, "$ vllm serve m/l --max-model-len 8192\n")
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
    assert report.verdict.status == "insufficient-data"


def test_words(tmp_path: Path) -> None:
    """The terms are shown, nothing is promised of a lower maximum, and the log alone is never sure."""
    text = log(
        "Model loading took 65.1 GiB memory and 20.0 seconds", "Available KV cache memory: 2.51 GiB"
    ) + _start(9000, 8192)
    found = finding(read(tmp_path, text, gpu="A100 80GB SXM"), SLUG)
    assert found is not None
    assert found.severity is Severity.WARNING
    assert "65.1 GiB weights" in found.explanation
    assert "GiB granted" in found.explanation
    assert any("maximum length" in d for d in found.do_not)
    assert found.remedies[0].when == "now"
    assert loud(read(tmp_path, text)) == {SLUG}
