from __future__ import annotations

import json

import pytest
from bench_helpers import runs_in, runs_of


def test_sglang_lines_are_grouped_by_workload() -> None:
    random, chat = runs_of("sglang/h200/llama_3_3_70b_online_output.jsonl")
    assert [s.requested_rps for s in random.steps] == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert [s.requested_rps for s in chat.steps] == [4.0, 8.0]
    assert random.input_len_spec == "uniform 0-1024"
    assert random.steps[3].rps == pytest.approx(6.92, abs=0.01)
    assert random.extra["failures_unknown"]


def test_sglang_server_info_is_read_by_name_only() -> None:
    line = {
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": 4.0,
        "max_concurrency": None,
        "random_input_len": 100,
        "random_output_len": 50,
        "random_range_ratio": 1.0,
        "duration": 10.0,
        "completed": 40,
        "total_input_tokens": 4000,
        "total_output_tokens": 2000,
        "output_throughput": 200.0,
        "accept_length": 2.5,
        "mean_ttft_ms": 50.0,
        "server_info": {
            "model_path": "/m/models--org--m",
            "tp_size": 4,
            "api_key": "secret",
            "version": "0.5.9",
        },
        "cache_report": {"cache_hit_rate_pct": 95.0, "total_cached_tokens": 3800},
    }
    (run,) = runs_in(line, expect="sglang-serving")
    assert (run.model, run.tp, run.engine_version) == ("org/m", 4, "0.5.9")
    assert run.input_len_spec == "fixed 100"
    assert run.steps[0].spec_scope == "lifetime"
    assert run.steps[0].cache_hit == pytest.approx(0.95)
    assert "secret" not in repr(run)


def test_sglang_one_batch() -> None:
    line = {
        "run_name": "default",
        "batch_size": 16,
        "input_len": 1024,
        "output_len": 16,
        "prefill_latency": 0.5,
        "prefill_throughput": 32768.0,
        "median_decode_latency": 0.01,
        "median_decode_throughput": 1600.0,
        "total_latency": 0.66,
        "overall_throughput": 25000.0,
    }
    step = runs_in(line, expect="sglang-batch")[0].steps[0]
    assert (step.prefill_s, step.decode_step_s, step.output_tps) == (0.5, 0.01, 1600.0)


def test_lmdeploy_all_at_once() -> None:
    (run,) = runs_of("lmdeploy/lmdeploy_1217_3000_sharegpt.jsonl")
    assert (run.format, run.engine, run.steps[0].load_mode) == ("lmdeploy", "lmdeploy", "burst")
    assert run.steps[0].stat("ttft", "p50") == pytest.approx(60.02, abs=0.01)


def test_aiperf_wrapper_and_cancellations() -> None:
    (run,) = runs_of("aiperf/run1-early-schema/profile_export_aiperf.json")
    step = run.steps[0]
    assert (step.completed, step.cancelled, step.failed) == (89, 11, 0)
    assert step.stat("tpot", "mean") == pytest.approx(0.02776, abs=1e-5)
    assert step.stat("itl", "p99") == pytest.approx(0.14053, abs=1e-5)
    assert step.load_mode == "closed"


def test_aiperf_csv_agrees_with_its_json() -> None:
    (table,) = runs_of("aiperf/run1-early-schema/profile_export_aiperf.csv")
    (summary,) = runs_of("aiperf/run1-early-schema/profile_export_aiperf.json")
    for metric in ("ttft", "tpot", "e2e", "output_len"):
        assert table.steps[0].stat(metric, "p99") == pytest.approx(
            summary.steps[0].stat(metric, "p99"), rel=1e-3
        )


def test_aiperf_sessions_do_not_break_the_cap() -> None:
    (run,) = runs_of("aiperf/inferencex-agentic-tp4/conc4-kvnone/profile_export_aiperf.json")
    assert (run.tool_version, run.multi_turn, run.warmup) == ("0.8.0", True, "excluded")
    assert run.steps[0].concurrency_mean == pytest.approx(5.61, abs=0.01)
    assert (run.kv_offload, run.origins["kv_offload"]) == ("none", "named")
    assert not run.warnings


def test_aiperf_requests() -> None:
    row = {
        "metadata": {
            "x_request_id": "a",
            "worker_id": "w",
            "request_start_ns": 1_000_000_000,
            "turn_index": 0,
        },
        "metrics": {
            "request_latency": {"value": 250.0, "unit": "ms"},
            "output_sequence_length": {"value": 9},
        },
        "error": None,
    }
    late = json.loads(json.dumps(row))
    late["metadata"]["request_start_ns"] = 3_000_000_000
    late["error"] = {"code": 500, "type": "ServerError"}
    (run,) = runs_in(json.dumps(row) + "\n" + json.dumps(late), expect="aiperf")
    step = run.steps[0]
    assert (step.completed, step.failed, step.requests[1].start_s) == (1, 1, 2.0)
    assert step.requests[0].e2e_s == 0.25


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_guidellm_before_0_4(ending: str) -> None:
    (run,) = runs_of(f"guidellm/v0.2-stripped/benchmarks_stripped.{ending}")
    step = run.steps[0]
    assert run.format_era == "before 0.4"
    assert (step.load_mode, step.completed, step.incomplete) == ("single-stream", 46, 1)
    assert step.stat("e2e", "mean") == pytest.approx(0.6445, abs=1e-4)
    assert step.stat("ttft", "mean") == pytest.approx(0.01679, abs=1e-5)
    assert step.stat("tpot", "mean") == pytest.approx(0.004942, abs=1e-6)
    assert step.stat("ntpot", "mean") is not None
    assert not run.warnings


def test_guidellm_rates_of_a_newer_report() -> None:
    part = {"mean": 2.0, "median": 2.0, "std_dev": 0.1, "count": 20, "percentiles": {"p99": 3.0, "p999": 3.5}}
    entry = {
        "config": {"strategy": {"type_": "poisson", "rate": 2.5}},
        "scheduler_state": {},
        "duration": 10.0,
        "metrics": {
            "request_totals": {"successful": 20, "errored": 1, "incomplete": 0, "total": 21},
            "requests_per_second": {"successful": part},
            "request_latency": {"successful": part},
        },
    }
    report = {"metadata": {"version": 2, "guidellm_version": "0.8.1"}, "config": {}, "benchmarks": [entry]}
    (run,) = runs_in(report, expect="guidellm")
    step = run.steps[0]
    assert (step.load_mode, step.arrival, step.requested_rps, step.failed) == ("open", "poisson", 2.5, 1)
    assert step.stat("e2e", "p999") == 3.5


def test_inference_perf_doubles_halved_token_times() -> None:
    (run,) = runs_of("inference-perf/kubecon-na-2025/vllm/stage_0_lifecycle_metrics.json")
    step = run.steps[0]
    assert step.stat("tpot", "mean") == pytest.approx(0.006947, abs=1e-6)
    assert step.origins["tpot"] == "derived"
    assert step.stat("itl", "mean") is None
    assert "twice" in run.warnings[0]


def test_inference_perf_late_client_and_pooled_summary() -> None:
    (late,) = runs_of("inference-perf/kubecon-na-2025/vllm/stage_5_lifecycle_metrics.json")
    assert late.steps[0].client_limited is True
    assert late.steps[0].schedule_delay_p99_s == pytest.approx(26.5, abs=0.1)
    (pooled,) = runs_of("inference-perf/kubecon-na-2025/vllm/summary_lifecycle_metrics.json")
    assert pooled.steps[0].pooled
    (server,) = runs_of("inference-perf/kubecon-na-2025/vllm/stage_0_prometheus_metrics.json")
    assert server.steps[0].completed is None
    assert server.steps[0].kv_usage_mean is None


def test_llmperf_token_latency_includes_the_first_token() -> None:
    (run,) = runs_of("llmperf/leaderboard/summary__anyscale_70b.json")
    step = run.steps[0]
    assert step.stat("ntpot", "mean") == pytest.approx(0.015836, abs=1e-6)
    assert step.stat("tpot", "mean") is None
    assert (step.concurrency_cap, step.load_mode) == (5, "closed")
    assert step.duration_s == pytest.approx(106.2, abs=0.1)


def test_llmperf_wrapper_is_a_sweep() -> None:
    (run,) = runs_of("llmperf/tgi-2.0.1/meta-llama_Meta-Llama-3-8B-Instruct_tp_1_summary.json")
    assert [s.concurrency_cap for s in run.steps] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert run.steps[0].stat("ttft", "mean") == pytest.approx(0.15814, abs=1e-5)
    assert run.tp == 1


def test_optimum_old_and_new() -> None:
    (new,) = runs_of("optimum-benchmark/tei-cpu/benchmark_report.json")
    assert new.steps[0].load_s == pytest.approx(15.6, abs=0.01)
    name = "A100-80GB__gptq-batch_size_16-sequence_length_512-new_tokens_1000__4__inference_results.csv"
    (old,) = runs_of(f"optimum-benchmark/running-llamas/{name}")
    assert (old.weight_format, old.steps[0].batch_size, old.steps[0].output_tps) == ("gptq", 16, 246.0)


MLPERF = """================================================
MLPerf Results Summary
================================================
SUT name : PySUT
Scenario : Server
Mode     : PerformanceOnly
Completed samples per second    : 10.5
Completed tokens per second     : 2100.0
Result is : VALID
99.00 percentile latency (ns)   : 4000000000
99.90 percentile first token latency (ns)   : 450000000
Mean First Token latency (ns)   : 150000000
target_qps : 12
ttft_latency (ns): 2000000000
"""


def test_mlperf_server_scenario() -> None:
    (run,) = runs_in(MLPERF, "mlperf_log_summary.txt", expect="mlperf-loadgen")
    step = run.steps[0]
    assert (step.load_mode, step.requested_rps, step.rps, step.output_tps) == ("open", 12.0, 10.5, 2100.0)
    assert step.stat("e2e", "p99") == pytest.approx(4.0)
    assert step.stat("ttft", "p999") == pytest.approx(0.45)
    assert step.stat("ttft", "mean") == pytest.approx(0.15)


def test_mlperf_accuracy_run_has_no_numbers() -> None:
    (run,) = runs_in("\nNo warnings encountered during test.\n\nNo errors encountered during test.\n")
    assert not run.steps[0].valid


def test_llmd_reports() -> None:
    (old,) = runs_of("llm-d-benchmark/examples/br_v0_1_example.yaml")
    assert (old.gpus, old.prefill_gpus, old.decode_gpus) == (17, 1, 16)
    assert old.steps[0].stat("ttft", "mean") == pytest.approx(0.000801, abs=1e-6)
    (new,) = runs_of("llm-d-benchmark/examples/br_v0_2_example.yaml")
    step = new.steps[0]
    assert new.evidence_kind == "example"
    assert (new.tp, new.gpus, new.prefix_groups, new.output_len_spec) == (8, 16, 32, "normal 1000 sd 100")
    assert step.kv_usage_mean == pytest.approx(0.425)
    assert step.startup_s == 84.0


def test_inferencex_shapes() -> None:
    (flat,) = runs_of("inferencex/agentic-b200-tp-pareto/tp4-users1-offloadoff_b200-dgxc-slurm_6_agg.json")
    assert flat.steps[0].stat("tpot", "mean") == pytest.approx(0.00867, abs=1e-5)
    assert (flat.tp, flat.gpus, flat.kv_offload) == (4, 4, "none")
    (nested,) = runs_of("inferencex/agentic-tp4-agg/conc1-kvnone.json")
    assert nested.steps[0].output_tps == pytest.approx(60.13, abs=0.01)
    assert nested.steps[0].kv_usage_mean == pytest.approx(0.138, abs=1e-3)
    (wrapped,) = runs_of(
        "inferencex/together-b200-baselines/b200__sglang__dsr1-fp4__1k1k__tuned__conc128.json"
    )
    assert wrapped.steps[0].power_w == pytest.approx(4573.9)
    assert wrapped.steps[0].stat("itl", "p50") == pytest.approx(0.1918, abs=1e-4)


def test_inferencex_per_gpu_rates_are_multiplied() -> None:
    value = {"hw": "b200", "framework": "vllm", "precision": "fp8", "model": "m", "conc": 8, "tp": 4}
    value |= {"is_multinode": False, "tput_per_gpu": 100.0, "output_tput_per_gpu": 50.0, "mean_ttft": 0.5}
    step = runs_in(value, expect="inferencex")[0].steps[0]
    assert (step.total_tps, step.output_tps, step.origins["output_tps"]) == (400.0, 200.0, "derived")


def test_llama_bench_behind_log_lines() -> None:
    (run,) = runs_of("llama-bench/strix-halo-fa/quick-test.jsonl")
    assert run.format == "llama-bench"
    assert run.weight_format == "gguf-q4_k"
    assert {s.load_mode for s in run.steps} == {"single-stream"}
    assert any(s.input_tps for s in run.steps)
    assert any(s.output_tps for s in run.steps)


def test_llama_bench_markdown() -> None:
    text = (
        "ggml_cuda_init: found 1 devices\n"
        "| model | size | params | backend | ngl | test | t/s |\n"
        "| --- | ---: | ---: | --- | --: | ---: | ---: |\n"
        "| llama 8B Q4_0 | 4.33 GiB | 8.03 B | CUDA | 99 | pp512 | 5000.1 ± 20.5 |\n"
        "| llama 8B Q4_0 | 4.33 GiB | 8.03 B | CUDA | 99 | tg128 | 120.5 ± 0.3 |\n"
    )
    (run,) = runs_in(text, "out.md", expect="llama-bench")
    assert [s.input_tps or s.output_tps for s in sorted(run.steps, key=lambda s: s.extra["n_gen"])] == [
        5000.1,
        120.5,
    ]


def test_lmbenchmark_rebuilds_the_arrivals() -> None:
    (run,) = runs_of("fmperf/llmd-exp0/vllm-70b/LMBench_sharegpt_output_0.5.csv")
    step = run.steps[0]
    assert (step.requested_rps, step.origins["requested_rps"], step.arrival) == (0.5, "named", "constant")
    assert step.achieved_rps == pytest.approx(0.5, rel=0.05)
    assert step.stat("ttft", "p50") == pytest.approx(0.39, abs=0.01)
    assert run.output_len_spec is None


LOCUST = (
    "Type,Name,Request Count,Failure Count,Median Response Time,Average Response Time,Min Response Time,"
    "Max Response Time,Average Content Size,Requests/s,Failures/s,"
    "50%,66%,75%,80%,90%,95%,98%,99%,99.9%,99.99%,100%\n"
    "STREAM,E2E,190,0,31000,44544.5,6408.5,123641.7,0,0.79,0,31000,47000,69000,76000,1,1,1,122000,1,1,1\n"
    "STREAM,TTFT,228,0,1500,16883.1,914.7,96665.1,0,0.95,0,1500,12000,24000,31000,1,1,1,94000,1,1,1\n"
    ",Aggregated,418,0,7400,24803.0,782.5,123641.7,0,2.5,0,7400,25000,41000,49000,1,1,1,116000,1,1,1\n"
)


def test_locust_ignores_the_aggregate() -> None:
    (run,) = runs_in(LOCUST, "stats.csv", expect="locust")
    step = run.steps[0]
    assert (step.completed, step.incomplete) == (190, 38)
    assert step.stat("ttft", "p50") == 1.5
    assert step.stat("e2e", "mean") == pytest.approx(44.5445)


def test_aibrix_simulation_is_an_estimate() -> None:
    line = {
        "input_tokens": 128,
        "output_tokens": 4,
        "request_rate": 1.0,
        "model": "llama2-7b",
        "samples": 100,
    }
    lines = [line | {"metric": "TPUT", "mean": 1.08}, line | {"metric": "TTFT", "mean": 0.2, "p99": 0.4}]
    text = "\n".join(map(json.dumps, lines))
    (run,) = runs_in(text, "simulator-a100.jsonl", expect="aibrix")
    assert run.evidence_kind == "estimate"
    assert run.steps[0].stat("ttft", "p99") == 0.4
    (other,) = runs_in(text, "profile.jsonl")
    assert other.evidence_kind == "measured"


def test_genai_perf_summary() -> None:
    value = {
        "request_throughput": {"unit": "requests/sec", "avg": 2.0},
        "output_token_throughput": {"unit": "tokens/sec", "avg": 200.0},
        "time_to_first_token": {"unit": "ms", "avg": 100.0, "p99": 180.0, "std": 5.0},
        "inter_token_latency": {"unit": "furlong", "avg": 10.0},
        "output_sequence_length": {"unit": "tokens", "avg": 100.0},
        "input_config": {"model_names": ["m"], "streaming": True, "concurrency": 4},
    }
    (run,) = runs_in(value, expect="genai-perf")
    step = run.steps[0]
    assert (step.rps, step.output_tps, step.concurrency_cap) == (2.0, 200.0, 4)
    assert step.stat("ttft", "p99") == pytest.approx(0.18)
    assert step.stat("tpot", "mean") is None
    assert "furlong" in run.warnings[0]


def test_decode_matrix_refuses_a_counter_as_a_rate() -> None:
    cell = {
        "concurrency": 1,
        "context_tokens": 0,
        "aggregate_tps": 147.2,
        "ttft_avg": 0.05,
        "num_completed": 1,
    }
    value = {
        "metadata": {"model": "M-AWQ", "concurrency_levels": [1], "context_lengths": [0]},
        "results": [cell | {"server_spec_accept_rate": 2001.0}],
    }
    (run,) = runs_in(value, "x_nomtp.json", expect="decode-matrix")
    assert run.steps[0].spec_acceptance is None
    assert (run.spec_method, run.weight_format) == ("none", "awq")
    assert "counter" in run.warnings[0]
