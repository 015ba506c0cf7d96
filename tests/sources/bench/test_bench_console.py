from __future__ import annotations

import pytest
from bench_helpers import SAMPLES, runs_in, runs_of

from diagnostics.sources.bench import reader
from diagnostics.sources.bench.command import find_commands, read_command
from diagnostics.sources.bench.console import find_console_blocks

BLOCK = """============ Serving Benchmark Result ============
Successful requests:                     1000
Benchmark duration (s):                  97.65
Total input tokens:                      215196
Total generated tokens:                  43140
Request throughput (req/s):              10.24
Output token throughput (tok/s):         441.76
---------------Time to First Token----------------
Mean TTFT (ms):                          14807.83
Median TTFT (ms):                        0.00
==================================================
"""


def test_many_blocks_in_one_text() -> None:
    text = (SAMPLES / "vllm/dstack-console-text/vllm_raw.txt").read_text()
    blocks = find_console_blocks(text)
    assert len(blocks) == text.count("Serving Benchmark Result")
    runs = runs_of("vllm/dstack-console-text/vllm_raw.txt")
    assert sum(len(run.steps) for run in runs) == len(blocks)
    assert runs[0].input_len_spec == "fixed 80"
    assert [s.completed for s in runs[0].steps][-1] == 2048
    assert runs[0].steps[-1].load_mode == "burst"
    assert runs[1].input_len_spec == "fixed 10000"


def test_price_and_a_median_that_cannot_be() -> None:
    (run,) = runs_in("# price: 2.836 USD per hour for 2x NVIDIA A10G, tp=2\n" + BLOCK, "pasted.txt")
    assert (run.gpus, run.tp, run.gpu_model) == (2, 2, "NVIDIA A10G")
    assert run.gpu_hourly == pytest.approx(1.418)
    assert run.steps[0].stat("ttft", "p50") is None
    assert run.steps[0].stat("ttft", "mean") == pytest.approx(14.80783)
    assert "half of the requests" in run.warnings[0]


def test_block_amid_log_lines_and_without_end() -> None:
    lines = BLOCK.splitlines()[:-1]
    lines.insert(3, "INFO 07-20 23:32:42 [config.py:2195] Chunked prefill is enabled: yes")
    text = "INFO start\n" + "\n".join(lines) + "\nINFO 07-20 23:33:00 server: down\n"
    (block,) = find_console_blocks(text)
    assert block.startswith("====")
    assert "Median TTFT" in block
    assert "server: down" not in block
    assert runs_in(text)[0].steps[0].completed == 1000


def test_command_beside_a_block_gives_the_load() -> None:
    command = "$ vllm bench serve --model org/m \\\n  --dataset-name random --request-rate 60"
    command += " --num-prompts 1000 --seed 3\n"
    (run,) = runs_in(command + BLOCK)
    step = run.steps[0]
    assert (step.load_mode, step.requested_rps, step.requested) == ("open", 60.0, 1000)
    assert (run.model, run.seed, run.dataset) == ("org/m", 3, "random")
    assert run.origins["model"] == "command"


def test_command_without_rate_is_all_at_once() -> None:
    (run,) = runs_in("$ vllm bench serve --model m --endpoint-type openai-chat\n" + BLOCK)
    assert run.steps[0].load_mode == "burst"


def test_printed_rate_and_cap() -> None:
    extra = "Request rate configured (RPS):           32.00\nMaximum request concurrency:  64\n"
    step = runs_in(BLOCK.replace("Benchmark duration", extra + "Benchmark duration"))[0].steps[0]
    assert (step.load_mode, step.requested_rps, step.concurrency_cap) == ("open-capped", 32.0, 64)


def test_sglang_block() -> None:
    extra = "Backend:  sglang\nTraffic request rate:  inf\nMax request concurrency:  not set\n"
    extra += "Accept length:  2.5\n"
    (run,) = runs_in(BLOCK.replace("Successful", extra + "Successful", 1))
    assert (run.tool, run.client_protocol, run.steps[0].load_mode) == (
        "sglang bench_serving",
        "sglang",
        "burst",
    )
    assert (run.steps[0].spec_tokens_per_step, run.steps[0].spec_scope) == (2.5, "lifetime")


def test_speculation_section() -> None:
    extra = "Acceptance rate (%):   62.50\nAcceptance length:   2.25\n"
    extra += "Position 0 (%):   80.0\nPosition 1 (%):   45.0\n"
    step = runs_in(BLOCK.replace("Mean TTFT", extra + "Mean TTFT"))[0].steps[0]
    assert step.spec_acceptance == pytest.approx(0.625)
    assert step.spec_per_position == pytest.approx((0.8, 0.45))


def test_throughput_line_with_remarks() -> None:
    text = (
        "$ VLLM_USE_V1=1 python benchmarks/benchmark_throughput.py --model org/m --num-prompts 1000 "
        "--input-len 128 --output-len 128\n"
        "# dataset: 1 distinct prompt repeated 1000 times, prefix caching on (default)\n"
        "Throughput: 151.99 requests/s, 38910.45 total tokens/s, 19455.23 output tokens/s\n"
    )
    (run,) = runs_in(text, "pasted.txt", expect="console")
    step = run.steps[0]
    assert (step.rps, step.total_tps, step.output_tps) == (151.99, 38910.45, 19455.23)
    assert (run.distinct_prompts, run.prefix_caching, run.input_len_spec) == (1, True, "fixed 128")
    assert step.duration_s == pytest.approx(6.58, abs=0.01)


def test_remarked_result_needs_its_command() -> None:
    remark = "# every request carries the same prompt\n# result: 12 requests/s\n"
    assert reader.recognise(remark) is None
    (run,) = runs_in("$ python benchmarks/benchmark_throughput.py --model m -tp=2\n" + remark)
    assert (run.steps[0].rps, run.steps[0].origins["rps"], run.distinct_prompts) == (12.0, "named", 1)


def test_command_alone() -> None:
    text = (
        "$ vllm bench throughput --model M-W4A16 --input-len 32 --output-len 1 --load-format dummy\nINFO x\n"
    )
    run = read_command("paste", text)
    assert run is not None
    assert (run.weight_format, run.output_len_spec, run.steps[0].valid) == ("w4a16", "fixed 1", False)
    assert read_command("paste", "nothing here") is None
    assert find_commands("vllm bench serve --model 'unclosed")[0]["model"] == "'unclosed"


def test_latency_console() -> None:
    step = runs_in("Avg latency: 1.5 seconds\n50% percentile latency: 1.4 seconds\n")[0].steps[0]
    assert (step.stat("e2e", "mean"), step.stat("e2e", "p50")) == (1.5, 1.4)


def test_guidellm_tables_agree_with_the_report() -> None:
    (printed,) = runs_of("guidellm/v0.2-stripped/benchmarks_stripped_output.txt")
    (report,) = runs_of("guidellm/v0.2-stripped/benchmarks_stripped.json")
    a, b = printed.steps[0], report.steps[0]
    assert (a.completed, a.incomplete, a.load_mode) == (b.completed, b.incomplete, b.load_mode)
    assert a.stat("ttft", "mean") == pytest.approx(b.stat("ttft", "mean"), abs=1e-4)
    assert a.stat("tpot", "p50") == pytest.approx(b.stat("tpot", "p50"), abs=1e-4)
    assert a.output_tps == pytest.approx(b.output_tps, abs=0.1)


def test_guidellm_newer_tables() -> None:
    text = (
        "\u2139 Request Latency Statistics (Completed Requests)\n"
        "|=============|=========|========|======|======|\n"
        "| Benchmark   | Request Latency || TTFT       ||\n"
        "| Strategy    | Sec             || ms         ||\n"
        "|             | Mdn     | p95    | Mdn  | p95  |\n"
        "|-------------|---------|--------|------|------|\n"
        "| constant@2  | 30.6    | 30.9   | 47.7 | 57.8 |\n"
        "|=============|=========|========|======|======|\n"
    )
    step = runs_in(text)[0].steps[0]
    assert (step.load_mode, step.requested_rps) == ("open", 2.0)
    assert (step.stat("e2e", "p50"), step.stat("ttft", "p95")) == (30.6, pytest.approx(0.0578))
