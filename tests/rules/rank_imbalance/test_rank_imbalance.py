"""The rank rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.series import Recording
from support.vllm import add_vllm

from diagnostics.execute.fleet import HAS_ROOM, QUEUES
from diagnostics.model.report import Report
from diagnostics.rules.rank_imbalance import UNEQUAL

SLUG = "rank-imbalance"
Judge = Callable[..., Report]


def _ranks(
    *, running: float = 8, waiting: float = 12, free_running: float = 2, free_waiting: float = 0
) -> Recording:
    """Two ranks of one server; running moves a little, so that no cap is inferred."""
    rec = Recording()
    swing = [running - 0.3, running + 0.3] * 30 + [running]
    add_vllm(rec, engine="0", running=swing, waiting=waiting, kv=0.5)
    add_vllm(rec, engine="1", running=free_running, waiting=free_waiting, kv=0.1)
    return rec


@pytest.mark.parametrize(("waiting", "fires"), [(QUEUES - 0.01, False), (QUEUES, True)])
def test_a_rank_queues_from_a_mean(waiting: float, fires: bool, judge: Judge) -> None:
    """The mean queue of the loaded rank decides."""
    assert fired(judge(_ranks(waiting=waiting)), SLUG) is fires


@pytest.mark.parametrize(("waiting", "fires"), [(HAS_ROOM, True), (HAS_ROOM + 0.01, False)])
def test_another_rank_has_room_up_to_a_mean(waiting: float, fires: bool, judge: Judge) -> None:
    """Where both queue, a limit binds and not the balance."""
    assert fired(judge(_ranks(free_waiting=waiting)), SLUG) is fires


@pytest.mark.parametrize(("factor", "fires"), [(UNEQUAL - 0.01, False), (UNEQUAL + 1e-6, True)])
def test_ranks_differ_from_a_ratio(factor: float, fires: bool, judge: Judge) -> None:
    """Requests inside the loaded rank by those inside the free one decide."""
    assert fired(judge(_ranks(running=factor * 10 - 4, waiting=4, free_running=10)), SLUG) is fires


def test_the_ranks_of_one_server_are_one_replica(judge: Judge) -> None:
    """The report counts one replica and names its ranks."""
    report = judge(_ranks())
    assert report.deployments[0].replicas == 1
    found = finding(report, SLUG)
    assert found is not None
    assert found.scope.replicas == ("vllm-0:8000 rank 0", "vllm-0:8000 rank 1")
