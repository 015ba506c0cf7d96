"""Tensor parallelism over PCIe: a remark from configuration, a warning only with a measured step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import log, read
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report
from diagnostics.rules.tp_over_slow_link import LIGHT_LOAD, SLOW_STEP

SLUG = "tp-over-slow-link"
WARNING = "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs."
# s; 8e9 parameters in 16 bit over 2 GPUs of 864e9 bytes/s.
FLOOR = 8e9 * 2 / 2 / 864e9
GAPS = 300
Judge = Callable[..., Report]


@pytest.mark.parametrize(
    ("text", "fires"),
    [
        ("$ vllm serve m/l -tp 4  # 4x L40S\n", True),
        ("$ vllm serve m/l -tp 4\n" + log(WARNING), True),
        ("$ vllm serve m/l -tp 4  # 4x H100 PCIe\n", True),
        ("$ vllm serve m/l -tp 2  # 2x H100 PCIe\n", False),
        ("$ vllm serve m/l -tp 8  # 8x H100 SXM\n", False),
        ("$ vllm serve m/l -tp 16  # H100 SXM\n", True),
        ("$ vllm serve m/l -tp 8 -pp 2 --nnodes 2  # H100 SXM\n", False),
        ("$ vllm serve m/l -tp 8 --nnodes 2  # H100 SXM\n", True),
        ("$ vllm serve m/l -tp 8 --nnodes 2  # 8x GB200\n", False),
        ("$ vllm serve m/l  # L40S\n", False),
    ],
)
def test_link(text: str, fires: bool, tmp_path: Path) -> None:
    """A group inside its fast domain, and stages across hosts, are fine; the rest is a remark."""
    report = read(tmp_path, text)
    found = finding(report, SLUG)
    assert (found is not None) is fires
    if found:
        assert found.severity is Severity.INFO
        assert found.remedies[0].when == "now"
    assert report.verdict.status == "insufficient-data"


@pytest.mark.parametrize(("times", "loud"), [(SLOW_STEP - 0.01, False), (SLOW_STEP + 0.01, True)])
def test_a_measured_step_makes_it_loud(times: float, loud: bool, judge: Judge) -> None:
    """Three times the weight-reading time at light load proves the loss."""
    command = "vllm serve m/Llama-8B --tensor-parallel-size 2"
    rec = vllm(running=LIGHT_LOAD, itl_sum=GAPS * FLOOR * times, command=command)
    found = finding(judge(rec, gpu="L40S"), SLUG)
    assert found is not None
    assert (found.severity is Severity.WARNING) is loud


def test_a_busy_replica_proves_nothing(judge: Judge) -> None:
    """With more in the batch the step has other reasons."""
    command = "vllm serve m/Llama-8B --tensor-parallel-size 2"
    rec = vllm(running=LIGHT_LOAD + 1, itl_sum=GAPS * FLOOR * 9, command=command)
    found = finding(judge(rec, gpu="L40S"), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO


def test_missing(tmp_path: Path) -> None:
    """Without the GPU the link is not known."""
    report = read(tmp_path, "$ vllm serve m/l -tp 4\n")
    assert reason(report, SLUG) is Reason.NOT_CONFIGURED
    assert not fired(report, SLUG)
