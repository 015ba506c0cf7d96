"""Pairs of causes that look alike, one line of the truth table a test: what is said, and what must not be."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.findings import finding, fired, loud
from support.series import Recording
from support.texts import log, read
from support.vllm import add_vllm, counter, vllm

from diagnostics.model.findings import Finding, Severity
from diagnostics.model.report import Report

Judge = Callable[..., Report]
LABELS = {"instance": "vllm-0:8000", "job": "vllm", "model_name": "/models/llama", "engine": "0"}
N = 61


def must(report: Report, slug: str) -> Finding:
    """The finding of a rule that has to be there."""
    found = finding(report, slug)
    assert found is not None, f"found only {[f.rule for f in report.findings]}"
    return found


def suggested(found: Finding, flag: str) -> list[tuple[float, float]]:
    """(current, suggested) of every change to a flag that names both as numbers."""
    pairs = [(r.current, r.suggested) for r in found.remedies if r.flag == flag and r.current and r.suggested]
    return [(float(a), float(b)) for a, b in pairs]


@pytest.mark.parametrize(("light", "variant"), [(0.02, "prefill-compute"), (0.3, "budget")])
def test_a_budget_too_small_and_too_little_compute_are_told_apart(
    light: float, variant: str, judge: Judge
) -> None:
    """Requests wait, running below the cap, KV low, prompts at a ceiling: how long a full step takes decides."""
    calm = full = 80
    rec = vllm(calm + full, running=[2.0] * calm + [5 + 0.1 * i for i in range(full)],
               waiting=[0.0] * calm + [15.0] * full, engine_steps=[25.0] * calm + [10.0] * full,
               step_tokens=[500.0] * calm + [18_000.0] * full, prompts=[300.0] * calm + [17_500.0] * full,
               generated=[200.0] * calm + [500.0] * full, itl={str(light * 2): 200.0, "+Inf": 200.0},
               itl_sum=200 * light,
               command="vllm serve m --max-num-batched-tokens 2048 --max-num-seqs 64")  # fmt: skip
    report = judge(rec)
    assert report.verdict.primary == "token-budget-bound"
    assert must(report, "token-budget-bound").variant == variant
    assert not fired(report, "cap-throttled")
    assert not fired(report, "memory-bound")


def test_flat_at_a_round_number_without_a_queue_is_the_pool_of_the_client(judge: Judge) -> None:
    """100 connections are all there are: the server has no limit to raise."""
    report = judge(vllm(running=100, command="vllm serve m --max-num-seqs 256"))
    assert fired(report, "client-bound")
    assert not fired(report, "cap-throttled")
    assert report.verdict.status == "healthy"


def test_fifteen_of_sixteen_a_rank_is_the_cap(judge: Judge) -> None:
    """A cap of 64 over four ranks is 16 each, and a chunked prefill holds a seat of every rank."""
    rec = Recording(command="python -m sglang.launch_server --model m --max-running-requests 64 --dp-size 4")
    for rank in range(4):
        labels = {"instance": "sg:30000", "job": "sglang", "model_name": "m", "dp_rank": str(rank)}
        rec.add("sglang:num_running_reqs", [15.0] * N, **labels)
        rec.add("sglang:num_queue_reqs", [20.0] * N, **labels)
        rec.add("sglang:token_usage", [0.3] * N, **labels)
    report = judge(rec)
    assert report.verdict.primary == "cap-throttled"
    assert not fired(report, "memory-bound")


def _speculating(recording: Recording, instance: str, drafted: float, accepted: float) -> None:
    labels = {**LABELS, "instance": instance}
    for name, grown in (
        ("drafts", 100.0),
        ("draft_tokens", 100 * drafted),
        ("accepted_tokens", 100 * accepted),
    ):
        recording.add(f"vllm:spec_decode_num_{name}_total", counter(grown, N), **labels)


def test_accepted_and_still_slower_is_the_cost_of_the_drafter(judge: Judge) -> None:
    """96 % of two drafted tokens are accepted, and a token takes longer than on the replica without drafts."""
    rec = Recording()
    for instance, seconds in (("on:8000", 0.022), ("off:8000", 0.02)):
        add_vllm(rec, N, instance=instance, running=4)
        for part, each in (("count", 5.0), ("sum", 5 * seconds)):
            name = f"vllm:request_time_per_output_token_seconds_{part}"
            rec.add(name, counter(each, N), **(LABELS | {"instance": instance}))
    _speculating(rec, "on:8000", 2, 1.92)
    report = judge(rec)
    assert report.verdict.primary == "drafter-too-expensive"
    assert not fired(report, "low-acceptance")


def test_average_acceptance_falls_with_length_by_arithmetic(judge: Judge) -> None:
    """0.7 at every position makes 0.27 on average over eight: the accepted length is fair, so is the drafter."""
    rec = vllm(N)
    accepted = sum(0.7**i for i in range(1, 9))
    assert accepted / 8 < 0.3
    _speculating(rec, "vllm-0:8000", 8, accepted)
    assert not fired(judge(rec), "low-acceptance")


def test_preemptions_of_a_lifetime_are_no_finding(judge: Judge) -> None:
    """1,538 over 19,801 requests since the start, and none while one looked."""
    rec = vllm(kv=0.6).without("vllm:num_preemptions", "vllm:request_success")
    rec.add("vllm:num_preemptions_total", "1538x60", **LABELS)
    rec.add("vllm:request_success_total", "19801+5x60", **LABELS, finished_reason="stop")
    for carrier in ("openmetrics", "last dump"):
        assert loud(judge(rec, carrier)) == set()


def test_a_storm_is_mended_by_memory_or_a_lower_cap(judge: Judge) -> None:
    """More seats would share the same blocks: the cap is never raised."""
    report = judge(vllm(preempted=4, finished=5, kv=0.95, running=20, waiting=5,
                        command="vllm serve m --max-num-seqs 64"))  # fmt: skip
    found = must(report, "preemption-storm")
    assert report.verdict.primary == "preemption-storm"
    assert suggested(found, "--max-num-seqs")
    assert all(new < old for old, new in suggested(found, "--max-num-seqs"))
    assert any("Do not raise the concurrency cap" in step for step in found.do_not)


@pytest.mark.parametrize(
    ("command", "queries", "variant"),
    [
        ("vllm serve m --block-size 4096 --max-model-len 2048", 1000, "shorter-than-block"),
        ("vllm serve m --no-enable-prefix-caching", 1000, "disabled"),
        ("vllm serve m", 1000, "unknown"),
        ("vllm serve m", 0, None),
    ],
    ids=["hybrid block of thousands", "disabled", "nothing shared or a differing front", "unwired counter"],
)
def test_a_hit_rate_of_nothing_has_different_answers(
    command: str, queries: float, variant: str | None, judge: Judge
) -> None:
    """Metrics alone seldom tell why nothing hits, so only a proof is loud; a counter that never moves is no rate."""
    found = finding(judge(vllm(prefix_queries=queries, prefix_hits=0, command=command)), "prefix-cache-miss")
    assert (found.variant if found else None) == variant
    assert found is None or (found.severity is Severity.WARNING) is (variant == "shorter-than-block")


def test_affinity_for_mostly_unique_prompts_is_not_recommended_blindly(judge: Judge) -> None:
    """Where nothing is shared, routing by prefix is not advised; where it is, its risk is said."""
    unique, shared = Recording(), Recording()
    for instance in ("a:8000", "b:8000"):
        add_vllm(unique, instance=instance, prefix_queries=1000, prefix_hits=10)
        add_vllm(shared, instance=instance, prefix_queries=1000, prefix_hits=300)
    assert not fired(judge(unique), "prefix-blind-routing")
    risks = " ".join(r.risk for r in must(judge(shared), "prefix-blind-routing").remedies)
    assert "unique prompts" in risks


def test_a_batch_above_the_largest_graph_looks_like_a_knee(judge: Judge) -> None:
    """A token takes half as long again beyond 256 running: the graphs end there, nothing queues."""
    rec = vllm(120, running=[250.0] * 60 + [270.0] * 60, itl_sum=0.0, kv=0.4,
               command="vllm serve m --max-num-seqs 512 --max-cudagraph-capture-size 256")  # fmt: skip
    total = next(line for line in rec.lines if line.name == "vllm:inter_token_latency_seconds_sum")
    total.values = counter([300 * (0.024 if i < 59 else 0.037) for i in range(120)], 120)
    report = judge(rec)
    assert report.verdict.primary == "cuda-graph-ceiling"
    assert not fired(report, "past-saturation-knee")


@pytest.mark.parametrize(("gpu", "fault"), [("L40S", False), ("H100 SXM", False), ("A100 80GB", True)])
def test_a_marlin_warning_on_a_gpu_with_fp8_is_no_fault(gpu: str, fault: bool, tmp_path: Path) -> None:
    """The log's generic words do not outweigh the hardware."""
    said = (
        "Your GPU does not have native support for FP8 computation but FP8 quantization is being used. "
        "Weight-only FP8 compression will be used leveraging the Marlin kernel."
    )
    report = read(tmp_path, f"$ vllm serve m/l-FP8  # {gpu}\n" + log(said))
    assert fired(report, "precision-unsupported") is fault
    assert loud(report) == set()


def test_one_long_answer_is_no_hang(judge: Judge) -> None:
    """One request runs for minutes and nothing finishes, but tokens come."""
    rec = vllm(running=1, finished=0, prompts=0, generated=50, engine_steps=50, prefix_queries=0)
    assert loud(judge(rec)) == set()


def test_idle_is_no_fault(judge: Judge) -> None:
    rec = vllm(running=0, kv=0, finished=0, prompts=0, generated=0, engine_steps=0, prefix_queries=0,
               itl={"+Inf": 0.0}, itl_sum=0)  # fmt: skip
    report = judge(rec)
    assert loud(report) == set()
    assert not fired(report, "engine-stalled")


def test_equal_misery_is_still_misery(judge: Judge) -> None:
    """Two replicas are equally slow: no spread to see, but the target says that it is too slow."""
    rec = Recording(command="vllm serve m --max-num-seqs 16")
    for instance in ("a:8000", "b:8000"):
        add_vllm(rec, instance=instance, running=16, waiting=30, kv=0.3, queue_seconds=8, ttft_seconds=9)
    report = judge(rec, slo={"ttft_mean": 2.0})
    found = must(report, "cap-throttled")
    assert found.severity is Severity.CRITICAL
    assert set(found.scope.replicas) == {"a:8000", "b:8000"}
