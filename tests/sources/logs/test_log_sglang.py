"""SGLang: batch lines of every era, ranks, retractions and the start."""

import pytest

from diagnostics.sources.logs.reader import read_log, recognise


def read(*lines):
    return read_log("x", [line + "\n" for line in lines])


def values(capture, name):
    return {
        capture.series[index].labels.get("engine", ""): float(value)
        for index, value in zip(capture.series_of, capture.values, strict=True)
        if capture.series[index].name == f"sglang:log:{name}"
    }


DECODE = {
    "0.4": (
        "[2025-02-27 04:46:39 TP0] Decode batch. #running-req: 8, #token: 62531, token usage: 0.12, "
        "gen throughput (token/s): 186.64, #queue-req: 3",
        {"running": 8, "kv_usage": 0.12, "generation_throughput": 186.64, "waiting": 3},
    ),
    "0.4.3": (
        "[2025-03-14 02:16:14 TP0] Decode batch. #running-req: 509, #token: 180776, token usage: 0.43, "
        "gen throughput (token/s): 7897.87, largest-len: 0, #queue-req: 0,",
        {"running": 509, "kv_usage": 0.43, "generation_throughput": 7897.87, "waiting": 0},
    ),
    "0.5.4": (
        "[2026-11-29 10:02:11.123] Decode batch [8123], #running-req: 61, #token: 81234, token usage: 0.42, "
        "accept len: 2.91, accept rate: 0.64, cuda graph: True, gen throughput (token/s): "
        "2410.55, #queue-req: 0",
        {"running": 61, "spec_accept_length": 2.91, "spec_accept_rate": 0.64, "cuda_graph": 1},
    ),
    "hybrid": (
        "[2026-07-04 05:01:33 TP0] Decode batch, #running-req: 40, #full token: 350592, full "
        "token usage: 0.74, "
        "mamba num: 160, mamba usage: 0.80, accept len: 3.13, npu graph: False, "
        "gen throughput (token/s): 155.34, #queue-req: 0",
        {"kv_usage": 0.74, "kv_usage_mamba": 0.80, "cuda_graph": 0, "waiting": 0},
    ),
    "sliding-window": (
        "[2026-07-04 05:01:33 TP0] Decode batch, #running-req: 40, #full token: 81234, full "
        "token usage: 0.42, "
        "#swa token: 40110, swa token usage: 0.31, cuda graph: True, gen throughput "
        "(token/s): 1.0, #queue-req: 0",
        {"kv_usage": 0.42, "kv_usage_swa": 0.31},
    ),
    "prefill": (
        "[2026-07-04 05:01:20 TP0] Prefill batch, #new-seq: 1, #new-token: 128, #cached-token: 70016, "
        "token usage: 0.28, #running-req: 1, #queue-req: 2, #pending-token: 0, cuda graph: False, "
        "input throughput (token/s): 16.23",
        {
            "new_tokens": 128,
            "cached_tokens": 70016,
            "prompt_throughput": 16.23,
            "waiting": 2,
            "kv_usage": 0.28,
        },
    ),
    "old-prefill": (
        "[2025-01-04 05:01:20] Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 512, "
        "cache hit rate: 11.11%, token usage: 0.21, #running-req: 40, #queue-req: 7",
        {"new_tokens": 4096, "cached_tokens": 512, "kv_usage": 0.21, "running": 40, "waiting": 7},
    ),
}


@pytest.mark.parametrize("era", DECODE)
def test_batch_lines(era):
    line, expected = DECODE[era]
    capture = read(line)
    assert {name: values(capture, name)[""] for name in expected} == expected
    assert capture.engine == "sglang"
    assert recognise([line]) == "sglang"


def batch(ranks, running):
    head = f"[2026-07-06 19:00:00 {ranks}] Decode batch"
    return f"{head}, #running-req: {running}, token usage: 0.10, #queue-req: 1,"


def test_every_data_parallel_rank_is_an_engine_of_its_own():
    capture = read(*(batch(f"DP{rank} TP{rank} EP0", 10 + rank) for rank in range(3)))
    assert values(capture, "running") == {"0": 10, "1": 11, "2": 12}


def test_of_tensor_parallel_ranks_only_the_first_counts():
    capture = read(batch("TP1", 99), batch("TP0", 15), batch("TP1", 99), batch("TP2", 99))
    assert values(capture, "running") == {"": 15}
    assert len(capture.values) == 3


def test_a_retraction_counts_once_for_all_tensor_parallel_ranks():
    line = (
        "[2026-11-29 10:02:14 {}] KV cache pool is full. Retract requests. #retracted_reqs: 3, "
        "#new_tokens_gained: 4120, #new_token_ratio: 0.5812 -> 0.9301"
    )
    capture = read(*(line.format(f"TP{rank}") for rank in (1, 0, 2, 3)), batch("TP0", 15))
    assert [(event.kind, event.fields) for event in capture.events] == [("retraction", {"count": "3"})]
    assert values(capture, "retracted") == {"": 3}


def test_the_older_word_for_a_retraction():
    capture = read(
        "[2025-03-29 10:02:14] Decode out of memory happened. #retracted_reqs: 2, "
        "#new_token_ratio: 0.5812 -> 0.9301"
    )
    assert capture.events[0].fields == {"count": "2"}


def test_start_up():
    capture = read(
        "[2026-11-29 10:00:00] server_args=ServerArgs(model_path='m', tokenizer_mode='auto', api_key='sk', "
        "max_running_requests=None, tp_size=2, dp_size=1, disable_radix_cache=False, "
        "speculative_algorithm='EAGLE', "
        "speculative_num_steps=3, cuda_graph_bs=[1, 2, 4], chunked_prefill_size=4096)",
        "[2026-11-29 10:00:10 TP0] Load weight begin. avail mem=78.50 GB",
        "[2026-11-29 10:00:24 TP0] Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, "
        "avail mem=63.21 GB, mem usage=15.29 GB.",
        "[2026-11-29 10:00:25 TP1] Load weight end. elapsed=14.20 s, type=L, mem usage=15.31 GB.",
        "[2026-11-29 10:00:26 TP0] KV Cache is allocated. #tokens: 412345, K size: 25.17 GB, "
        "V size: 25.17 GB",
        "[2026-11-29 10:00:46 TP0] Capture cuda graph end. Time elapsed: 18.44 s. mem usage=1.51 GB. "
        "avail mem=11.19 GB.",
        "[2026-11-29 10:00:47 TP0] max_total_num_tokens=412345, chunked_prefill_size=8192, "
        "max_prefill_tokens=16384, max_running_requests=2048, context_len=32768, available_gpu_mem=11.19 GB",
        "[2026-11-29 10:00:48] INFO:     Application startup complete.",
        "[2026-11-29 10:00:50] The server is fired up and ready to roll!",
        batch("TP0", 1),
    )
    found = {setting.name: setting.value for setting in capture.settings}
    expected = {
        "max_running_requests": "2048",
        "kv_capacity_tokens": "412345",
        "chunked_prefill_size": "8192",
        "max_prefill_tokens": "16384",
        "context_len": "32768",
        "tp_size": "2",
        "disable_radix_cache": "False",
        "speculative_algorithm": "EAGLE",
        "speculative_num_steps": "3",
        "weights_gib": "15.29",
        "kv_memory_gib": "50.34",
        "graph_memory_gib": "1.51",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "api_key" not in found
    stages = {e.fields["stage"]: e.fields["seconds"] for e in capture.events if e.kind == "stage"}
    assert stages == {"load-weights": "14.2", "graph-capture": "18.44"}
    assert [e.kind for e in capture.events if e.kind != "stage"] == ["startup", "ready"]


def test_a_short_capacity_line():
    capture = read("[2026-09-14 10:00:00 TP0] max_running_requests=8, max_mamba_cache_size=40")
    assert [(s.name, s.value) for s in capture.settings] == [
        ("max_running_requests", "8"),
        ("max_mamba_cache_size", "40"),
    ]


def test_a_server_that_finds_no_room_for_its_cache():
    line = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static."
    assert read(line).events[0].kind == "kv-refused"


def test_the_last_number_of_a_cut_line_is_not_taken():
    whole = batch("TP0", 15)
    capture = read_log("x", [whole + "\n", whole[: whole.index("#queue-req: 1") + len("#queue-req: 1")]])
    names = [capture.series[index].name for index in capture.series_of]
    assert names.count("sglang:log:running") == 2
    assert names.count("sglang:log:waiting") == 1
    assert any("cut" in warning for warning in capture.warnings)


def test_a_long_run_of_ranks_is_read_in_no_time():
    assert recognise(["TP1" * 5000 + " Decode batch, x"]) is None
