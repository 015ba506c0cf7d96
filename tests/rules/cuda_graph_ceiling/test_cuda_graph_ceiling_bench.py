"""A sweep over concurrency across the largest captured graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, fired, reason

from diagnostics.execute.bench_ceiling import JUMP
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason

SLUG = "cuda-graph-ceiling"
COMMAND = "vllm serve m --max-cudagraph-capture-size 64"
CAPS = (16, 32, 64, 96, 128)


def _sweep(tokens: tuple[float, ...], ttft: tuple[float, ...] = (0.1,) * 5) -> list[dict[str, Any]]:
    """Milliseconds a token and seconds to the first one at each level."""
    return [
        serve(cap=c, n=20 * c, ttft=first, mean_tpot_ms=t, median_tpot_ms=t)
        for c, t, first in zip(CAPS, tokens, ttft, strict=False)
    ]


# 64 and below lead to expect 14 ms at 96 and 16 ms at 128.
@pytest.mark.parametrize(
    ("above", "severity"),
    [
        ((20.0, 23.0), Severity.WARNING),
        ((14.0 * JUMP + 0.1, 16.0 * JUMP + 0.1), Severity.WARNING),
        ((14.0 * JUMP - 0.1, 16.0 * JUMP - 0.1), None),
        ((14.0, 16.0), None),
        ((20.0,), Severity.INFO),
    ],
)
def test_a_step_beyond_what_lighter_levels_lead_to_expect(
    above: tuple[float, ...], severity: Severity | None, tmp_path: Path
) -> None:
    """A jump at both levels above is a finding, at a single one a remark, the usual slope none."""
    report = judge_bench(tmp_path, *_sweep((9.0, 10.0, 12.0, *above)), engine_args=COMMAND)
    found = finding(report, SLUG)
    assert (found.severity if found else None) is severity


def test_a_queue_has_a_jump_of_its_own(tmp_path: Path) -> None:
    """First tokens that wait tell of a limit before the step."""
    sweep = _sweep((9.0, 10.0, 12.0, 20.0, 23.0), (0.1, 0.1, 0.1, 2.0, 3.0))
    assert not fired(judge_bench(tmp_path, *sweep, engine_args=COMMAND), SLUG)


def test_without_the_size_nothing_is_said(tmp_path: Path) -> None:
    """A jump alone has many causes."""
    report = judge_bench(tmp_path, *_sweep((9.0, 10.0, 12.0, 20.0, 23.0)))
    assert not fired(report, SLUG)
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
