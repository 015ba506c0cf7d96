"""The rule on reserved slots."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import read

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason
from diagnostics.rules.reserved_slot_waste import MIN_SLOTS, USED_SHARE

SLUG = "reserved-slot-waste"


@pytest.mark.parametrize(
    ("tokens", "fires"), [(int(8192 * USED_SHARE), True), (int(8192 * USED_SHARE) + 1, False)]
)
def test_used_share_at_its_threshold(tokens: int, fires: bool, tmp_path: Path) -> None:
    """Context by slots is what one slot reserves."""
    found = finding(
        read(tmp_path, f"$ llama-server -m m.gguf -c 32768 -np 4  # {tokens} prompt tokens\n"), SLUG
    )
    assert (found is not None) is fires
    if found:
        assert found.severity is Severity.WARNING
        assert found.remedies[0].when == "now"


@pytest.mark.parametrize(("slots", "fires"), [(int(MIN_SLOTS), True), (int(MIN_SLOTS) - 1, False)])
def test_a_single_slot_holds_nobody_up(slots: int, fires: bool, tmp_path: Path) -> None:
    """One slot is one user."""
    assert (
        fired(read(tmp_path, f"$ llama-server -m m.gguf -c 32768 -np {slots}  # 500 prompt tokens\n"), SLUG)
        is fires
    )


@pytest.mark.parametrize(
    "command",
    [
        "llama-server -m m.gguf -c 32768 -np 4 --kv-unified  # 500 prompt tokens",
        "vllm serve m/l --max-num-seqs 4 --max-model-len 32768  # 500 prompt tokens",
    ],
)
def test_quiet_where_the_pool_is_shared(command: str, tmp_path: Path) -> None:
    """A unified cache and paged engines reserve nothing."""
    report = read(tmp_path, f"$ {command}\n")
    assert not fired(report, SLUG)
    assert SLUG in report.passed


def test_missing(tmp_path: Path) -> None:
    """Without the length of requests the share is not known."""
    report = read(tmp_path, "$ llama-server -m m.gguf -c 32768 -np 4\n")
    assert reason(report, SLUG) is Reason.NOT_CONFIGURED
    assert report.verdict.status == "insufficient-data"
