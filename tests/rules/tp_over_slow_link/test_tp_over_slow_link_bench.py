"""Sweeps over tensor-parallel degrees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, fired, reason

from diagnostics.execute.bench_scaling import EFFICIENCY
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason

SLUG = "tp-over-slow-link"
CAPS = (1, 8, 32)


def _degrees(
    gain: float, gpu: str | None = "L40S", caps: tuple[int, ...] = CAPS, **many: Any
) -> list[dict[str, Any]]:
    """One and two GPUs at the same loads: output, and time a token, better by so much."""
    named = {"gpu": gpu} if gpu else {}
    one = [
        serve(cap=c, output_tps=40.0 * c, tensor_parallel_size=1, mean_tpot_ms=25.0, **named) for c in caps
    ]
    two = [
        serve(
            cap=c,
            output_tps=40.0 * c * gain,
            tensor_parallel_size=2,
            mean_tpot_ms=25.0 / gain,
            **named,
            **many,
        )
        for c in caps
    ]
    return one + two


@pytest.mark.parametrize(
    ("gain", "gpu", "fires"),
    [
        (1.1, "L40S", True),
        (2 * EFFICIENCY - 0.02, "L40S", True),
        (2 * EFFICIENCY + 0.02, "L40S", False),
        (1.1, "H100 SXM", False),
    ],
)
def test_poor_scaling_over_a_slow_link(gain: float, gpu: str, fires: bool, tmp_path: Path) -> None:
    """Twice the GPUs bring hardly more over PCIe: a measured warning; inside NVLink the link is no cause."""
    found = finding(judge_bench(tmp_path, *_degrees(gain, gpu)), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.WARNING


def test_one_load_measured_once_is_a_remark(tmp_path: Path) -> None:
    """Two bare means carry no verdict."""
    found = finding(judge_bench(tmp_path, *_degrees(1.1, caps=(8,))), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO


def test_what_else_differs_is_named(tmp_path: Path) -> None:
    """Another setting may be the cause."""
    results = _degrees(1.1, max_num_seqs=8)
    for result in results[: len(CAPS)]:
        result["max_num_seqs"] = 64
    found = finding(judge_bench(tmp_path, *results), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO
    assert "differ in: max_num_seqs" in found.explanation


def test_an_unknown_gpu_is_asked_for(tmp_path: Path) -> None:
    """The link is not guessed; the option answers it."""
    results = _degrees(1.1, gpu=None)
    report = judge_bench(tmp_path, *results)
    assert not fired(report, SLUG)
    assert reason(report, SLUG) is Reason.NOT_CONFIGURED
    assert fired(judge_bench(tmp_path, *results, gpu="L40S"), SLUG)
