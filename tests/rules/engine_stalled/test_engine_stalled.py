"""Requests run and nothing moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import START, Recording
from support.vllm import vllm

from diagnostics.model.report import Report

SLUG = "engine-stalled"
N = 61
Judge = Callable[..., Report]


def stalled(
    scrapes: int, *, running: float = 5, step: float = 5.0, steps_go_on: bool = False, command: str = ""
) -> Recording:
    """Twenty good scrapes, then so many without progress, then good ones again."""

    def growth(value: float) -> list[float | str | None]:
        return [0.0 if 20 <= i < 20 + scrapes else value for i in range(N)]

    return vllm(
        N, step=step, running=running, prompts=growth(500), generated=growth(300), finished=growth(5),
        engine_steps=100 if steps_go_on else growth(100), step_tokens=growth(800), command=command,
    )  # fmt: skip


def test_fires_with_window_and_mitigation_first(judge: Judge) -> None:
    report = judge(stalled(30))
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("critical", "cause")
    assert report.verdict.primary == SLUG
    assert finding.window.start == pytest.approx(START + 20 * 5)
    assert finding.window.end == pytest.approx(START + 50 * 5)
    assert finding.remedies[0].when == "now"
    assert not finding.remedies[0].restart
    assert "made no tokens for 150 s" in finding.summary or "made no tokens for 2 min 30 s" in finding.summary


def test_a_stall_that_lasts_is_told_in_the_present(judge: Judge) -> None:
    assert "makes no tokens" in fired(judge(stalled(40)), SLUG).summary


@pytest.mark.parametrize(("scrapes", "fires"), [(8, False), (9, True)])
def test_threshold_of_several_requests(judge: Judge, scrapes: int, fires: bool) -> None:
    """Nine scrapes of 5 s are the 45 s; eight are less."""
    report = judge(stalled(scrapes))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("scrapes", "fires"), [(35, False), (36, True)])
def test_a_lone_request_may_be_one_long_prefill(judge: Judge, scrapes: int, fires: bool) -> None:
    assert (found(judge(stalled(scrapes, running=1)), SLUG) is not None) is fires


@pytest.mark.parametrize(("scrapes", "fires"), [(35, False), (36, True)])
def test_whole_prefills_may_take_long(judge: Judge, scrapes: int, fires: bool) -> None:
    report = judge(stalled(scrapes, command="vllm serve m --no-enable-chunked-prefill"))
    assert (found(report, SLUG) is not None) is fires


def test_quiet_while_steps_go_on(judge: Judge) -> None:
    passed(judge(stalled(30, steps_go_on=True)), SLUG)


def test_quiet_when_idle(judge: Judge) -> None:
    idle = vllm(N, running=0, prompts=0, generated=0, finished=0, engine_steps=0, step_tokens=0)
    passed(judge(idle), SLUG)


def test_one_scrape_that_came_twice_is_no_stall(judge: Judge) -> None:
    assert found(judge(stalled(1, step=60.0)), SLUG) is None


def test_dumps_cannot_tell(judge: Judge) -> None:
    assert unanswered(judge(stalled(30), "dumps"), SLUG) == "needs-time-series"


def sglang(*, live: bool) -> Recording:
    """Long answers under way: the finish counters stand still."""
    recording = Recording()
    labels = {"instance": "sg:30000", "job": "sglang", "model_name": "m"}
    recording.add("sglang:num_running_reqs", [4.0] * N, **labels)
    recording.add("sglang:num_queue_reqs", [0.0] * N, **labels)
    recording.add("sglang:token_usage", [0.2] * N, **labels)
    recording.add("sglang:generation_tokens_total", [1000.0] * N, **labels)
    recording.add("sglang:prompt_tokens_total", [1000.0] * N, **labels)
    if live:
        recording.add("sglang:realtime_tokens_total", [300.0 * i for i in range(N)], **labels, mode="decode")
    return recording


def test_counters_that_move_at_the_finish_prove_nothing(judge: Judge) -> None:
    assert unanswered(judge(sglang(live=False)), SLUG) == "not-exported-by-engine"
    passed(judge(sglang(live=True)), SLUG)
