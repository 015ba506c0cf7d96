"""Tools of which no public result was found: files made by hand from their writers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench_helpers import runs_in

from diagnostics.model.errors import InputError
from diagnostics.sources.bench.grouping import group_steps

EVALSCOPE_NEW = {
    "Test Duration (s)": 100.0, "Concurrency": 10, "Request Rate (req/s)": -1, "Total Requests": 205,
    "Success Requests": 200, "Failed Requests": 5, "Req Throughput (req/s)": 2.0, "Avg Latency (s)": 4.9,
    "Avg Input Tokens": 512.5, "Output Throughput (tok/s)": 400.0, "Total Throughput (tok/s)": 1425.0,
    "TTFT (ms)": 350.0, "TPOT (ms)": 22.9, "ITL (ms)": 22.5, "Avg Output Tokens": 200.0, "KV Cache Hit Rate (%)": 40.0,
}  # fmt: skip
EVALSCOPE_OLD = {
    "Time taken for tests (s)": 100.0, "Number of concurrency": 10, "Total requests": 200, "Succeed requests": 200,
    "Failed requests": 0, "Output token throughput (tok/s)": 400.0, "Total token throughput (tok/s)": 1425.0,
    "Request throughput (req/s)": 2.0, "Average latency (s)": 4.9, "Average time to first token (s)": 0.35,
    "Average time per output token (s)": 0.0229, "Average input tokens per request": 512.5,
    "Average output tokens per request": 200.0,
}  # fmt: skip


@pytest.mark.parametrize(("value", "failed"), [(EVALSCOPE_NEW, 5), (EVALSCOPE_OLD, 0)], ids=["new", "old"])
def test_evalscope_reads_the_unit_from_the_key(value: dict[str, Any], failed: int) -> None:
    (run,) = runs_in(value, "parallel_10_number_200/benchmark_summary.json", expect="evalscope")
    (step,) = run.steps
    assert (step.load_mode, step.concurrency_cap, step.requested_rps) == ("closed", 10, None)
    assert (step.completed, step.failed, step.duration_s) == (200, failed, 100.0)
    assert (step.rps, step.output_tps, step.total_tps) == (2.0, 400.0, 1425.0)
    assert step.stat("ttft", "mean") == pytest.approx(0.35)
    assert step.stat("tpot", "mean") == pytest.approx(0.0229)
    assert step.stat("e2e", "mean") == 4.9
    assert not run.warnings


def test_evalscope_without_streaming_has_no_first_token() -> None:
    value = EVALSCOPE_OLD | {"Average time to first token (s)": 4.9, "Average time per output token (s)": 0.0}
    (run,) = runs_in(value)
    assert run.streaming is False
    assert run.steps[0].stat("ttft", "mean") is None


def test_evalscope_percentiles_join_their_level() -> None:
    rows = [
        {"Percentiles": "50%", "TTFT (ms)": 300.0, "Latency (s)": 4.5, "Output tokens": 200, "Output (tok/s)": 40.0},
        {"Percentiles": "99%", "TTFT (ms)": 900.0, "Latency (s)": 9.5, "Output tokens": 400, "Output (tok/s)": 20.0},
    ]  # fmt: skip
    (tail,) = runs_in(rows, "a/parallel_10_number_200/benchmark_percentile.json", expect="evalscope")
    (summary,) = runs_in(EVALSCOPE_NEW, "a/parallel_10_number_200/benchmark_summary.json")
    (other,) = runs_in(EVALSCOPE_NEW | {"Concurrency": 20}, "a/parallel_20_number_400/benchmark_summary.json")
    assert tail.steps[0].stat("ttft", "p99") == pytest.approx(0.9)
    assert tail.steps[0].output_tps is None
    (sweep,) = group_steps([tail, summary, other])
    assert [s.concurrency_cap for s in sweep.steps] == [10, 10, 20]


def _genai_bench(**changed: Any) -> dict[str, Any]:
    metrics = {
        "scenario": "D(100,100)", "num_concurrency": 8, "iteration_type": "num_concurrency", "run_duration": 50.0,
        "mean_output_throughput_tokens_per_s": 200.0, "mean_input_throughput_tokens_per_s": 200.0,
        "mean_total_tokens_throughput_tokens_per_s": 400.0, "requests_per_second": 2.0, "num_error_requests": 1,
        "error_codes_frequency": {"429": 1}, "num_completed_requests": 100, "num_requests": 101,
        "stats": {
            "ttft": {"mean": 250.0, "p50": 240.0, "p99": 800.0, "stddev": 50.0, "sum": 25_000.0},
            "tpot": {"mean": 36.0, "p50": 36.0}, "e2e_latency": {"mean": 3814.0, "p99": 5000.0},
            "num_output_tokens": {"mean": 100.0, "min": 100, "max": 100},
        },
    }  # fmt: skip
    single = [
        {"ttft": 240.0, "tpot": 36.0, "e2e_latency": 3800.0, "num_input_tokens": 100, "num_output_tokens": 100,
         "error_code": None},
        {"error_code": 429, "error_message": "slow down"},
    ]  # fmt: skip
    return {"aggregated_metrics": metrics | changed, "individual_request_metrics": single, "_time_unit": "ms"}


def test_genai_bench_in_the_unit_it_names() -> None:
    (run,) = runs_in(_genai_bench(), expect="genai-bench")
    (step,) = run.steps
    assert (run.input_len_spec, run.output_len_spec) == ("fixed 100", "fixed 100")
    assert (step.load_mode, step.concurrency_cap, step.completed, step.failed) == ("closed", 8, 100, 1)
    assert step.stat("ttft", "mean") == pytest.approx(0.25)
    assert step.stat("ttft", "sd") == pytest.approx(0.05)
    assert step.error_kinds == {"429": 1}
    assert [r.status for r in step.requests] == ["ok", "error"]
    assert step.requests[0].e2e_s == pytest.approx(3.8)
    (seconds,) = runs_in({k: v for k, v in _genai_bench().items() if k != "_time_unit"})
    assert seconds.steps[0].stat("ttft", "p50") == 240.0


def test_genai_bench_with_a_rate_and_spread_lengths() -> None:
    changed = {
        "total_arrivals": 120,
        "arrival_requests_per_second": 2.4,
        "num_concurrency": 2.5,
        "scenario": "N(480,240)/(300,150)",
    }
    (run,) = runs_in(_genai_bench(**changed))
    assert (run.steps[0].load_mode, run.steps[0].requested_rps) == ("open", 2.5)
    assert (run.steps[0].achieved_rps, run.steps[0].client_limited) == (2.4, True)
    assert run.output_len_spec == "normal 300±150"


def test_genai_bench_in_an_unknown_unit_keeps_rates_only() -> None:
    (run,) = runs_in(_genai_bench() | {"_time_unit": "ticks"})
    assert run.steps[0].stat("ttft", "mean") is None
    assert run.steps[0].output_tps == 200.0
    assert "'ticks'" in run.warnings[0]


K6 = {
    "metrics": {
        "http_req_duration": {"avg": 1500.0, "min": 200.0, "med": 1200.0, "max": 9000.0, "p(90)": 3000.0, "p(95)": 4000.0},
        "http_reqs": {"count": 600, "rate": 10.0},
        "http_req_failed": {"passes": 6, "fails": 594, "value": 0.01},
        "ttft_ms": {"avg": 120.0, "med": 100.0, "p(95)": 300.0},
        "output_tokens": {"count": 60_000, "rate": 1000.0},
    }
}  # fmt: skip


@pytest.mark.parametrize("wrapped", [False, True])
def test_k6_summary_in_both_layouts(wrapped: bool) -> None:
    metrics = {
        name: {"type": "x", "values": block} if wrapped else block for name, block in K6["metrics"].items()
    }
    (run,) = runs_in({"metrics": metrics}, expect="k6")
    (step,) = run.steps
    assert (step.completed, step.failed, step.duration_s) == (594, 6, 60.0)
    assert step.stat("e2e", "mean") == pytest.approx(1.5)
    assert step.stat("e2e", "p95") == pytest.approx(4.0)
    assert step.stat("ttft", "p50") == pytest.approx(0.1)
    assert step.output_tps == 1000.0
    assert step.load_mode == "unknown"


def test_k6_that_drops_iterations_is_the_limit() -> None:
    metrics = {k: v for k, v in K6["metrics"].items() if k != "ttft_ms"} | {
        "dropped_iterations": {"count": 40}
    }
    (run,) = runs_in({"metrics": metrics})
    assert (run.steps[0].load_mode, run.steps[0].client_limited) == ("open", True)
    assert "first tokens are unknown" in run.warnings[0]


def test_k6_points_are_refused() -> None:
    lines = (
        '{"type":"Metric","data":{"type":"trend"},"metric":"http_req_duration"}\n'
        '{"type":"Point","data":{"value":4},"metric":"vus"}\n'
    )
    with pytest.raises(InputError, match="--summary-export"):
        runs_in(lines)


def test_llmeter_statistics() -> None:
    value = {
        "total_requests": 120, "clients": 6, "n_requests": 20, "total_test_time": 60.0, "model_id": "org/m",
        "failed_requests": 2, "failed_requests_rate": 0.0167, "requests_per_minute": 120.0,
        "time_to_first_token-average": 0.4, "time_to_first_token-p50": 0.3, "time_to_first_token-p99": 1.5,
        "time_to_last_token-average": 2.9, "num_tokens_output-average": 150.0,
    }  # fmt: skip
    (run,) = runs_in(value, expect="llmeter")
    (step,) = run.steps
    assert (run.model, step.load_mode, step.concurrency_cap) == ("org/m", "closed", 6)
    assert (step.completed, step.failed, step.rps) == (118, 2, pytest.approx(118 / 60))
    assert (step.stat("ttft", "mean"), step.stat("e2e", "mean")) == (0.4, 2.9)


def test_llmeter_responses() -> None:
    rows = [
        {"response_text": "x", "id": str(i), "time_to_first_token": 0.3, "time_to_last_token": 2.0, "num_tokens_input": 50,
         "num_tokens_output": 86, "time_per_output_token": 0.02, "error": None,
         "request_time": f"2026-01-01T00:00:{i:02d}+00:00"}
        for i in range(30)
    ]  # fmt: skip
    rows[7] |= {"error": "ReadTimeout: gone", "time_to_last_token": None, "time_to_first_token": None}
    (run,) = runs_in("\n".join(map(json.dumps, rows)), "responses.jsonl", expect="llmeter")
    (step,) = run.steps
    assert (step.completed, step.failed, step.duration_s) == (29, 1, 31.0)
    assert step.requests[7].error_kind == "ReadTimeout"
    assert step.requests[3].start_s == 3.0
    assert step.stat("tpot", "mean") == pytest.approx(0.02)
