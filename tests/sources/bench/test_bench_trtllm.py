"""A report of trtllm-bench, made by hand from its writer."""

from __future__ import annotations

from typing import Any

import pytest
from bench_helpers import runs_in

REPORT: dict[str, Any] = {
    "engine": {"model": "meta-llama/Llama-3.1-8B", "version": "1.0.0", "backend": "pytorch", "dtype": "bfloat16",
               "kv_cache_dtype": "FP8", "quantization": "FP8", "max_sequence_length": 4096},
    "machine": {"name": "NVIDIA H100 80GB HBM3", "memory.total": 79.6},
    "world_info": {"tp_size": 2, "pp_size": 1, "ep_size": 1, "world_size": 2, "max_batch_size": 256, "max_num_tokens": 8192,
                   "issue_rate": -1},
    "request_info": {"num_requests": 1000, "avg_num_concurrent_requests": 200.0, "avg_input_length": 128.0,
                     "avg_output_length": 100.0},
    "performance": {"total_latency_ms": 10000.0, "avg_request_latency_ms": 2000.0, "request_throughput_req_s": 100.0,
                    "system_output_throughput_tok_s": 10000.0, "system_total_throughput_tok_s": 22800.0,
                    "request_latency_percentiles_ms": {"p50": 1900.0, "p99": 2600.0, "minimum": 900.0, "maximum": 2700.0}},
    "streaming_metrics": {"avg_ttft_ms": 218.0, "avg_tpot_ms": 18.0, "ttft_percentiles": {"p50": 200.0, "p99": 400.0},
                          "tpot_percentiles": {"p50": 17.5}},
}  # fmt: skip


def test_times_are_seconds_and_rates_are_the_deployments() -> None:
    (run,) = runs_in(REPORT, "report.json", expect="trtllm-bench")
    step = run.steps[0]
    assert (run.tp, run.gpus, run.weight_format, run.gpu_model) == (2, 2, "FP8", "NVIDIA H100 80GB HBM3")
    assert (step.load_mode, step.completed, step.output_tps, step.total_tps) == (
        "offline",
        1000,
        10000.0,
        22800.0,
    )
    assert step.duration_s == pytest.approx(10.0)
    assert step.stat("e2e", "p99") == pytest.approx(2.6)
    assert step.stat("ttft", "mean") == pytest.approx(0.218)
    assert step.stat("tpot", "p50") == pytest.approx(0.0175)


def test_a_rate_makes_it_an_open_loop() -> None:
    (run,) = runs_in(REPORT | {"world_info": REPORT["world_info"] | {"issue_rate": 50.0}}, "report.json")
    assert (run.steps[0].load_mode, run.steps[0].requested_rps) == ("open", 50.0)


def test_without_streaming_there_is_no_first_token() -> None:
    (run,) = runs_in({k: v for k, v in REPORT.items() if k != "streaming_metrics"}, "report.json")
    assert run.steps[0].stat("ttft", "mean") is None
    assert run.streaming is False
