"""Requests held back for their adapter, with seats and cache free."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.answers import fired, found, passed, unanswered
from support.series import START, Recording
from support.vllm import counter, vllm

from diagnostics import Options, diagnose
from diagnostics.model.report import Report

SLUG = "adapter-thrash"
N = 61
Judge = Callable[..., Report]
LORA = "vllm serve m --enable-lora --max-num-seqs 32"


def lora(
    deferred: float = 2.0,
    waiting: float | None = None,
    *,
    kv: float = 0.01,
    adapters: int = 6,
    info: bool = True,
    reason: bool = True,
    queue_seconds: float = 0.7,
    command: str = "",
) -> Recording:
    held = deferred if waiting is None else waiting
    recording = vllm(
        N, running=2, waiting=held, kv=kv, queue_seconds=queue_seconds, ttft_seconds=0.8, command=command
    )
    labels = {"instance": "vllm-0:8000", "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    if reason:
        recording.add("vllm:num_requests_waiting_by_reason", [deferred] * N, **labels, reason="deferred")
        recording.add(
            "vllm:num_requests_waiting_by_reason", [held - deferred] * N, **labels, reason="capacity"
        )
    if info:
        for i in range(adapters):
            recording.add(
                "vllm:lora_requests_info",
                counter(5.0, N, START - 10 * i),
                instance="vllm-0:8000",
                job="vllm",
                max_lora="1",
                running_lora_adapters=f"ad{i}",
                waiting_lora_adapters=f"ad{i}",
            )
    return recording


@pytest.mark.parametrize("carrier", ["openmetrics", "query_range"])
def test_fires_on_deferred_requests_beside_free_seats(judge: Judge, carrier: str) -> None:
    report = judge(lora(), carrier)
    finding = fired(report, SLUG)
    assert (finding.severity, finding.role) == ("warning", "cause")
    assert report.verdict.primary == SLUG
    assert "6 adapters took turns" in finding.explanation
    assert not finding.remedies[0].restart
    assert "past-saturation-knee" in finding.explains
    assert any(r.flag == "--max-loras" and r.current == "1" for r in finding.remedies)


def test_the_value_of_the_info_metric_is_no_count(judge: Judge) -> None:
    finding = fired(judge(lora(adapters=3)), SLUG)
    assert all(e.value < 1e6 for e in finding.evidence)


def test_fires_on_the_flag_alone_with_the_engine_default(judge: Judge) -> None:
    finding = fired(judge(lora(info=False, command=LORA)), SLUG)
    assert "1 adapter(s) (the engine's default)" in finding.explanation


def test_three_dumps_are_enough_when_the_wait_is_long(judge: Judge) -> None:
    finding = fired(judge(lora(), "dumps"), SLUG)
    assert finding.confidence <= 0.5


def test_three_dumps_without_a_wait_say_nothing_false(judge: Judge) -> None:
    assert found(judge(lora(queue_seconds=0.01), "dumps"), SLUG) is None


def test_quiet_without_any_adapter(judge: Judge) -> None:
    report = judge(lora(info=False))
    assert found(report, SLUG) is None
    assert unanswered(report, SLUG) == "not-in-this-input"


@pytest.mark.parametrize(("deferred", "fires"), [(0.49, False), (0.5, True)])
def test_threshold_of_the_mean(judge: Judge, deferred: float, fires: bool) -> None:
    assert (found(judge(lora(deferred)), SLUG) is not None) is fires


@pytest.mark.parametrize(("deferred", "fires"), [(4.9, False), (5.0, True)])
def test_threshold_of_the_share_held_back(judge: Judge, deferred: float, fires: bool) -> None:
    report = judge(lora(deferred, 10.0))
    assert (found(report, SLUG) is not None) is fires
    if not fires:
        passed(report, SLUG)


@pytest.mark.parametrize(("kv", "fires"), [(0.69, True), (0.71, False)])
def test_threshold_of_the_cache(judge: Judge, kv: float, fires: bool) -> None:
    assert (found(judge(lora(kv=kv)), SLUG) is not None) is fires


def test_an_old_release_does_not_say_why_a_request_waits(judge: Judge) -> None:
    report = judge(lora(reason=False, info=False, command=LORA))
    assert unanswered(report, SLUG) == "not-exported-by-engine"


def test_fires_from_a_log(tmp_path: Path) -> None:
    head = "INFO 11-29 17:27:06 [api_utils.py:286] non-default args: {'model': 'm', 'enable_lora': True}\n"
    lines = "".join(
        f"INFO 11-29 17:{28 + i // 6:02d}:{i % 6 * 10:02d} [loggers.py:118] Engine 000: Avg prompt throughput: 90.0 "
        "tokens/s, Avg generation throughput: 50.0 tokens/s, Running: 2 reqs, Waiting: 3 reqs, Deferred: 3 reqs, "
        "GPU KV cache usage: 1.0%, Prefix cache hit rate: 0.0%\n"
        for i in range(20)
    )
    path = tmp_path / "engine.log"
    path.write_text(head + lines, "utf-8")
    report = diagnose([str(path)], Options()).report
    assert fired(report, SLUG).severity == "warning"


def sglang(slots: int, waiting: int = 5) -> Recording:
    recording = Recording()
    labels = {"instance": "sg:30000", "job": "sglang", "model_name": "m"}
    for name, value in (
        ("num_running_reqs", [3.0, 4.0, 2.0]), ("num_queue_reqs", [float(waiting)]), ("token_usage", [0.1]),
        ("lora_pool_slots_total", [8.0]), ("lora_pool_slots_used", [float(slots)]),
    ):  # fmt: skip
        recording.add(f"sglang:{name}", [value[i % len(value)] for i in range(N)], **labels)
    return recording


@pytest.mark.parametrize(("slots", "fires"), [(7, False), (8, True)])
def test_sglang_shows_a_full_pool_of_slots(judge: Judge, slots: int, fires: bool) -> None:
    report = judge(sglang(slots))
    assert (found(report, SLUG) is not None) is fires
    assert found(judge(sglang(8, waiting=0)), SLUG) is None
