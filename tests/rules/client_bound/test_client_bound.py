"""Running flat at one number with nothing waiting."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import Recording
from support.vllm import vllm

from diagnostics.model.report import Report

SLUG = "client-bound"
Judge = Callable[..., Report]


def flat(
    share: float = 1.0, top: float = 10, *, n: int = 61, waiting: float = 0, command: str = ""
) -> Recording:
    dips = round((1 - share) * n)
    running = [top - 1 if i < dips else top for i in range(n)]
    return vllm(n, running=running, waiting=waiting, command=command)


def test_a_plateau_alone_is_a_remark(judge: Judge) -> None:
    report = judge(flat())
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("info", "advice")
    assert report.verdict.status == "healthy"
    assert "inferred" in {e.provenance.value for e in finding.evidence}


def test_a_record_of_more_makes_it_a_warning(judge: Judge) -> None:
    running = [20.0] * 12 + [5.0] * 49
    generated = [1500.0] * 12 + [600.0] * 49
    finding = fired(judge(vllm(61, running=running, generated=generated)), SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")


@pytest.mark.parametrize(("rate", "severity"), [(890.0, "info"), (910.0, "warning")])
def test_threshold_of_the_record(judge: Judge, rate: float, severity: str) -> None:
    """The record counts from 1.5 times the rate at the plateau on, here 900."""
    running = [20.0] * 12 + [5.0] * 49
    generated = [rate] * 12 + [600.0] * 49
    assert fired(judge(vllm(61, running=running, generated=generated)), SLUG).severity == severity


@pytest.mark.parametrize(("share", "fires"), [(0.67, False), (0.71, True)])
def test_threshold_of_the_share(judge: Judge, share: float, fires: bool) -> None:
    report = judge(flat(share))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("top", "fires"), [(2, False), (3, True)])
def test_threshold_of_requests(judge: Judge, top: float, fires: bool) -> None:
    assert (found(judge(flat(top=top)), SLUG) is not None) is fires


def test_quiet_while_the_engine_queues(judge: Judge) -> None:
    assert found(judge(flat(waiting=1)), SLUG) is None


def test_quiet_at_the_engines_own_cap(judge: Judge) -> None:
    assert found(judge(flat(command="vllm serve m --max-num-seqs 10")), SLUG) is None
    assert found(judge(flat(command="vllm serve m --max-num-seqs 64")), SLUG) is not None


def test_quiet_for_arrivals_of_their_own(judge: Judge) -> None:
    running = [float((7 * i) % 13) for i in range(61)]
    passed(judge(vllm(61, running=running)), SLUG)


def test_a_calm_of_seconds_between_bursts_is_chance(judge: Judge) -> None:
    running = ([6.0] * 13 + [12.0] * 7) * 3
    assert found(judge(vllm(60, step=1.0, running=running)), SLUG) is None


def test_missing_queue(judge: Judge) -> None:
    report = judge(flat().without("vllm:num_requests_waiting"))
    assert unanswered(report, SLUG) == "not-in-this-input"


def test_dumps_cannot_tell(judge: Judge) -> None:
    assert unanswered(judge(flat(), "dumps"), SLUG) == "needs-time-series"
