"""Every carrier leaves the same message, its identity and its time."""

import json

import pytest

from diagnostics.sources.logs.prefixes import Peeler
from diagnostics.sources.logs.reader import read_log, recognise
from diagnostics.sources.logs.times import Clock

INNER = (
    "INFO 11-29 10:02:11 [loggers.py:259] Engine 000: Avg prompt throughput: 812.4 tokens/s, "
    "Avg generation throughput: 301.7 tokens/s, Running: 41 reqs, Waiting: 12 reqs, "
    "GPU KV cache usage: 93.8%, Prefix cache hit rate: 41.2%"
)
OUTER = "2026-11-29T10:02:12.500000000Z"
OUTER_SECONDS = 1795946532.5
DOCKER = json.dumps({"log": INNER + "\n", "stream": "stderr", "time": OUTER})

CARRIERS = {
    "plain": (INNER, {}, None),
    "docker": (DOCKER, {}, OUTER_SECONDS),
    "cri": (f"{OUTER} stderr F {INNER}", {}, OUTER_SECONDS),
    "kubectl-timestamps": (f"{OUTER} {INNER}", {}, OUTER_SECONDS),
    "kubectl-prefix": (f"[pod/llm-0/vllm] {INNER}", {"pod": "llm-0", "container": "vllm"}, None),
    "kubectl-both": (
        f"[pod/llm-0/vllm] {OUTER} {INNER}",
        {"pod": "llm-0", "container": "vllm"},
        OUTER_SECONDS,
    ),
    "stern": (f"llm-0 vllm {INNER}", {"pod": "llm-0", "container": "vllm"}, None),
    "stern-decorated": (f"llm-0 vllm (APIServer pid=1) {INNER}", {"pod": "llm-0", "container": "vllm"}, None),
    "compose": (f"vllm-1  | {INNER}", {"service": "vllm-1"}, None),
    "compose-coloured": (f"\x1b[36mvllm-1  | \x1b[0m{INNER}", {"service": "vllm-1"}, None),
    "journald": (
        f"Nov 29 10:02:11 gpu1 docker[811]: {INNER}",
        {"host": "gpu1", "service": "docker"},
        1795946531.0,
    ),
    "journald-iso": (
        f"2026-11-29T10:02:12+0000 gpu1 vllm[811]: {INNER}",
        {"host": "gpu1", "service": "vllm"},
        1795946532.0,
    ),
    "ray": (
        f"(ServeReplica:llm:vLLM pid=4410, ip=10.0.0.7) {INNER}",
        {"service": "llm:vLLM", "host": "10.0.0.7"},
        None,
    ),
    "ray-repeated": (f"(RayWorkerWrapper pid=4410) {INNER} [repeated 3x across cluster]", {}, None),
    "process": (f"(APIServer pid=1) {INNER}", {}, None),
    "coloured": (f"\x1b[1;36m(APIServer pid=1)\x1b[0;0m {INNER}", {}, None),
    "colour-without-escape": (f"[1;36m(APIServer pid=1)[0;0m {INNER}", {}, None),
    "colour-as-text": (f"\\u001b[1;36m(APIServer pid=1)\\u001b[0;0m {INNER}", {}, None),
    "progress": (f"Loading: 50%|##   | 1/2\rLoading: 100%|####| 2/2\r{INNER}", {}, None),
    "glued-to-progress": (f"Capturing CUDA graph shapes: 100%|###| 67/67 [00:21<00:00]{INNER}", {}, None),
    "loki-record": (
        json.dumps({"line": INNER, "timestamp": str(int(OUTER_SECONDS * 1e9)), "labels": {"pod": "llm-0"}}),
        {"pod": "llm-0"},
        OUTER_SECONDS,
    ),
    "fluent-bit": (
        json.dumps({"date": OUTER_SECONDS, "log": INNER, "kubernetes": {"pod_name": "llm-0", "host": "n1"}}),
        {"pod": "llm-0", "host": "n1"},
        OUTER_SECONDS,
    ),
    "logcli": (f'{OUTER} {{app="x", pod="llm-0"}} {INNER}', {"pod": "llm-0"}, OUTER_SECONDS),
    "engine-json": (
        json.dumps(
            {"asctime": "2026-11-29 10:02:11,000", "message": INNER.split("] ", 1)[1], "levelname": "INFO"}
        ),
        {},
        1795946531.0,
    ),
    "zero-bytes": ("\x00\x00\x00" + INNER, {}, None),
}


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_carrier_is_peeled_off(carrier, end):
    raw, identity, outer = CARRIERS[carrier]
    capture = read_log("x", [raw + end], year=2026)
    values = {
        series.name: capture.values[capture.series_of == index][0]
        for index, series in enumerate(capture.series)
    }
    assert values["vllm:log:running"] == 41
    assert values["vllm:log:waiting"] == 12
    assert values["vllm:log:kv_usage"] == 93.8
    assert values["vllm:log:prefix_hit_rate"] == 41.2
    assert all(series.labels == {**identity, "engine": "0"} for series in capture.series)
    assert set(capture.times) == {outer or 1795946531.0}
    assert recognise([raw + end]) == "vllm"


def test_cri_parts_are_joined():
    lines = [
        f"{OUTER} stderr P {INNER[:100]}\n",
        f"{OUTER} stdout F INFO: hello\n",
        f"{OUTER} stderr F {INNER[100:]}\n",
    ]
    messages = [line.text for line in Peeler(Clock()).peel_all(lines)]
    assert messages == ["INFO: hello", INNER]


def test_docker_parts_are_joined():
    long = INNER + "x" * 17_000
    lines = [
        json.dumps({"log": part, "stream": "stderr", "time": OUTER}) + "\n"
        for part in (long[:16_384], long[16_384:] + "\n")
    ]
    assert [line.text for line in Peeler(Clock()).peel_all(lines)] == [long]


def test_a_cut_docker_line_still_gives_its_message():
    capture = read_log("x", [DOCKER[: DOCKER.index("Prefix cache")]], year=2026)
    assert "vllm:log:kv_usage" in {series.name for series in capture.series}


def test_stern_keeps_stripping_lines_that_do_not_look_like_log_lines():
    lines = [f"llm-0 vllm {INNER}", "llm-0 vllm RuntimeError: NCCL error: unhandled system error"]
    assert [line.text for line in Peeler(Clock()).peel_all(lines)][1].startswith("RuntimeError")


def test_text_that_looks_like_a_colour_code_is_kept_where_it_is_a_range():
    assert next(Peeler(Clock()).peel_all(["rate(x[5m])"])).text == "rate(x[5m])"
