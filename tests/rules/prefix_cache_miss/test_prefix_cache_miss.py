"""The hit rate rule at its thresholds, and its variants."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Report
from diagnostics.rules.prefix_cache_miss import (
    LARGE_BLOCK,
    LOW_HITS,
    MAX_PREEMPTED,
    MIN_QUERIES,
    MIN_REQUESTS,
)

SLUG = "prefix-cache-miss"
Judge = Callable[..., Report]


def _hits(rate: float, queries: float = 60_000, finished: float = 300, **more: object) -> Recording:
    per_scrape = queries / 60
    return vllm(prefix_queries=per_scrape, prefix_hits=per_scrape * rate, finished=finished / 60, **more)


@pytest.mark.parametrize(("rate", "fires"), [(LOW_HITS - 0.001, True), (LOW_HITS + 1e-9, False)])
def test_a_low_rate_is_remarked_on(rate: float, fires: bool, judge: Judge) -> None:
    """Below the threshold there is a remark; it is never a warning without proof."""
    found = finding(judge(_hits(rate)), SLUG)
    assert (found is not None) is fires
    if found:
        assert (found.variant, found.severity) == ("unknown", Severity.INFO)


@pytest.mark.parametrize(
    ("queries", "finished", "fires"),
    [
        (MIN_QUERIES + 6, MIN_REQUESTS + 0.06, True),
        (MIN_QUERIES - 6, MIN_REQUESTS + 0.06, False),
        (MIN_QUERIES + 6, MIN_REQUESTS - 0.06, False),
    ],
)
def test_warm_up_says_nothing(queries: float, finished: float, fires: bool, judge: Judge) -> None:
    """Too few tokens or requests are no rate."""
    assert fired(judge(_hits(0.0, queries, finished)), SLUG) is fires


@pytest.mark.parametrize(("share", "fires"), [(MAX_PREEMPTED, True), (MAX_PREEMPTED + 0.002, False)])
def test_a_rate_under_preemption_says_nothing(share: float, fires: bool, judge: Judge) -> None:
    """Recomputed tokens count as hits, so the rate is not judged."""
    assert fired(judge(_hits(0.0, finished=6000, preempted=100 * share)), SLUG) is fires


@pytest.mark.parametrize(
    ("block", "variant"), [(LARGE_BLOCK - 1, "unknown"), (LARGE_BLOCK, "shorter-than-block")]
)
def test_a_large_block_beside_short_prompts_is_proof(block: float, variant: str, judge: Judge) -> None:
    """A block that no prompt fills explains why nothing is ever found."""
    rec = _hits(0.0, command=f"vllm serve m --block-size {block:.0f} --max-model-len 256")
    found = finding(judge(rec), SLUG)
    assert found is not None
    assert found.variant == variant


def test_distinct_prompts_make_a_disabled_cache_a_fault(judge: Judge, tmp_path: object) -> None:
    """Caching off is a remark; with prompts known to repeat it is the cause."""
    rec = _hits(0.0, command="vllm serve m --no-enable-prefix-caching")
    found = finding(judge(rec), SLUG)
    assert found is not None
    assert (found.variant, found.severity) == ("disabled", Severity.INFO)
