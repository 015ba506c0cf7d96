"""4-bit weights at a batch beyond the card's turning point."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import found, passed, unanswered
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.report import Report

SLUG = "weight-only-quant-compute-bound"
Judge = Callable[..., Report]


def quantized(running: float, method: str = "awq_marlin") -> Recording:
    return vllm(61, running=running, command=f"vllm serve m --quantization {method} --max-num-seqs 1024")


@pytest.mark.parametrize(("running", "severity"), [(73, None), (75, "info"), (294, "info"), (297, "warning")])
def test_thresholds_of_a_known_card(judge: Judge, running: float, severity: str | None) -> None:
    """H100 SXM: 4 bit turns at about 74 sequences, and its advantage is gone at 295."""
    finding = found(judge(quantized(running), gpu="H100 SXM"), SLUG)
    assert (finding.severity.value if finding else None) == severity
    if severity == "warning":
        assert finding is not None
        assert finding.role == "cause"
        assert not finding.remedies[0].restart


@pytest.mark.parametrize(("running", "fires"), [(402, False), (404, True)])
def test_an_unknown_card_is_only_remarked_on(judge: Judge, running: float, fires: bool) -> None:
    finding = found(judge(quantized(running)), SLUG)
    assert (finding is not None) is fires
    if finding is not None:
        assert finding.severity == "info"


@pytest.mark.parametrize("method", ["fp8", "compressed-tensors", "bitsandbytes"])
def test_quiet_for_other_formats(judge: Judge, method: str) -> None:
    passed(judge(quantized(500, method), gpu="H100 SXM"), SLUG)


def test_missing_format(judge: Judge) -> None:
    assert unanswered(judge(vllm(61, running=500), gpu="H100 SXM"), SLUG) == "not-in-this-input"
