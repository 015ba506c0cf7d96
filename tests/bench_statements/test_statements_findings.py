"""What real result files prove, and what is not said of them. Listed in docs/bench-statements.md."""

from __future__ import annotations

import re

import pytest
from statement_helpers import report, warnings
from support.findings import finding, fired, loud, reason

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report

KNEE = "past-saturation-knee"


def interval(said: Report) -> tuple[float, float]:
    """Where the knee lies, from the sentence a reader gets."""
    found = finding(said, KNEE)
    assert found is not None
    low, high = re.findall(r"between ([\d.]+) and ([\d.]+)", found.summary)[0]
    return float(low), float(high)


@pytest.mark.parametrize(
    ("files", "low", "high"),
    [
        ("sglang/h200/llama_3_3_70b_online_output.jsonl", 4, 8),
        ("inference-perf/kubecon-na-2025/vllm", 92, 123),
        ("inference-perf/kubecon-na-2025/vllm+eagle", 52, 70),
        ("fmperf/llmd-exp0", 0.8, 1.2),
        ("llmperf/tgi-2.0.1", 16, 32),
        ("inferencex/token-position-slo/glm-5/*isl16384*", 8, 16),
        ("inferencex/agentic-b200-tp-pareto", 16, 24),
        ("aiperf/inferencex-m1517", 16, 32),
    ],
    ids=["sglang", "inference-perf", "eagle", "fmperf", "llmperf", "glm-5", "b200", "aiperf"],
)
def test_where_the_knee_lies(files: str, low: float, high: float) -> None:
    """The knee within the loads between which it is seen by hand."""
    found = interval(report(files))
    assert low <= found[0] < found[1] <= high


def test_lightest_load_is_past_the_knee() -> None:
    """405B behind a CSV: 16 requests/s are above capacity."""
    found = finding(report("vllm/dstack-405b-serving-csv"), KNEE)
    assert found is not None
    assert "at or below 16 requests/s" in found.summary


@pytest.mark.parametrize(
    "files",
    [
        "fmperf/llmd-exp2-short-input",
        "inferencex/multinode-pd-16gpu",
        "guidellm/xpu-tp",
        "aiperf/run1-early-schema",
    ],
    ids=["fmperf", "16 GPUs", "one at a time", "one burst"],
)
def test_no_knee_is_claimed(files: str) -> None:
    """Output still grows, or one load says nothing of saturation."""
    assert reason(report(files), KNEE) is Reason.TOO_FEW_SAMPLES


def test_knee_of_a_capped_sweep_of_three_levels_is_a_hint() -> None:
    """P/D ratios: infinite rate under a cap is a closed loop, and three levels are few."""
    said = report("vllm/dstack-pd-ratio-h200")
    assert "closed-loop" in loud(said)
    found = finding(said, KNEE)
    assert found is None or found.severity is Severity.INFO


def test_run_that_failed_entirely() -> None:
    """vLLM: 8 of 8 requests."""
    said = report("vllm/serve-v0.25.1/bench_serve_all_requests_failed*")
    assert said.verdict.primary == "bench-untrustworthy"
    assert len(said.findings) == 1


def test_eight_short_prompts_prove_nothing() -> None:
    """vLLM sweep: 8 requests of 16 tokens in a closed loop."""
    assert {"bench-untrustworthy", "closed-loop"} <= loud(report("vllm/sweep-serve-v0.25.1"))


def test_offline_run_of_three_samples() -> None:
    """MLPerf calls it VALID; a p99 of three samples is none."""
    assert "bench-untrustworthy" in loud(report("mlperf/mixtral*_perf_*"))


def test_generator_falls_behind() -> None:
    """inference-perf: requests are sent seconds late, so first tokens hide the queue."""
    found = finding(report("inference-perf/kubecon-na-2025/vllm"), "bench-untrustworthy")
    assert found is not None
    assert "late" in found.summary


def test_quantization_flag_had_no_effect() -> None:
    """inference-perf: the same within noise as the variant that only caches."""
    side = "inference-perf/kubecon-na-2025/vllm"
    said = report(f"{side}+quantization", baseline=f"{side}+chunking_and_prefix_caching")
    assert not fired(said, "bench-regression")


def test_speculation_loses_at_light_load() -> None:
    """inference-perf: two thirds more time a token than without drafts; one pair of means is a remark."""
    side = "inference-perf/kubecon-na-2025/vllm"
    found = finding(report(f"{side}+eagle", baseline=side), "bench-regression")
    assert found is not None
    assert found.severity is Severity.INFO
    assert "67 % in time per output token" in found.summary


def test_equal_lengths_of_a_burst() -> None:
    """AIPerf: 550 tokens in and 243 out in every request."""
    assert "uniform-lengths" in loud(report("aiperf/run1-early-schema"))


def test_agentic_traffic_is_not_uniform() -> None:
    """AIPerf: prompts of about 97,000 tokens, of every length."""
    said = report("aiperf/inferencex-agentic-tp4")
    assert not fired(said, "uniform-lengths")
    assert "closed-loop" in loud(said)


def test_random_lengths_are_not_uniform() -> None:
    """SGLang: a range ratio of 0 is anything between 0 and the longest."""
    assert not fired(report("sglang/h200/llama_3_3_70b_online_output.jsonl"), "uniform-lengths")


@pytest.mark.parametrize(
    ("files", "before", "after"),
    [("inferencex/multiturn-tp1-8-sweep", 128, 256), ("inferencex/agentic-b200-tp-pareto", 16, 32)],
    ids=["TP1", "B200"],
)
def test_cache_is_thrashed(files: str, before: int, after: int) -> None:
    """Hit rate collapses between two loads of the same traffic."""
    found = finding(report(files), "prefix-cache-miss")
    assert found is not None
    assert found.variant == "evicted"
    assert f"between concurrency {before} and concurrency {after}" in found.summary


def test_broken_points_are_named() -> None:
    """InferenceX: 32 clients on four GPUs make an eighth of what 16 and 64 make."""
    found = finding(report("inferencex/multiturn-tp1-8-sweep"), "bench-untrustworthy")
    assert found is not None
    assert "at 32 open requests it makes 12 %" in found.summary


def test_speculation_loses_at_batch_64() -> None:
    """TensorRT-LLM: 5,107 tokens/s without a drafter, 2,864 with."""
    found = finding(report("custom/argonne/specdecode_on_off.csv"), "speculation-at-high-batch")
    assert found is not None
    assert "44 % fewer" in found.summary
    assert "1.39 at batch 1" in found.explanation


@pytest.mark.parametrize("files", ["custom/rtx6kpro-pcie-specdecode-quant", "custom/rtx6kpro-glm51-dcp"])
def test_speculation_that_still_pays(files: str) -> None:
    """MTP gains at every concurrency, or at the largest one of the same cache layout."""
    assert not fired(report(files), "speculation-at-high-batch")


def test_four_bit_weights_are_slower() -> None:
    """optimum-benchmark: GPTQ makes 22 % fewer tokens than 16 bit at batch 16."""
    found = finding(report("optimum-benchmark/running-llamas"), "weight-only-quant-compute-bound")
    assert found is not None
    assert "22 % fewer" in found.summary


def test_eight_bit_weights_are_faster() -> None:
    """TensorRT-LLM on H100: a quarter to a third more output; the quality half is missing."""
    found = finding(report("custom/argonne/quant_A100_H100.csv"), "quantization-unvalidated")
    assert found is not None
    assert "1.30 at batch 1" in found.explanation
    assert "the quality half is missing" in found.summary


def test_rows_that_are_missing_may_be_failures() -> None:
    """LMBenchmark: unfinished requests are no rows."""
    assert "unfinished requests are no rows" in warnings("fmperf/llmd-exp0")
