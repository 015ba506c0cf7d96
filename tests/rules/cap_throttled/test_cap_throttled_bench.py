"""A sweep over concurrency beyond a known cap."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, fired, reason

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report

SLUG = "cap-throttled"
CAP = 32


def _level(cap: int, decoding: float, ttft: float, **other: Any) -> dict[str, Any]:
    """A level at which so many sequences decode: 20 ms a token each."""
    return serve(cap=cap, n=20 * cap, output_tps=decoding / 0.02, ttft=ttft, mean_tpot_ms=20.0, median_tpot_ms=20.0,
                 max_num_seqs=CAP, **other)  # fmt: skip


def _sweep(
    folder: Path, decoding: float, ttft: float, caps: tuple[int, ...] = (64, 128), **other: Any
) -> Report:
    """Two levels up to the cap, and others beyond it with so many sequences and such first tokens."""
    light = [_level(16, 16, 0.1, **other), _level(32, 32, 0.12, **other)]
    return judge_bench(folder, *light, *(_level(c, decoding, ttft * c / 64, **other) for c in caps))


@pytest.mark.parametrize(
    ("decoding", "ttft", "fires"),
    [(31, 2.0, True), (26, 2.0, True), (24, 2.0, False), (60, 2.0, False), (31, 0.15, False)],
)
def test_only_the_wait_grows_beyond_the_cap(
    decoding: float, ttft: float, fires: bool, tmp_path: Path
) -> None:
    """The batch is at the cap and first tokens wait; not where more decode, fewer do, or nothing waits."""
    found = finding(_sweep(tmp_path, decoding, ttft), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.WARNING


def test_one_level_measured_once_is_a_remark(tmp_path: Path) -> None:
    """Without a second level beyond the cap or a repeat there is no verdict."""
    found = finding(_sweep(tmp_path, 31, 2.0, (64,)), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO


def test_without_the_cap_nothing_is_said(tmp_path: Path) -> None:
    """A plateau may be memory: the cap must be known, and how to give it is said."""
    levels = [_level(c, min(c, 31), 0.1 * max(1, c / 8)) for c in (16, 32, 64, 128)]
    for level in levels:
        del level["max_num_seqs"]
    report = judge_bench(tmp_path, *levels)
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
    assert fired(judge_bench(tmp_path, *levels, engine_args="vllm serve m --max-num-seqs 32"), SLUG)
