"""What real result files say, in the right units, and what of them is refused. Listed in docs/bench-statements.md."""

from __future__ import annotations

import pytest
from statement_helpers import curve, report, runs, step, warnings
from support.findings import fired

near = pytest.approx


def test_failed_run_has_no_latency() -> None:
    """vLLM: completed 0; zeros are missing, not fast."""
    level = step("vllm/serve-v0.25.1/bench_serve_all_requests_failed*")
    assert (level.valid, level.failed, level.rps, level.stats) == (False, 8, None, [])


def test_peak_above_the_cap_is_a_matter_of_counting() -> None:
    """vLLM: 6 concurrent at a cap of 2 are counted in buckets of a second."""
    level = step("vllm/serve-v0.25.1/bench_serve_v0.25.1.json")
    assert (level.concurrency_cap, level.concurrency_peak) == (2, 6)
    assert "cap" not in warnings("vllm/serve-v0.25.1/bench_serve_v0.25.1.json")


def test_repeats_of_a_sweep_are_counted_once() -> None:
    """vLLM sweep: two runs a cell, the list beside them holds the same; the first pays the warm-up."""
    cells = runs("vllm/sweep-serve-v0.25.1")
    assert [[s.repeat for s in run.steps] for run in cells] == [[0, 1], [0, 1]]
    assert [run.max_num_seqs for run in cells] == [4, 8]
    first = cells[0].steps[0]
    assert first.stat("ttft", "mean") > 2 * first.stat("ttft", "p50")  # type: ignore[operator]


def test_latency_tool_is_in_seconds_over_two_iterations() -> None:
    """vLLM latency: seconds a batch, no first token, percentiles of two values."""
    file = "vllm/dstack-405b-h100-latency/*np16.json"
    assert step(file).stat("e2e", "mean") == near(84.22, abs=0.01)
    assert step(file).stat("ttft", "mean") is None
    assert "2 iterations" in warnings(file)


def test_throughput_tool_counts_prompts_too() -> None:
    """vLLM throughput: tokens per second are input and output; the output rate is derived."""
    level = step("vllm/dstack-405b-h100-throughput/*ip128_op2048_np256.json")
    assert level.total_tps == near(1393.9, abs=0.1)
    assert level.output_tps == near(1393.9 * 2048 / 2176, rel=1e-3)


def test_twice_the_gpus_bring_half_as_much_again() -> None:
    """vLLM throughput on 4 and 8 MI300X, with keys written by hand."""
    few, many = sorted(runs("vllm/dstack-405b-mi300x-throughput"), key=lambda r: r.gpus or 0)
    assert (few.gpus, many.gpus) == (4, 8)
    gains = {
        a.completed: b.output_tps / a.output_tps  # type: ignore[operator]
        for a, b in zip(few.steps, many.steps, strict=True)
    }
    assert gains[128] == near(1.485, abs=0.01)
    assert max(gains.values()) < 2


def test_byte_order_mark_and_a_rate_of_1000() -> None:
    """A flattened CSV: 16, 32 and 1,000 requests/s are offered and about 10 served."""
    sweep = next(
        r for r in runs("vllm/dstack-405b-serving-csv/qps_comparison.csv") if "H100" in (r.gpu_model or "")
    )
    assert [s.requested_rps for s in sweep.steps] == [16, 32, 1000]
    assert [s.rps for s in sweep.steps] == [
        near(9.93, abs=0.01),
        near(10.19, abs=0.01),
        near(10.21, abs=0.01),
    ]


def test_pasted_blocks_are_runs_of_their_own() -> None:
    """Console text: a burst, so the wait grows with the number of prompts."""
    burst = max(runs("vllm/dstack-console-text/vllm_raw.txt"), key=lambda r: len(r.steps))
    assert len(burst.steps) == 12
    assert burst.steps[-1].load_mode == "burst"
    assert curve(burst, "ttft")[-3:] == [near(25.9, abs=0.1), near(58.1, abs=0.1), near(129.1, abs=0.1)]


def test_unlike_lines_of_one_file_stay_apart() -> None:
    """SGLang: bare Infinity, unrelated runs in one file, lengths between 0 and the longest."""
    found = runs("sglang/h200/llama_3_3_70b_offline_output.jsonl")
    assert len(found) == 6
    assert found[0].input_len_spec == "uniform 0-1024"
    assert found[0].steps[0].load_mode == "burst"


def test_all_at_once_only_the_output_rate_counts() -> None:
    """LMDeploy: the median first token of a burst waits 60 s of 146."""
    level = step("lmdeploy/*.jsonl")
    assert (level.load_mode, level.output_tps) == ("burst", near(4001.8, abs=0.1))
    assert level.stat("ttft", "p50") == near(60.02, abs=0.01)


def test_cancelled_on_purpose_is_not_failed() -> None:
    """AIPerf, early layout: 11 of 100 requests."""
    file = "aiperf/run1-early-schema/profile_export_aiperf.json"
    assert (step(file).cancelled, step(file).failed, step(file).completed) == (11, 0, 89)


def test_agentic_replay_over_concurrency() -> None:
    """AIPerf: first tokens take 2 to 210 s, output is flat from 4 on, and KV offload is another deployment."""
    plain, offloaded = sorted(
        runs("aiperf/inferencex-agentic-tp4"), key=lambda r: r.steps[0].concurrency_cap or 0
    )
    assert [*curve(plain, "ttft"), *curve(offloaded, "ttft")] == [
        near(2.15, abs=0.01), near(5.83, abs=0.01), near(53.0, abs=0.1), near(210, abs=1)
    ]  # fmt: skip
    assert [s.output_tps for s in (*plain.steps, *offloaded.steps)] == [
        near(58.7, abs=0.1), near(162, abs=1), near(158.5, abs=1), near(162.7, abs=1)
    ]  # fmt: skip
    assert (plain.kv_offload, offloaded.kv_offload) == ("none", "dram-lmcache")


def test_four_gpus_are_no_faster_than_two() -> None:
    """GuideLLM: 20.4 ms a token on four, 19.6 ms on two."""
    found = {r.tp: r for r in runs("guidellm/xpu-tp/full*4B*")}
    assert found[4].steps[0].stat("tpot", "p50") == near(0.0204, abs=1e-4)
    assert found[2].steps[0].stat("tpot", "p50") == near(0.0196, abs=1e-4)


def test_two_stamps_an_event_are_put_right() -> None:
    """inference-perf: reported time per token is half the truth; 7 ms plain, 12 ms with drafts, at 1 request/s."""
    plain, drafts = (
        runs(f"inference-perf/kubecon-na-2025/{side}/stage_0_lifecycle_metrics.json")[0].steps[0]
        for side in ("vllm", "vllm+eagle")
    )
    assert plain.stat("tpot", "mean") == near(0.007, abs=3e-4)
    assert drafts.stat("tpot", "mean") == near(0.0117, abs=4e-4)
    assert plain.stat("itl", "mean") is None


def test_server_view_keeps_its_own_counts() -> None:
    """inference-perf: 16,630 prompt tokens are no length of a request, and a usage of 0 is no empty cache."""
    level = step("inference-perf/kubecon-na-2025/vllm/summary_prometheus_metrics.json")
    assert level.stat("tpot", "mean") == near(0.0173, abs=1e-4)
    assert level.stat("input_len", "mean") is None
    assert level.kv_usage_mean is None


def test_time_a_token_that_holds_the_first_one() -> None:
    """llmperf: its inter-token latency is end to end over tokens, in a closed loop of 5."""
    level = step("llmperf/leaderboard/summary__anyscale_70b.json")
    assert (level.load_mode, level.concurrency_cap, level.completed) == ("closed", 5, 150)
    assert level.stat("ntpot", "mean") == near(0.01584, abs=1e-5)
    assert level.stat("itl", "mean") is None


def test_accuracy_summary_is_no_performance_run() -> None:
    """MLPerf: nothing was measured."""
    level = step("mlperf/*_acc_*")
    assert (level.valid, level.rps, level.stats) == (False, None, [])


def test_nanoseconds() -> None:
    """MLPerf: 3 samples over more than four hours."""
    level = step("mlperf/mixtral*_perf_*")
    assert (level.completed, level.duration_s) == (3, near(15333, abs=1))
    assert level.stat("e2e", "mean") == near(10388.3, abs=0.1)


def test_loading_is_told_apart() -> None:
    """optimum-benchmark: units stand in the file, an embedding model has no first token, loading took 15.6 s."""
    level = step("optimum-benchmark/tei-cpu/benchmark_report.json")
    assert (level.load_s, level.rps) == (near(15.6, abs=0.01), near(5.65, abs=0.01))
    assert level.stat("ttft", "mean") is None


def test_made_up_and_simulated_numbers_are_marked() -> None:
    """llm-d's example and AIBrix's simulator: no finding rests on them."""
    assert {r.evidence_kind for r in runs("llm-d-benchmark/examples")} == {"example"}
    assert {r.evidence_kind for r in runs("aibrix/*.jsonl")} == {"estimate"}
    assert not report("llm-d-benchmark/examples").findings
    assert not report("aibrix/*.jsonl").findings


def test_tokens_come_in_bundles() -> None:
    """InferenceX: the gap between chunks is eight times the time a token."""
    level = step("inferencex/together-b200-baselines/*conc64.json")
    assert level.stat("itl", "p50") / level.stat("tpot", "p50") == near(8.5, abs=0.1)  # type: ignore[operator]


def test_four_gpus_make_more_a_gpu_than_eight() -> None:
    """InferenceX: 74 against 23 output tokens/s per GPU at 8 users."""
    rates = {
        r.tp: s.output_tps / (r.gpus or 1)  # type: ignore[operator]
        for r in runs("inferencex/agentic-b200-tp-pareto/*_agg.json") if r.kv_offload == "none"
        for s in r.steps if s.concurrency_cap == 8
    }  # fmt: skip
    assert rates == {4: near(73.7, abs=0.5), 8: near(22.8, abs=0.5)}


def test_seconds_under_names_that_look_like_milliseconds() -> None:
    """InferenceX fork: the concurrency cap proves seconds."""
    level = step("inferencex/token-position-slo/glm-5/*isl16384_osl128_conc64.json")
    assert level.stat("ttft", "p50") == near(110, abs=2)
    assert "proves seconds" in warnings("inferencex/token-position-slo/glm-5/*isl16384_osl128_conc64.json")


def test_depth_costs_more_with_one_kernel() -> None:
    """llama-bench: single stream; rocWMMA falls to 14 % at 65,536 tokens, plain HIP to 33 %."""
    for kernel, left in (("rocwmma", 0.141), ("hip", 0.330)):
        (run,) = runs(f"llama-bench/strix-halo-fa/llama32-1b.default-{kernel}.jsonl")
        rates = {s.extra["n_depth"]: s.output_tps for s in run.steps if s.extra["n_gen"]}
        assert rates[65536] / rates[0] == near(left, abs=0.002)  # type: ignore[operator]
        assert {s.load_mode for s in run.steps} == {"single-stream"}
        assert not any(s.stats for s in run.steps)


def test_milliwatts() -> None:
    """A table of power: one A100 draws 222 W, not 222 kW."""
    assert runs("custom/argonne/power.csv")[0].steps[0].power_w == near(222.1, abs=0.1)


def test_tensor_parallel_scaling_of_a_table() -> None:
    """170, 258 and 346 tokens/s on 1, 2 and 4 A100 at batch 1."""
    rates = {
        r.tp: r.steps[0].total_tps
        for r in runs("custom/argonne/tp_pp_scaling.csv")
        if (r.model, r.input_len_spec) == ("meta-llama/Llama-2-7b-hf", "fixed 128") and r.tp
    }
    assert rates == {1: near(170, abs=1), 2: near(258, abs=1), 4: near(346, abs=1)}


def test_counter_under_the_name_of_a_rate() -> None:
    """Decode matrix: acceptance rates of 2,001 and more are refused, 0.57 is kept."""
    assert {s.spec_acceptance for r in runs("custom/rtx6kpro-pcie*/vllm_*_mtp.json") for s in r.steps} == {
        None
    }
    assert "a counter, not a rate" in warnings("custom/rtx6kpro-pcie*/vllm_awq_mtp.json")
    assert runs("custom/rtx6kpro-pcie*/results_awq.json")[0].steps[0].spec_acceptance == near(
        0.567, abs=0.001
    )


def test_streams_that_never_ended() -> None:
    """Locust: 228 first tokens and 190 ends; the row over everything is ignored."""
    level = step("locust/*/results__locust_stats.csv")
    assert (level.completed, level.incomplete, level.load_mode) == (190, 38, "closed")
    assert level.stat("ttft", "mean") == near(16.88, abs=0.01)
    assert level.stat("e2e", "max") == near(123.6, abs=0.1)


def test_misspelt_key() -> None:
    """InferenceX on 16 GPUs: 'request_goodput:' with a colon, lengths exact, model under its own name."""
    (sweep,) = runs("inferencex/multinode-pd-16gpu/*/*.json")
    assert [s.concurrency_cap for s in sweep.steps] == [4, 8, 16, 32, 64, 128, 256, 512]
    assert (sweep.prefill_gpus, sweep.decode_gpus, sweep.model) == (8, 8, "openai/gpt-oss-120b")
    assert not fired(report("inferencex/multinode-pd-16gpu/*/*.json"), "past-saturation-knee")
