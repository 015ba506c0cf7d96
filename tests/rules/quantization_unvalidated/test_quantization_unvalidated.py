"""The reminder on quantized deployments."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.findings import finding, reason
from support.texts import log, read

from diagnostics.model.findings import Role, Severity
from diagnostics.model.report import Reason
from diagnostics.rules.quantization_unvalidated import HALVES

SLUG = "quantization-unvalidated"


@pytest.mark.parametrize(
    ("command", "fires"),
    [
        ("vllm serve m/l-AWQ", True),
        ("vllm serve m/l --quantization fp8", True),
        ("vllm serve m/l", False),
        ("vllm serve m/l --quantization none", False),
    ],
)
def test_reminds_of_quantized_weights(command: str, fires: bool, tmp_path: Path) -> None:
    """Quantized weights without results are a reminder, never more."""
    report = read(tmp_path, f"$ {command}\n")
    found = finding(report, SLUG)
    assert (found is not None) is fires
    if found:
        assert (found.severity, found.role) == (Severity.INFO, Role.ADVICE)
        assert found.evidence[0].value < HALVES
        assert found.confidence <= 0.4
    assert report.verdict.status == "insufficient-data"


def test_missing(tmp_path: Path) -> None:
    """A log without the arguments does not tell how weights are stored."""
    assert reason(read(tmp_path, log("Using max model len 4096")), SLUG) is Reason.NOT_CONFIGURED
