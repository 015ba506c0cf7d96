"""The rule on formats that a GPU does not have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import log, read
from support.vllm import vllm

from diagnostics.capacity.hardware import load_gpus
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report
from diagnostics.rules.precision_unsupported import FIRST_CAPABILITY

SLUG = "precision-unsupported"
Judge = Callable[..., Report]
FALLBACK = (
    "Your GPU does not have native support for FP{0} computation but FP{0} quantization is being used. "
    "Weight-only FP{0} "
    "compression will be used leveraging the Marlin kernel."
)


@pytest.mark.parametrize(
    ("command", "fires"),
    [
        ("vllm serve m/l --quantization fp8  # A100 80GB", True),
        ("vllm serve m/l-FP8  # A10G", True),
        ("vllm serve m/l-FP8  # NVIDIA L4", False),
        ("vllm serve m/l --quantization fp8  # H100 SXM", False),
        ("vllm serve m/l-NVFP4  # H100 SXM", True),
        ("vllm serve m/l-NVFP4  # B200", False),
        ("vllm serve m/l-AWQ  # A100 80GB", False),
        ("vllm serve m/l --dtype bfloat16  # Tesla T4", True),
        ("vllm serve m/l --dtype bfloat16  # A10G", False),
    ],
)
def test_format_beside_the_gpu(command: str, fires: bool, tmp_path: Path) -> None:
    """What is asked for is held against the hardware table."""
    found = finding(read(tmp_path, f"$ {command}\n"), SLUG)
    assert (found is not None) is fires
    if found:
        assert found.severity is Severity.WARNING
        assert found.variant is None


@pytest.mark.parametrize("bits", ["8", "4"])
def test_a_weight_only_kernel_is_a_remark(bits: str, tmp_path: Path) -> None:
    """Stored small and computed in 16 bit is what may have been wanted."""
    name = {"8": "fp8", "4": "nvfp4"}[bits]
    report = read(tmp_path, f"$ vllm serve m/l-{name}  # A100 80GB\n" + log(FALLBACK.format(bits)))
    found = finding(report, SLUG)
    assert found is not None
    assert (found.severity, found.variant) == (Severity.INFO, "weight-only")
    assert report.verdict.status == "insufficient-data"


def test_quiet_when_the_gpu_has_the_format(tmp_path: Path) -> None:
    """A generic warning in the log does not outweigh the hardware."""
    assert not fired(read(tmp_path, "$ vllm serve m/l-FP8  # L40S\n" + log(FALLBACK.format("8"))), SLUG)


def test_a_server_at_work_computes_in_16_bit(judge: Judge) -> None:
    """What serves without the units has fallen back, whether its start was seen or not."""
    found = finding(judge(vllm(command="vllm serve m/l --quantization fp8"), gpu="A10G"), SLUG)
    assert found is not None
    assert (found.severity, found.variant) == (Severity.INFO, "weight-only")


def test_missing(tmp_path: Path) -> None:
    """A format without a GPU says nothing."""
    assert reason(read(tmp_path, "$ vllm serve m/l-FP8\n"), SLUG) is Reason.NOT_CONFIGURED


@pytest.mark.parametrize("name", sorted(FIRST_CAPABILITY))
def test_thresholds_agree_with_the_table(name: str) -> None:
    """At the stated compute capability and above the table has the format, below it does not."""
    for gpu in load_gpus():
        capability = gpu.compute_capability or ""
        if gpu.vendor == "nvidia" and gpu.supports(name) is not None:
            assert gpu.supports(name) is (float(capability) >= FIRST_CAPABILITY[name]), gpu.name
