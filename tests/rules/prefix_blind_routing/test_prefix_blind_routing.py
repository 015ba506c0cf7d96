"""The blind routing advice at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import fired, reason
from support.series import Recording
from support.vllm import add_vllm

from diagnostics.model.report import Reason, Report
from diagnostics.rules.prefix_blind_routing import EVEN, MANY_HITS, MAX_PREEMPTIONS, MIN_QUERIES, SOME_HITS

SLUG = "prefix-blind-routing"
EPS = 1e-9
Judge = Callable[..., Report]


def _two(
    first: float, second: float | None = None, queries: float = 60_000, preempted: float = 0
) -> Recording:
    """Two replicas with these hit rates over so many looked-up tokens each."""
    rec = Recording()
    for instance, rate in (("a:8000", first), ("b:8000", first if second is None else second)):
        add_vllm(rec, instance=instance, prefix_queries=queries / 60, prefix_hits=queries / 60 * rate, finished=50,
                 preempted=[preempted] + [0.0] * 60)  # fmt: skip
    return rec


@pytest.mark.parametrize(
    ("rate", "fires"),
    [
        (SOME_HITS - 0.001, False),
        (SOME_HITS + EPS, True),
        (MANY_HITS - 0.001, True),
        (MANY_HITS + EPS, False),
    ],
)
def test_the_rate_is_middling(rate: float, fires: bool, judge: Judge) -> None:
    """Below the lower threshold nothing is shared, from the upper one on little is missed."""
    assert fired(judge(_two(rate)), SLUG) is fires


@pytest.mark.parametrize(("spread", "fires"), [(EVEN - 0.001, True), (EVEN + 0.001, False)])
def test_all_replicas_miss_alike(spread: float, fires: bool, judge: Judge) -> None:
    """One replica with a much higher rate shows that routing is not blind."""
    assert fired(judge(_two(0.2, 0.2 + spread)), SLUG) is fires


@pytest.mark.parametrize(("queries", "asked"), [(MIN_QUERIES - 60, False), (MIN_QUERIES + 60, True)])
def test_few_tokens_say_nothing(queries: float, asked: bool, judge: Judge) -> None:
    """Below the least number of looked-up tokens the rule cannot tell."""
    report = judge(_two(0.3, queries=queries))
    assert fired(report, SLUG) is asked
    assert (reason(report, SLUG) is Reason.TOO_FEW_SAMPLES) is not asked


@pytest.mark.parametrize(("events", "fires"), [(MAX_PREEMPTIONS, True), (MAX_PREEMPTIONS + 1, False)])
def test_recomputed_tokens_spoil_the_rate(events: float, fires: bool, judge: Judge) -> None:
    """After more than a few preemptions hits count recomputed tokens."""
    assert fired(judge(_two(0.3, preempted=events)), SLUG) is fires


def test_ranks_of_one_server_are_not_replicas(judge: Judge) -> None:
    """Two data-parallel ranks behind one address are no fleet to route over."""
    rec = Recording()
    for engine in ("0", "1"):
        add_vllm(rec, engine=engine, prefix_queries=1000, prefix_hits=300)
    assert not fired(judge(rec), SLUG)
