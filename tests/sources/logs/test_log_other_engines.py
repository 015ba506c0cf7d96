"""TGI, llama.cpp and TensorRT-LLM: what their documentation says they print."""

from __future__ import annotations

import json

import pytest

from diagnostics import diagnose
from diagnostics.engines import registry
from diagnostics.model.samples import Capture
from diagnostics.sources.logs.reader import read_log, recognise

SPAN = {
    "total_time": "2.318s", "validation_time": "1.2ms", "queue_time": "310µs", "inference_time": "2.316s",
    "time_per_token": "18.1ms",
}  # fmt: skip


def tgi(second: int, **times: str) -> str:
    span = " ".join(f'{name}="{value}"' for name, value in {**SPAN, **times}.items())
    return (
        f"2026-11-29T10:02:{second:02d}.482913Z  INFO chat_completions{{parameters=GenerateParameters}}:generate_stream{{{span} "
        'seed="None"}: text_generation_router::server: router/src/server.rs:625: Success'
    )


def tgi_json(second: int) -> str:
    return json.dumps(
        {
            "timestamp": f"2026-11-29T10:02:{second:02d}.482913Z", "level": "INFO", "message": "Success",
            "target": "text_generation_router::server", "span": {**SPAN, "name": "generate"}, "spans": [],
        },
        ensure_ascii=False,
    )  # fmt: skip


LLAMA = """0.12.345.678 I slot launch_slot_: id  2 | task 41 | processing task
0.12.345.700 I slot update_slots: id  2 | task 41 | new prompt, n_ctx_slot = 8192, n_keep = 0, task.n_tokens = 913
0.12.346.000 I slot launch_slot_: id  1 | task 42 | processing task
slot print_timing: id  2 | task 41 |
prompt eval time =     312.40 ms /   913 tokens (    0.34 ms per token,  2922.54 tokens per second)
       eval time =    2210.12 ms /   128 tokens (   17.27 ms per token,    57.92 tokens per second)
      total time =    2522.52 ms /  1041 tokens
draft acceptance rate = 0.71200 (   89 accepted /   125 generated)
slot      release: id  2 | task 41 | stop processing: n_tokens = 1041, truncated = 0
srv  log_server_r: request: POST /v1/chat/completions 10.0.0.7 200
srv  log_server_r: request: POST /v1/chat/completions 10.0.0.7 503
prompt eval time =     100.00 ms /    87 tokens (    1.15 ms per token,   870.00 tokens per second)
       eval time =    1000.00 ms /    50 tokens (   20.00 ms per token,    50.00 tokens per second)
      total time =    1100.00 ms /   137 tokens
slot      release: id  1 | task 42 | stop processing: n_tokens = 137, truncated = 0
srv  update_slots: all slots are idle
""".splitlines()
LLAMA_START = """llama_kv_cache: size = 1024.00 MiB (  8192 cells,  32 layers,  4/1 seqs), K (f16): 512.00 MiB, V (f16): 512.00 MiB
llama_kv_cache: size =  64.00 MiB (   512 cells,  32 layers,  4/1 seqs), K (f16):  32.00 MiB, V (f16):  32.00 MiB
main: server is listening on http://0.0.0.0:8080
""".splitlines()


def trtllm(step: int, rank: int = 0, form: str = "num_scheduled_requests: {running}, ") -> str:
    running = 60 + step
    newer = f"num_scheduled_requests = {running}, kv_cache_util = 0.42, " if "{" not in form else ""
    older = form.format(running=running) if not newer else ""
    return (
        f"[11/29/2026-10:02:{step:02d}] [TRT-LLM] [RANK {rank}] [I] iter = {811 + step}, global_rank = {rank}, "
        f"rank = {rank}, {newer}currank_total_requests = {running}/64, host_step_time = 21.40ms, "
        f"prev_device_step_time = 20.10ms, timestamp = 2026-11-29 10:02:{step:02d}, {older}"
        "states = {'num_ctx_requests': 1, 'num_ctx_tokens': 2048, 'num_generation_tokens': 60}"
    )


def last(capture: Capture) -> dict[str, float]:
    """The last value of each series, by canonical signal and part."""
    assert capture.series_of is not None
    assert capture.values is not None
    found: dict[str, float] = {}
    for index, value in zip(capture.series_of, capture.values, strict=True):
        for _, metric, part in registry.meanings(capture.series[index].name):
            found[metric.signal if part == "value" else f"{metric.signal} {part}"] = float(value)
    return found


def read(*lines: str) -> Capture:
    return read_log("x", [line + "\n" for line in lines])


@pytest.mark.parametrize(
    ("lines", "engine"),
    [
        ([tgi(11)], "tgi"),
        ([tgi_json(11)], "tgi"),
        ([f"[pod/llm-0/tgi] {tgi(11)}"], "tgi"),
        (LLAMA, "llama.cpp"),
        ([f"llama-1  | {line}" for line in LLAMA], "llama.cpp"),
        (LLAMA_START, "llama.cpp"),
        ([trtllm(1)], "tensorrt-llm"),
        ([f"2026-11-29T10:02:12.5Z stdout F {trtllm(1)}"], "tensorrt-llm"),
        (["[TensorRT-LLM][INFO] Number of tokens per block: 32."], "tensorrt-llm"),
        (
            ["I1129 10:02:11.123456 1 model_lifecycle.cc:849] \"successfully loaded 'tensorrt_llm'\""],
            "tensorrt-llm",
        ),
        (["slot machines are idle", "total time = 3 s", "Success"], None),
    ],
)
def test_the_engine_is_recognised(lines: list[str], engine: str | None) -> None:
    assert recognise(lines) == engine
    assert read(*lines).engine == engine


@pytest.mark.parametrize("form", [tgi, tgi_json])
def test_requests_of_tgi_are_summed_up(form: object) -> None:
    found = last(read(*(form(second) for second in (11, 12, 14))))  # type: ignore[operator]
    assert found["requests_finished"] == 3
    assert found["e2e sum"] == pytest.approx(3 * 2.318)
    assert found["queue_time sum"] == pytest.approx(3 * 310e-6)
    assert found["tokenize_time sum"] == pytest.approx(3 * 1.2e-3)
    assert found["tpot sum"] == pytest.approx(3 * 0.0181)
    assert found["inference_time count"] == 3


@pytest.mark.parametrize("written", ["310µs", "310μs", "310Âµs", "310us", "310\ufffds", "0.31ms", "310000ns"])
def test_microseconds_in_every_spelling(written: str) -> None:
    assert last(read(tgi(11, queue_time=written)))["queue_time sum"] == pytest.approx(310e-6)


def test_how_tgi_starts_and_refuses() -> None:
    at = "2026-11-29T10:01:{:02d}.000000Z  INFO text_generation_launcher: {}"
    start = (
        "Using attention flashinfer - Prefix caching true", "Sharding model on 2 processes",
        "Default `max_batch_prefill_tokens` to 4096", "Waiting for shard to be ready... rank=0",
        "Shard ready in 24.51s rank=0", "Shard ready in 25.01s rank=1",
        "Cuda Graphs are enabled for sizes [32, 16, 8, 4, 2, 1]", "Setting max batch total tokens to 412345",
    )  # fmt: skip
    lines = [at.format(i, text) for i, text in enumerate(start)]
    lines += [
        at.format(40, "x").replace("launcher: x", "router::server: router/src/server.rs:2402: Connected")
    ]
    lines += [at.format(50 + i, "Model is overloaded").replace("launcher", "router") for i in range(3)]
    capture = read(*lines)
    settings = {s.name: s.value for s in capture.settings}
    assert settings["kv_capacity_tokens"] == "412345"
    assert (settings["num_shard"], settings["max_batch_prefill_tokens"], settings["prefix_caching"]) == (
        "2",
        "4096",
        "true",
    )
    events = {e.kind: e for e in capture.events}
    assert events["stage"].fields == {"stage": "load-weights", "seconds": "25.01"}
    assert events["http-error"].fields == {"status": "429", "count": "3"}
    assert "ready" in events


def test_slots_and_timings_of_llama_cpp() -> None:
    capture = read(*LLAMA, *LLAMA_START)
    found = last(capture)
    assert capture.series_of is not None
    assert capture.values is not None
    running = [
        float(v)
        for i, v in zip(capture.series_of, capture.values, strict=True)
        if capture.series[i].name == "llamacpp:log:running"
    ]
    assert running == [1, 2, 1, 0, 0]
    assert found["prompt_tokens_computed"] == 1000
    assert found["generation_tokens"] == 178
    assert found["prefill_time sum"] == pytest.approx(0.4124)
    assert found["tpot sum"] == pytest.approx(2.21012 / 128 + 0.02)
    assert found["inference_time count"] == found["requests_finished"] == 2
    assert (found["spec_accepted_tokens"], found["spec_draft_tokens"]) == (89, 125)
    settings = {s.name: s.value for s in capture.settings}
    assert (settings["kv_capacity_tokens"], settings["total_slots"], settings["kv_memory_gib"]) == (
        "8192",
        "4",
        "1",
    )
    assert [(e.kind, e.fields.get("status")) for e in capture.events] == [
        ("ready", None),
        ("http-error", "503"),
    ]


def test_pools_of_several_streams_add_up() -> None:
    (line, *_) = LLAMA_START
    settings = {s.name: s.value for s in read(line.replace("4/1 seqs", "4/4 seqs")).settings}
    assert settings["kv_capacity_tokens"] == str(4 * 8192)


@pytest.mark.parametrize("form", ["num_scheduled_requests: {running}, ", "newer"])
def test_iterations_of_tensorrt_llm(form: str) -> None:
    """Of two ranks one counts; the sums over steps are those of its metrics."""
    capture = read(*(trtllm(step, rank, form) for step in (1, 2, 3) for rank in (0, 1)))
    found = last(capture)
    assert (found["running"], found["iterations"]) == (63, 814)
    assert (found["iteration_tokens sum"], found["iteration_tokens count"]) == (3 * 2108, 3)
    assert (found["prompt_tokens_computed"], found["generation_tokens"]) == (3 * 2048, 180)
    assert found.get("kv_usage") == (0.42 if form == "newer" else None)
    assert {s.name: s.value for s in capture.settings} == {"max_batch_size": "64"}
    assert capture.times is not None
    assert capture.times.min() == 1795946521.0


def test_the_pool_of_the_cpp_runtime() -> None:
    head = "[TensorRT-LLM][INFO] "
    capture = read(
        f"{head}Number of tokens per block: 32.",
        f"{head}[MemUsageChange] Allocated 45.20 GiB for max tokens in paged KV cache (370112).",
    )
    assert {s.name: s.value for s in capture.settings} == {
        "tokens_per_block": "32", "kv_memory_gib": "45.20", "kv_capacity_tokens": "370112",
    }  # fmt: skip


@pytest.mark.parametrize(
    "lines",
    [[tgi(s) for s in range(60)], [trtllm(s) for s in range(1, 60)], LLAMA],
    ids=["tgi", "trtllm", "llama.cpp"],
)
def test_a_log_alone_is_diagnosed_and_never_healthy(lines: list[str]) -> None:
    report = diagnose(["-"], stdin="\n".join(lines).encode()).report
    assert report.verdict.status == "insufficient-data"
    assert report.inputs[0].engine in {"tgi", "tensorrt-llm", "llama.cpp"}
