from __future__ import annotations

import json

import pytest
from bench_helpers import SAMPLES, VLLM, runs_in, runs_of

from diagnostics.model.errors import InputError
from diagnostics.sources.bench import reader


def test_closed_loop_step_of_the_2025_era() -> None:
    (run,) = runs_of("vllm/dstack-pd-ratio-h200/1p3d_conc128_in128_out2048_20250914_020816.json")
    (step,) = run.steps
    assert (run.format, run.model, run.client_protocol) == ("vllm-serve", "openai/gpt-oss-120b", "openai")
    assert (step.load_mode, step.concurrency_cap, step.requested_rps) == ("closed", 128, None)
    assert step.stat("ttft", "p50") == pytest.approx(0.227457, abs=1e-6)
    assert step.failed == 0
    assert step.origins["failed"] == "derived"
    assert run.origins["input_len_spec"] == "named"
    assert not run.warnings


def test_colon_key_and_model_behind_a_path() -> None:
    name = "inferencex/multinode-pd-16gpu/gpt-oss-120b/concurrency_128_req_rate_inf_gpus_16_ctx_8_gen_8.json"
    (run,) = runs_of(name)
    assert run.model == "openai/gpt-oss-120b"
    assert (run.gpus, run.prefill_gpus, run.decode_gpus) == (16, 8, 8)
    assert run.steps[0].stat("e2e", "p999") == pytest.approx(16.677, abs=1e-3)
    assert run.steps[0].goodput_rps is None


def test_fork_without_units_is_proved_to_be_seconds() -> None:
    (run,) = runs_of("inferencex/token-position-slo/glm-5/glm5_fp8_vllm_tp8_isl1024_osl128_conc16.json")
    assert run.steps[0].stat("ttft", "p50") == pytest.approx(0.2914, abs=1e-4)
    assert run.steps[0].origins["ttft"] == "derived"
    assert "seconds" in run.warnings[0]


def test_fork_without_units_and_without_proof_is_refused() -> None:
    bare = {k.removesuffix("_ms"): v for k, v in VLLM.items()} | {"max_concurrency": None}
    (run,) = runs_in(bare)
    assert run.steps[0].stat("ttft", "mean") is None
    assert "no unit" in run.warnings[0]


def test_all_failed_is_no_measurement() -> None:
    zeros = {k: 0.0 for k in VLLM if k.endswith(("_ms", "throughput"))}
    (run,) = runs_in(VLLM | zeros | {"completed": 0, "failed": 4, "total_output_tokens": 0})
    (step,) = run.steps
    assert not step.valid
    assert step.rps is None
    assert step.output_tps is None
    assert not step.stats


def test_zero_ttft_means_not_streaming() -> None:
    (run,) = runs_in(VLLM | {"mean_ttft_ms": 0.0, "median_ttft_ms": 0.0, "p99_ttft_ms": 0.0})
    assert run.streaming is False
    assert run.steps[0].stat("ttft", "p99") is None


def test_detailed_lists_become_requests() -> None:
    detailed = VLLM | {
        "input_lens": [100, 100, 100, 100],
        "output_lens": [3, 3, 0, 3],
        "ttfts": [0.2, 0.1, 0.0, 0.1],
        "itls": [[0.1, 0.1], [0.2, 0.2], [], [0.1, 0.3]],
        "start_times": [50.0, 50.0, 50.5, 51.0],
        "errors": ["", "", "Traceback\nTimeoutError: slow", ""],
    }
    step = runs_in(detailed)[0].steps[0]
    first, failed = step.requests[0], step.requests[2]
    assert (first.start_s, first.e2e_s, first.tpot_s) == (0.0, pytest.approx(0.4), pytest.approx(0.1))
    assert (failed.status, failed.error_kind, failed.ttft_s) == ("error", "TimeoutError", None)
    assert step.error_kinds == {"TimeoutError": 1}
    assert step.stat("e2e", "max") == pytest.approx(0.5)


def test_request_lists_of_unlike_length_are_left_out() -> None:
    (run,) = runs_in(VLLM | {"ttfts": [0.1, 0.2], "errors": ["", "", ""]})
    assert "differ in length" in run.warnings[0]


def test_speculation_is_a_ratio() -> None:
    extra = {
        "spec_decode_acceptance_rate": 62.5,
        "spec_decode_acceptance_length": 2.25,
        "spec_decode_per_position_acceptance_rates": [0.8, 0.45],
    }
    (run,) = runs_in(VLLM | extra)
    step = run.steps[0]
    assert (step.spec_acceptance, step.spec_tokens_per_step, step.spec_scope) == (0.625, 2.25, "step")
    assert run.spec_draft_tokens == 2


def test_finite_rate_is_open_and_trace_is_a_replay() -> None:
    step = runs_in(VLLM | {"request_rate": 3.5, "max_concurrency": None, "burstiness": 0.5})[0].steps[0]
    assert (step.load_mode, step.arrival, step.requested_rps) == ("open", "gamma", 3.5)
    capped = runs_in(VLLM | {"request_rate": 3.5})[0].steps[0]
    assert capped.load_mode == "open-capped"


def test_appended_results_and_sweep_repeats() -> None:
    appended = json.dumps(VLLM) + "\n" + json.dumps(VLLM | {"max_concurrency": 4})
    (run,) = runs_in(appended)
    assert [step.concurrency_cap for step in run.steps] == [2, 4]
    repeats = [VLLM | {"run_number": i, "max_num_seqs": 8} for i in range(2)]
    (sweep,) = runs_in(repeats)
    assert [step.repeat for step in sweep.steps] == [0, 1]
    assert sweep.max_num_seqs == 8


def test_sweep_failure_is_kept() -> None:
    (run,) = runs_in([{"run_number": 0, "error_type": "RuntimeError", "serve_overrides": {"tp": 3}}])
    assert not run.steps[0].valid
    assert "RuntimeError" in (run.steps[0].invalid_reason or "")


def test_latency_with_two_iterations() -> None:
    (run,) = runs_of("vllm/dstack-405b-h100-latency/nvidia-latency_test_ip2048_op2048_np4.json")
    step = run.steps[0]
    assert step.stat("e2e", "mean") == pytest.approx(73.04, abs=0.01)
    assert (step.batch_size, step.origins["batch_size"]) == (4, "named")
    assert "2 iterations" in run.warnings[0]


def test_throughput_counts_both_sides() -> None:
    name = "4xMI300X_Meta-Llama-3.1-405B-Instruct-FP8-KV_throughput_req4_in128_out2048_.json"
    (run,) = runs_of(f"vllm/dstack-405b-mi300x-throughput/{name}")
    step = run.steps[0]
    assert step.total_tps == pytest.approx(92.42, abs=0.01)
    assert step.output_tps == pytest.approx(86.99, abs=0.01)
    assert (run.gpus, run.gpu_model, run.output_len_spec) == (4, "MI300X", "fixed 2048")


def test_cut_off_file_gives_one_clear_line() -> None:
    text = json.dumps(VLLM)[:-40]
    found = reader.recognise(text, "bench.json")
    assert found == "vllm-serve"
    with pytest.raises(InputError) as caught:
        reader.read("bench.json", text, found)
    assert "bench.json, line 1 column" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_damaged_tail_keeps_what_stands_before() -> None:
    (run,) = runs_in(json.dumps(VLLM) + "\n" + json.dumps(VLLM)[:50])
    assert len(run.steps) == 1
    assert "damaged" in run.warnings[-1]


@pytest.mark.parametrize(
    "text", ["", "hello", "{}", "[]", "[1, 2]", '{"a": {"b": 1}}', "a,b\n1,2\n", "[" * 5000]
)
def test_other_content_is_not_claimed(text: str) -> None:
    assert reader.recognise(text, "bench.json") is None


def test_bytes_with_mark_and_gzip_are_opened() -> None:
    import gzip

    plain = json.dumps(VLLM).encode()
    for data in (b"\xef\xbb\xbf" + plain, gzip.compress(plain), json.dumps(VLLM).encode("utf-16")):
        assert reader.recognise(data, "x") == "vllm-serve"


def test_strange_types_do_not_break_the_reader() -> None:
    strange = VLLM | {
        "completed": "many",
        "mean_ttft_ms": "N/A",
        "duration": [1],
        "model_id": 7,
        "date": None,
    }
    (run,) = runs_in(strange)
    assert run.model is None
    assert run.steps[0].completed is None


def test_every_sample_has_its_origin() -> None:
    listed = {line.split(",")[0] for line in (SAMPLES / "SOURCES.csv").read_text().splitlines()[1:]}
    present = {
        str(p.relative_to(SAMPLES)) for p in SAMPLES.rglob("*") if p.is_file() and p.name != "SOURCES.csv"
    }
    assert listed == present
