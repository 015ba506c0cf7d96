"""The rule on models that cannot fit: every refusal, and the sum of the terms at its threshold."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import LLAMA_8B, log, read

from diagnostics.capacity import hardware, memory
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason
from diagnostics.rules.does_not_fit import CONTEXT_GIB

SLUG = "does-not-fit"
LENGTH = (
    "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache "
    "is needed, "
    "which is larger than the available KV cache memory (9.10 GiB). Based on the available memory, the "
    "estimated maximum "
    "model length is 74544."
)
OOM = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. "
    "GPU 0 has a total capacity of 79.10 GiB"
)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (LENGTH, "131,072 tokens"),
        (OOM, "ran out of memory while it started"),
        ("ValueError: No available memory for the cache blocks. Try increasing", "no memory is left"),
        (
            "ValueError: Free memory on device (60.1/79.1 GiB) on startup is less than desired GPU memory "
            "utilization "
            "(0.9, 71.2 GiB).",
            "something else holds it",
        ),
        (
            "ValueError: The model's max seq len (32768) is larger than the maximum number of tokens that "
            "can be stored in "
            "KV cache (21040).",
            "21,040 tokens",
        ),
        ("Available KV cache memory: -1.20 GiB", "no memory is left"),
    ],
)
def test_fires_on_refusals(line: str, said: str, tmp_path: Path) -> None:
    """Each refusal is told in its own words, loud, with a step that needs no restart first."""
    report = read(tmp_path, log("Using max model len 131072", line))
    found = finding(report, SLUG)
    assert found is not None
    assert found.severity is Severity.CRITICAL
    assert said in found.summary
    assert found.remedies[0].when == "now"
    assert not found.remedies[0].restart
    assert report.verdict.primary == SLUG


def test_suggests_a_length_that_fits(tmp_path: Path) -> None:
    """Where only the length does not fit, the printed one is offered."""
    found = finding(read(tmp_path, log(LENGTH)), SLUG)
    assert found is not None
    assert ("--max-model-len", "74544") in {(r.flag, r.suggested) for r in found.remedies}


def test_quiet_when_it_started_afterwards(tmp_path: Path) -> None:
    """A refusal that a later start overcame is history."""
    assert not fired(read(tmp_path, log(LENGTH, "Starting vLLM API server 0 on http://0.0.0.0:8000")), SLUG)


def test_memory_of_the_host_is_another_matter(tmp_path: Path) -> None:
    """The kernel's killer speaks of host memory."""
    text = (
        log("Using max model len 4096")
        + "kernel: Memory cgroup out of memory: Killed process 4410 (VLLM::EngineCor)\n"
    )
    assert not fired(read(tmp_path, text), SLUG)


def test_under_load_it_is_a_peak(tmp_path: Path) -> None:
    """After readiness the words are about a peak, not about loading."""
    found = finding(read(tmp_path, log("Starting vLLM API server 0 on http://0.0.0.0:8000", OOM)), SLUG)
    assert found is not None
    assert "under load" in found.summary


@pytest.mark.parametrize(("share", "fires"), [(0.664, True), (0.666, False)])
def test_sum_at_its_threshold(share: float, fires: bool, tmp_path: Path) -> None:
    """8.03e9 parameters in 16 bit are 14.96 GiB; with context 0.665 of the card."""
    assert CONTEXT_GIB == 1.0
    text = f"$ vllm serve m/l --gpu-memory-utilization {share} --max-model-len 1024  # A10G\n"
    assert fired(read(tmp_path, text, LLAMA_8B), SLUG) is fires


@pytest.mark.parametrize(
    ("command", "fires"),
    [
        ("vllm serve m/Llama-3.1-70B-Instruct  # H100 SXM", True),
        ("vllm serve m/Llama-3.1-70B-Instruct-AWQ  # H100 SXM", False),
        ("vllm serve m/Llama-3.1-70B-Instruct -tp 4  # 4x H100 SXM", False),
        ("vllm serve openai/gpt-oss-120b  # H100 SXM", False),
        ("vllm serve m/Llama-3.1-70B-Instruct --cpu-offload-gb 80  # H100 SXM", False),
        ("vllm serve m/Qwen3-30B-A3B  # H100 SXM", False),
    ],
)
def test_sum_from_the_name(command: str, fires: bool, tmp_path: Path) -> None:
    """The size in a name counts, with format and degree; what a name does not say is not guessed."""
    assert fired(read(tmp_path, f"$ {command}\n"), SLUG) is fires


def test_missing(tmp_path: Path) -> None:
    """Without a GPU the sum cannot be made."""
    report = read(tmp_path, "$ vllm serve m/Llama-3.1-70B-Instruct\n")
    assert reason(report, SLUG) is Reason.NOT_CONFIGURED
    assert report.verdict.status == "insufficient-data"


def test_the_context_is_that_of_the_arithmetic() -> None:
    """The rule shows its threshold without loading the arithmetic; both are one number."""
    assert CONTEXT_GIB == memory.CONTEXT_BYTES / hardware.GIB
