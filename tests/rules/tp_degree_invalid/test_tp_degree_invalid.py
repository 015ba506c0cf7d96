"""The rule on degrees that do not divide the model."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import LLAMA_8B, log, read

from diagnostics.model.findings import Role, Severity
from diagnostics.model.report import Reason
from diagnostics.rules.tp_degree_invalid import REMAINDER

SLUG = "tp-degree-invalid"
REFUSAL = "ValueError: Total number of attention heads ({}) must be divisible by tensor parallel size ({})."
QWEN_7B = LLAMA_8B | {
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "hidden_size": 3584,
    "intermediate_size": 18944,
}


def test_fires_on_the_refusal(tmp_path: Path) -> None:
    """The engine's own words are proof, and the degrees that work are named."""
    report = read(tmp_path, log(REFUSAL.format(28, 8)))
    found = finding(report, SLUG)
    assert found is not None
    assert found.severity is Severity.CRITICAL
    assert "1, 2, 4" in found.explanation
    assert found.evidence[0].value > REMAINDER
    assert found.remedies[0].when == "now"
    assert report.verdict.primary == SLUG


@pytest.mark.parametrize(("degree", "fires"), [(4, False), (8, True), (7, True), (2, False)])
def test_structure_beside_the_command(degree: int, fires: bool, tmp_path: Path) -> None:
    """28 heads and 4 KV heads: 8 leaves a rest of heads, 7 one of KV heads and MLP."""
    found = finding(read(tmp_path, f"$ vllm serve m/q -tp {degree}\n", QWEN_7B), SLUG)
    assert (found is not None) is fires
    if found:
        assert found.evidence[0].value > REMAINDER


@pytest.mark.parametrize(("degree", "copied"), [(8, False), (16, True)])
def test_copied_heads_are_advice(degree: int, copied: bool, tmp_path: Path) -> None:
    """A degree above the KV heads works; it is never loud."""
    found = finding(read(tmp_path, f"$ vllm serve m/l -tp {degree}\n", LLAMA_8B), SLUG)
    assert (found is not None) is copied
    if found:
        assert (found.severity, found.role) == (Severity.INFO, Role.ADVICE)


def test_quiet_when_it_started_afterwards(tmp_path: Path) -> None:
    """A later start with another degree overcame it."""
    assert not fired(
        read(tmp_path, log(REFUSAL.format(32, 3), "Starting vLLM API server 0 on http://0.0.0.0:8000")), SLUG
    )


def test_missing(tmp_path: Path) -> None:
    """A command alone does not tell how many heads there are."""
    report = read(tmp_path, "$ vllm serve m/l -tp 8\n")
    assert reason(report, SLUG) is Reason.NOT_CONFIGURED
    assert report.verdict.status == "insufficient-data"


@pytest.mark.parametrize(
    ("line", "command", "said", "degrees"),
    [
        ("AssertionError: 28 is not divisible by 8", "", "28 is no multiple of 8", "1, 2, 4"),
        (
            "ValueError: `num_heads` must be divisible by `num_shards` (got `num_heads`: 14 and `num_shards`: 4)",
            "", "14 is no multiple of 4", "1, 2",
        ),
        (
            "ValueError: Weight input_size_per_partition = 4736 is not divisible by min_thread_k = 128. Consider "
            "reducing tensor_parallel_size or running with --quantization gptq.",
            "$ vllm serve m/q -tp 8\n", "4,736, no multiple of 128", "1, 2, 4",
        ),
        (
            "ValueError: Weight output_size_per_partition = 100 is not divisible by  min_thread_n = 64.",
            "", "at the degree asked for", None,
        ),
    ],
    ids=["assertion", "shards", "tile with the degree", "tile without"],
)  # fmt: skip
def test_every_form_of_the_refusal(
    line: str, command: str, said: str, degrees: str | None, tmp_path: Path
) -> None:
    """Heads, shards, and the tiles that quantized layers are cut into; degrees are named where they follow."""
    found = finding(read(tmp_path, command + log(line)), SLUG)
    assert found is not None
    assert said in found.summary
    assert ("Degrees that divide it" in found.explanation) is (degrees is not None)
    if degrees:
        assert f"Degrees that divide it: {degrees}." in found.explanation
