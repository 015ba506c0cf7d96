"""Single gaps of a benchmark on other requests' prefills."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import detailed, judge_bench
from support.findings import finding, fired, reason

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason

SLUG = "prefill-stalls-decode"
TOKENS, GAP = 200, 0.02


def _streams(stall: float, shift: float = 0.0, n: int = 60, every: float = 4.0) -> dict[str, Any]:
    """A request every few seconds; each step that prefills one stops the other streams for so long.

    ``shift`` moves the stalls away from the first tokens that cause them.
    """
    starts = [every * i for i in range(n)]
    firsts = [s + max(stall, 0.1) for s in starts]
    gaps = []
    for first in firsts:
        clock, own = first, []
        for _ in range(TOKENS):
            hit = next(
                (f for f in firsts if f + shift - stall <= clock < f + shift - stall + GAP and f != first),
                None,
            )
            step = (hit + shift - clock) if hit is not None and stall > GAP else GAP
            own.append(step)
            clock += step
        gaps.append(own)
    lengths = [3000 + 37 * i % 900 for i in range(n)]
    result = detailed(
        starts, [f - s for f, s in zip(firsts, starts, strict=True)], [sum(g) for g in gaps], lengths, [TOKENS + 1] * n,
        rate=1 / every,
    )  # fmt: skip
    return result | {"itls": gaps}


@pytest.mark.parametrize(("stall", "fires"), [(1.0, True), (0.6, True), (0.4, False), (0.02, False)])
def test_streams_stop_while_another_prompt_is_prefilled(stall: float, fires: bool, tmp_path: Path) -> None:
    """Gaps that a reader notices and that end with another request's first token."""
    found = finding(judge_bench(tmp_path, _streams(stall)), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.WARNING


def test_stalls_at_other_moments_have_another_cause(tmp_path: Path) -> None:
    """The same gaps, none of them on a prefill."""
    assert not fired(judge_bench(tmp_path, _streams(1.0, shift=1.5)), SLUG)


def test_over_the_slo_it_is_critical(tmp_path: Path) -> None:
    """The target for the p99 of gaps is broken by the stalls."""
    result = _streams(0.6, every=1.5)
    for limit, severity in ((0.1, Severity.CRITICAL), (1.0, Severity.WARNING)):
        found = finding(judge_bench(tmp_path, result, slo={"itl_p99": limit}), SLUG)
        assert found is not None
        assert found.severity is severity


def test_without_single_gaps_it_is_not_judged(tmp_path: Path) -> None:
    """A mean and a p99 say nothing of what the gaps fall on."""
    result = _streams(1.0)
    del result["itls"]
    report = judge_bench(tmp_path, result)
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
