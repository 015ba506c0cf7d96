"""The imbalance rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired, reason
from support.series import Recording
from support.vllm import add_vllm

from diagnostics.model.report import Reason, Report
from diagnostics.rules.round_robin_imbalance import (
    EQUAL_REQUESTS,
    MIN_REQUESTS,
    MIN_RUNNING,
    UNEQUAL_RUNNING,
    UNEQUAL_WORK,
)

SLUG = "round-robin-imbalance"
Judge = Callable[..., Report]


def _two(
    *, requests: float = 1, work: float = 5, running: float = 5, quiet_running: float = 2, finished: float = 4
) -> Recording:
    """Two replicas; the first has so many times the requests, tokens and running requests of the second."""
    rec = Recording()
    add_vllm(rec, instance="a:8000", running=quiet_running * running, finished=finished * requests,
             prompts=400 * work, generated=400 * work)  # fmt: skip
    add_vllm(rec, instance="b:8000", running=quiet_running, finished=finished, prompts=400, generated=400)
    return rec


@pytest.mark.parametrize(("ratio", "fires"), [(EQUAL_REQUESTS, True), (EQUAL_REQUESTS + 0.01, False)])
def test_counts_are_equal_up_to_a_ratio(ratio: float, fires: bool, judge: Judge) -> None:
    """Request counts further apart are another cause."""
    assert fired(judge(_two(requests=ratio)), SLUG) is fires


@pytest.mark.parametrize(("ratio", "fires"), [(UNEQUAL_WORK - 0.01, False), (UNEQUAL_WORK, True)])
def test_work_is_unequal_from_a_ratio(ratio: float, fires: bool, judge: Judge) -> None:
    """Tokens of the busiest by tokens of the quietest replica decide."""
    assert fired(judge(_two(work=ratio)), SLUG) is fires


@pytest.mark.parametrize(("ratio", "fires"), [(UNEQUAL_RUNNING - 0.01, False), (UNEQUAL_RUNNING, True)])
def test_running_is_unequal_from_a_ratio(ratio: float, fires: bool, judge: Judge) -> None:
    """Tokens may differ while the replicas feel the same load."""
    assert fired(judge(_two(running=ratio)), SLUG) is fires


@pytest.mark.parametrize(("running", "fires"), [(MIN_RUNNING - 0.01, False), (MIN_RUNNING, True)])
def test_an_idle_fleet_is_not_unbalanced(running: float, fires: bool, judge: Judge) -> None:
    """The loaded replica must run enough for anybody to feel it."""
    assert fired(judge(_two(running=4, quiet_running=running / 4)), SLUG) is fires


@pytest.mark.parametrize(("count", "asked"), [(MIN_REQUESTS - 0.5, False), (MIN_REQUESTS, True)])
def test_few_requests_say_nothing(count: float, asked: bool, judge: Judge) -> None:
    """Below the least number of requests on the quietest replica the rule cannot tell."""
    report = judge(_two(finished=count / 60 * (1 + 1e-9)))
    assert fired(report, SLUG) is asked
    assert (reason(report, SLUG) is Reason.TOO_FEW_SAMPLES) is not asked


def test_the_two_replicas_are_named(judge: Judge) -> None:
    """The busiest and the quietest replica are the scope, by their instance labels."""
    found = finding(judge(_two()), SLUG)
    assert found is not None
    assert found.scope.replicas == ("a:8000", "b:8000")


@pytest.mark.parametrize(
    ("requests", "said"), [(1.3, "1.3 times its requests"), (0.8, "0.8 times its requests")]
)
def test_the_busier_replica_may_have_had_fewer_requests(requests: float, said: str, judge: Judge) -> None:
    """The sentence holds the two replicas that it names against each other."""
    found = finding(judge(_two(requests=requests)), SLUG)
    assert found is not None
    assert said in found.summary
