"""The skew rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.series import Recording
from support.vllm import add_vllm

from diagnostics.execute.fleet import HAS_ROOM, QUEUES
from diagnostics.model.report import Report
from diagnostics.rules.routing_skew import SKEW, SKEW_AT_A_MOMENT

SLUG = "routing-skew"
Judge = Callable[..., Report]


def _two(
    *,
    requests: float = 4,
    waiting: float = 12,
    free_waiting: float = 0,
    running: float = 8,
    free_running: float = 2,
) -> Recording:
    """Two replicas; the first served so many times the requests of the second."""
    rec = Recording()
    swing = [running - 0.3, running + 0.3] * 30 + [running]
    add_vllm(rec, instance="a:8000", running=swing, waiting=waiting, kv=0.5, finished=2 * requests)
    add_vllm(rec, instance="b:8000", running=free_running, waiting=free_waiting, kv=0.1, finished=2)
    return rec


@pytest.mark.parametrize(("ratio", "fires"), [(SKEW - 0.01, False), (SKEW, True)])
def test_counts_differ_from_a_ratio(ratio: float, fires: bool, judge: Judge) -> None:
    """Requests served by the busiest and the quietest replica decide."""
    assert fired(judge(_two(requests=ratio)), SLUG) is fires


@pytest.mark.parametrize(("waiting", "fires"), [(QUEUES - 0.01, False), (QUEUES, True)])
def test_one_replica_queues_from_a_mean(waiting: float, fires: bool, judge: Judge) -> None:
    """Uneven counts alone hurt nobody; one replica must queue."""
    assert fired(judge(_two(waiting=waiting)), SLUG) is fires


@pytest.mark.parametrize(("waiting", "fires"), [(HAS_ROOM, True), (HAS_ROOM + 0.01, False)])
def test_the_other_has_room_up_to_a_mean(waiting: float, fires: bool, judge: Judge) -> None:
    """Where both queue, capacity is short and not the routing."""
    assert fired(judge(_two(free_waiting=waiting)), SLUG) is fires


@pytest.mark.parametrize(("ratio", "fires"), [(SKEW_AT_A_MOMENT - 0.01, False), (SKEW_AT_A_MOMENT, True)])
def test_at_a_moment_requests_in_flight_decide(ratio: float, fires: bool, judge: Judge) -> None:
    """One dump of each replica has no counts of the window; then a larger factor in flight is asked for."""
    rec = _two(waiting=4, running=ratio * 4 - 4, free_running=4)
    found = finding(judge(rec, "last dump"), SLUG)
    assert (found is not None) is fires
    if found:
        assert found.confidence <= 0.5
