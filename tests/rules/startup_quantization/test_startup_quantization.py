"""The rule on quantization at start."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import log, read

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason
from diagnostics.rules.startup_quantization import LONG_LOAD, ONLINE

SLUG = "startup-quantization"


@pytest.mark.parametrize("scheme", [name for name in ONLINE if name != "torchao"])
def test_fires_on_every_online_scheme(scheme: str, tmp_path: Path) -> None:
    """A plain checkpoint with such a flag is converted at each start; never loud."""
    report = read(tmp_path, f"$ vllm serve m/l --quantization {scheme}\n")
    found = finding(report, SLUG)
    assert found is not None
    assert found.severity is Severity.INFO
    assert report.verdict.status == "insufficient-data"


@pytest.mark.parametrize(
    "command",
    [
        "vllm serve m/l --quantization fp8",  # the stated exception
        "vllm serve m/l-bnb-4bit --quantization bitsandbytes",  # the checkpoint has it already
        "vllm serve m/l-AWQ --quantization awq_marlin",
        "vllm serve m/l",
    ],
)
def test_quiet(command: str, tmp_path: Path) -> None:
    """FP8 and prequantized checkpoints are fine."""
    assert not fired(read(tmp_path, f"$ {command}\n"), SLUG)


def test_a_new_layout_is_not_quantization(tmp_path: Path) -> None:
    """GPTQ weights that are laid out for Marlin were quantized before."""
    text = "$ vllm serve m/l-GPTQ\n" + log(
        "The model is convertible to gptq_marlin during runtime. Using gptq_marlin kernel."
    )
    assert not fired(read(tmp_path, text), SLUG)


@pytest.mark.parametrize(("seconds", "shown"), [(LONG_LOAD - 1, False), (LONG_LOAD, True)])
def test_a_long_load_is_shown(seconds: float, shown: bool, tmp_path: Path) -> None:
    """From a minute on the load time is part of the evidence."""
    text = "$ vllm serve m/l --quantization bitsandbytes\n" + log(
        f"Loading weights took {seconds:.2f} seconds"
    )
    found = finding(read(tmp_path, text), SLUG)
    assert found is not None
    assert (len(found.evidence) == 2) is shown


def test_missing(tmp_path: Path) -> None:
    """A log without the arguments does not tell."""
    assert reason(read(tmp_path, log("Using max model len 4096")), SLUG) is Reason.NOT_CONFIGURED
