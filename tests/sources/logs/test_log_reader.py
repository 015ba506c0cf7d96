"""What counts as a log, how replicas stay apart, and what is passed over."""

import random

import numpy as np
import pytest

from diagnostics.sources.logs.reader import read_log, recognise

STATS = (
    "(APIServer pid=101) INFO 04-28 22:54:42 [loggers.py:257] Engine 000: Avg prompt "
    "throughput: 0.0 tokens/s, "
    "Avg generation throughput: 5.4 tokens/s, Running: 1 reqs, Waiting: 14 reqs, GPU KV cache usage: 76.7%, "
    "Prefix cache hit rate: 92.0%"
)
ACCESS = '(APIServer pid=101) INFO:     127.0.0.1:50001 - "{} HTTP/1.1" {}'

NO_LOGS = {
    "exposition": [
        "# TYPE vllm:num_requests_running gauge",
        'vllm:num_requests_running{engine="0",model_name="m"} 72.0',
        'sglang:token_usage{engine_type="unified"} 0.0',
    ],
    "bench": [
        "============ Serving Benchmark Result ============",
        "Successful requests:                     512",
        "Request throughput (req/s):              0.45",
        "INFO 07-20 23:32:32 [datasets.py:348] Sampling input_len from [31, 31] and output_len from [1, 1]",
    ],
    "command": ["$ vllm serve m --max-num-seqs 64", "python -m sglang.launch_server --model-path m"],
    "prose": [
        "Running: the server is Running: and Waiting: for more. We saw Decode batch lines and args: {}.",
        "The KV cache size: was unclear, throughput: low. Maximum concurrency for users is unknown.",
        "engine: vllm",
    ],
    "access": ['INFO:     127.0.0.1:50001 - "GET /metrics HTTP/1.1" 200 OK'],
    "other engine": ["slot update_slots: id  0 | task 10 | kv cache rm [0, end)"],
    "json": ['{"completed": 512, "duration": 1.0}', '{"message": "hello", "time": 1}'],
    "nothing": [],
    "garbage": ["\x00\x01\x02\ufffd", "", "   ", "{", "[", "(pid=", "{{{{[[[["],
}


@pytest.mark.parametrize("kind", NO_LOGS)
def test_what_is_not_a_log(kind):
    assert recognise(NO_LOGS[kind]) is None
    capture = read_log("x", NO_LOGS[kind])
    assert capture.engine is None
    assert not capture.series
    assert not capture.events


def test_one_line_among_others_is_enough():
    assert recognise(["$ vllm serve m", *NO_LOGS["prose"], STATS]) == "vllm"


def test_a_decorated_access_line_shows_the_engine():
    line = ACCESS.format("POST /v1/chat/completions", "200 OK")
    assert recognise([line]) == "vllm"
    assert read_log("x", [line]).engine == "vllm"


def test_access_noise_is_counted_and_failures_are_told():
    lines = [ACCESS.format("GET /metrics", "200 OK")] * 50
    lines += [STATS]
    lines += [ACCESS.format("POST /v1/chat/completions", "400 Bad Request")] * 3
    lines += [ACCESS.format("GET /health", "503 Service Unavailable")]
    capture = read_log("x", [line + "\n" for line in lines])
    assert capture.unused["access-log lines"] == 54
    assert [(e.kind, e.fields) for e in capture.events] == [
        ("http-error", {"status": "400", "count": "3"}),
        ("http-error", {"status": "503", "count": "1"}),
    ]
    assert "54 access-log lines" in capture.recognised
    assert "1 statistics line" in capture.recognised


def test_escaped_access_lines_in_a_container_log_are_passed_over_too():
    line = (
        '{"log":"INFO:     10.0.0.1:5 - \\"GET /metrics HTTP/1.1\\" 200 OK\\n","stream":"stdout","time":"x"}'
    )
    assert read_log("x", [line] * 30).unused == {"access-log lines": 30}


def test_replicas_are_told_apart_by_their_prefix():
    lines = []
    for second in range(3):
        for pod, running in (("llm-0", 1), ("llm-1", 9)):
            line = STATS.replace("22:54:42", f"22:54:4{second}").replace("Running: 1", f"Running: {running}")
            lines.append(f"[pod/{pod}/vllm] {line}\n")
    capture = read_log("x", lines)
    running = {
        series.labels["pod"]: capture.values[capture.series_of == index].tolist()
        for index, series in enumerate(capture.series)
        if series.name == "vllm:log:running"
    }
    assert running == {"llm-0": [1, 1, 1], "llm-1": [9, 9, 9]}


def test_process_numbers_are_no_identity():
    capture = read_log("x", [STATS, STATS.replace("pid=101", "pid=202")])
    assert len(capture.series) == 6
    assert "101" not in str(capture.series)


def test_starts_of_several_pods_are_told_apart():
    line = "INFO 11-29 10:02:10 [api_server.py:495] vLLM API server version 0.20.2"
    capture = read_log("x", [f"[pod/llm-{pod}/vllm] {line}\n" for pod in (0, 1, 0)])
    assert [event.labels["pod"] for event in capture.events] == ["llm-0", "llm-1", "llm-0"]


def test_a_first_line_without_its_time_is_dropped_with_a_warning():
    capture = read_log("x", [STATS[30:] + "\n", STATS + "\n"])
    assert len(capture.values) == 6
    assert "the first line is cut" in capture.warnings
    assert any("without a time" in warning for warning in capture.warnings)


@pytest.mark.parametrize("end", range(60, len(STATS)))
def test_a_line_cut_anywhere_gives_no_wrong_number(end):
    capture = read_log("x", [STATS + "\n", STATS[:end]])
    assert not np.isnan(capture.times).any()
    for index in range(len(capture.series)):
        assert len(set(capture.values[capture.series_of == index])) == 1


def test_a_last_line_without_a_line_end_may_be_whole():
    capture = read_log("x", [STATS + "\n", STATS])
    assert len(capture.values) == 12
    assert not capture.warnings


def test_two_engines_in_one_log_are_both_read():
    decode = "[2026-07-06 19:00:00] Decode batch, #running-req: 15, token usage: 0.10, #queue-req: 1"
    capture = read_log("x", [f"vllm-1  | {STATS}\n", f"sglang-1  | {decode}\n", f"sglang-1  | {decode}\n"])
    assert capture.engine == "sglang"
    assert {series.labels["service"] for series in capture.series} == {"vllm-1", "sglang-1"}
    assert any("several engines" in warning for warning in capture.warnings)


def test_events_are_bounded():
    line = "[2026-11-29 10:02:14] Decode out of memory happened. #retracted_reqs: 2, #new\n"
    capture = read_log("x", (line for _ in range(2500)))
    assert len(capture.events) == 2000
    assert len(capture.values) == 2500
    assert any("2500 retraction" in warning for warning in capture.warnings)


def test_noise_of_any_shape_does_no_harm():
    dice = random.Random(7)
    pool = [
        STATS,
        ACCESS,
        '{"log":"x',
        "[pod/a/b] ",
        "2026-11-29T10:02:12Z stderr P ",
        "args: Namespace(((",
        "'\"\\\x00\r",
    ]
    lines = []
    for _ in range(2000):
        text = dice.choice(pool) + dice.choice(pool)
        start = dice.randrange(len(text))
        lines.append(text[start : start + dice.randrange(1, 300)] + dice.choice(["\n", "\r\n", ""]))
    capture = read_log("x", lines)
    assert capture.series_of is not None
    assert len(capture.series_of) == len(capture.times) == len(capture.values)
