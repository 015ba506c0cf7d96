"""What to collect next where the evidence is thin: for the engine at hand, in the user's own names and ports."""

from __future__ import annotations

import pytest

from diagnostics import diagnose
from diagnostics.sources.config.command import read_command

VLLM = (
    "INFO 11-29 10:02:{:02d} [loggers.py:259] Engine 000: Avg prompt throughput: 8.4 tokens/s, Avg generation throughput: "
    "3.7 tokens/s, Running: 4 reqs, Waiting: 1 reqs, GPU KV cache usage: 9.8%"
)
SGLANG = (
    "[2026-11-29 10:02:{:02d}] Decode batch. #running-req: 8, #token: 6, token usage: 0.12, gen throughput "
    "(token/s): 1.64, #queue-req: 3"
)
LLAMA = "slot launch_slot_: id  {:d} | task 41 | processing task"
TRTLLM = "[11/29/2026-10:02:{:02d}] [TRT-LLM] [I] iter = 8, currank_total_requests = 6/64, num_scheduled_requests: 6, states = {{}}"
PORT = "$ vllm serve org/m --port 8123\n"
REFUSED = (
    "ERROR 11-29 10:02:11 [core.py:1] ValueError: No available memory for the cache blocks. Try increasing it"
)
LOOP = "for i in 1 2 3 4 5 6; do curl -s {} > metrics_$i.txt; sleep 30; done; diagnose metrics_*.txt --interval 30s"
BESIDE = "diagnose - metrics_*.txt --interval 30s"


def _next(text: str) -> list[str]:
    return list(diagnose(["-"], stdin=text.encode()).report.collect_next)


def _log(line: str, prefix: str = "") -> str:
    return "".join(f"{prefix}{line.format(second)}\n" for second in range(3))


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        (
            _log(VLLM),
            [LOOP.format("http://localhost:8000/metrics"), f"pgrep -af 'vllm serve|api_server' | cut -d' ' -f2- | {BESIDE}"],
        ),
        (PORT + _log(VLLM), [LOOP.format("http://localhost:8123/metrics")]),
        (
            _log(VLLM, "[pod/llm-0/vllm] "),
            [
                "kubectl port-forward llm-0 8000 & sleep 3; " + LOOP.format("http://localhost:8000/metrics"),
                f"kubectl get pod llm-0 -o yaml | {BESIDE}",
                "kubectl logs llm-0 --since=30m | diagnose -",
            ],
        ),
        (
            _log(VLLM, "llm-1  | "),
            [LOOP.format("http://localhost:8000/metrics"), f"pgrep -af 'vllm serve|api_server' | cut -d' ' -f2- | {BESIDE}"],
        ),
        (
            _log(SGLANG),
            [
                LOOP.format("http://localhost:30000/metrics") + " # needs --enable-metrics on the server",
                f"curl -s http://localhost:30000/server_info | {BESIDE}",
            ],
        ),
        (
            _log(LLAMA),
            [
                LOOP.format("http://localhost:8080/metrics") + " # needs --metrics on the server",
                f"curl -s http://localhost:8080/props | {BESIDE}",
            ],
        ),
        (
            _log(TRTLLM),
            [
                LOOP.format("http://localhost:8000/prometheus/metrics"),
                f"pgrep -af 'trtllm-serve' | cut -d' ' -f2- | {BESIDE}",
            ],
        ),
        (
            'tgi_queue_size{instance="10.0.0.7:3000"} 4\n',
            [LOOP.format("http://10.0.0.7:3000/metrics"), f"curl -s http://10.0.0.7:3000/info | {BESIDE}"],
        ),
        (REFUSED + "\n", []),
        (
            f"[pod/llm-0/vllm] {REFUSED}\n",
            ["kubectl get pod llm-0 -o yaml | diagnose -", "kubectl logs llm-0 --previous | diagnose -"],
        ),
    ],
    ids=["vllm", "port", "pod", "compose", "sglang", "llama.cpp", "trtllm", "tgi", "refused", "refused in a pod"],
)  # fmt: skip
def test_commands_are_those_of_the_engine_in_the_users_names(text: str, commands: list[str]) -> None:
    assert _next(text) == commands


def test_a_namespace_is_kept() -> None:
    commands = _next('vllm:num_requests_running{pod="llm-0",namespace="prod"} 4\n')
    assert commands[0].startswith("kubectl port-forward -n prod llm-0 8000 & ")
    assert commands[1].startswith("kubectl get pod -n prod llm-0 -o yaml")


def test_names_that_a_shell_would_take_apart_are_quoted() -> None:
    for command in _next('vllm:num_requests_running{pod="a; rm -rf x"} 4\n'):
        assert "'a; rm -rf x'" in command or "rm -rf" not in command


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/python3 /usr/local/bin/vllm serve org/m --max-num-seqs 8",
        "python3 -m vllm.entrypoints.openai.api_server --model org/m --max-num-seqs 8",
    ],
)
def test_what_the_suggested_command_prints_is_read(line: str) -> None:
    settings = {s.name: s.value for s in read_command(line, "x").settings}
    assert settings["max_num_seqs"] == "8"
