"""A stretch cut out of a recording is judged as if nothing else had been recorded."""

from __future__ import annotations

from collections.abc import Callable

from support.series import START, Recording
from support.vllm import add_vllm

from diagnostics.model.report import Report

Judge = Callable[..., Report]


def trouble() -> Recording:
    return add_vllm(
        Recording(),
        145,
        running="3x47 8x48 3x47",
        waiting="0x47 20x48 0x47",
        queue_seconds=4.0,
        ttft_seconds=4.2,
    )


def test_trouble_outside_of_the_stretch_is_not_seen(judge: Judge) -> None:
    whole = judge(trouble())
    assert whole.verdict.primary == "cap-throttled"
    before = judge(trouble(), end=START + 200)
    assert all(f.rule != "cap-throttled" for f in before.findings)
    assert before.window.end == START + 200
    during = judge(trouble(), start=START + 250, end=START + 470)
    assert during.verdict.primary == "cap-throttled"
    assert (during.window.start, during.window.end) == (START + 250, START + 470)


def test_dumps_without_times_stay_whole(judge: Judge) -> None:
    kept = judge(trouble(), "dumps", start=START + 250)
    assert kept.inputs[0].samples > 0
    assert kept.verdict == judge(trouble(), "dumps").verdict


def test_a_stretch_without_data_is_not_healthy(judge: Judge) -> None:
    assert judge(trouble(), start=START + 90_000).verdict.status == "insufficient-data"
