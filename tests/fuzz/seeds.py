"""Sound inputs of every grammar, to be damaged: what the tests have at hand, and short texts of the rest."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from support.carriers import dump, openmetrics, query_range
from support.vllm import vllm

_HERE = Path(__file__).with_name("corpus")
_TESTS = Path(__file__).parents[1]
_SAMPLES = _TESTS.parent / "sample_data"
_BENCH = _TESTS / "sources" / "bench" / "samples"
_LARGEST_BENCH = 60_000
_HEAD = 20_000
_TIME = "2026-11-29T10:02:12.500000000Z"
_PREFIXES = (
    "",
    f"{_TIME} stderr F ",
    f"{_TIME} ",
    "[pod/llm-0/vllm] ",
    f"[pod/llm-0/vllm] {_TIME} ",
    "llm-0 vllm ",
    "\x1b[36mvllm-1  | \x1b[0m",
    "Nov 29 10:02:11 gpu1 docker[811]: ",
    "2026-11-29T10:02:12+0000 gpu1 vllm[811]: ",
    "(ServeReplica:llm:vLLM pid=4410, ip=10.0.0.7) ",
    "(EngineCore_DP0 pid=1) ",
    f'{_TIME} {{app="x", pod="llm-0"}} ',
)


def _text(name: str) -> str:
    return (_HERE / name).read_text("utf-8")


def _prefixed() -> list[str]:
    """The same lines under every prefix and in every record that a carrier puts around them."""
    lines = _text("vllm_status.log").splitlines()
    texts = ["".join(f"{prefix}{line}\n" for line in lines) for prefix in _PREFIXES]
    records = (
        [{"log": line + "\n", "stream": "stderr", "time": _TIME} for line in lines],
        [{"line": line, "timestamp": "1795946532500000000", "labels": {"pod": "llm-0"}} for line in lines],
        [
            {"asctime": "2026-11-29 10:02:11", "message": x.split("] ", 1)[1], "levelname": "INFO"}
            for x in lines
        ],
    )
    texts += ["".join(json.dumps(entry) + "\n" for entry in entries) for entries in records]
    return [*texts, json.dumps([{"line": line, "timestamp": 1795946532.5} for line in lines])]


@cache
def corpus() -> dict[str, tuple[bytes, ...]]:
    """Sound inputs by grammar."""
    recording = vllm(12, running=[*range(12)], waiting=3.0)
    bench = sorted(p for p in _BENCH.rglob("*") if p.is_file() and p.stat().st_size <= _LARGEST_BENCH)
    sglang, paste, commands = _text("sglang_metrics.txt"), _text("paste.md"), _text("commands.txt")
    engine_log = (_SAMPLES / "concurrency-cap" / "engine.log").read_text("utf-8")[:_HEAD]
    metrics = (_TESTS / "sources" / "captures" / "metrics.txt").read_text("utf-8")
    texts = {
        "dump": [metrics, dump(recording, 3), sglang],
        "openmetrics": [openmetrics(recording), sglang.replace("\n", " 1795946531.25\n")],
        "query-range": [query_range(recording)],
        "log": [engine_log, _text("vllm_start.log"), _text("sglang.log"), _text("other_engines.log")],
        "prefixed-log": _prefixed(),
        "manifest": [_text("deployment.yaml"), _text("compose.yaml"), _text("helm.yaml")],
        "command": [commands, *commands.splitlines()],
        "answer": _text("answers.jsonl").splitlines(),
        "bench": [p.read_text("utf-8", "replace") for p in bench],
        "paste": [paste, paste + _text("deployment.yaml"), paste + sglang],
    }
    found = {name: tuple(text.encode() for text in members) for name, members in texts.items()}
    found["compressed"] = tuple(
        gzip.compress(found[name][0][:_HEAD], mtime=0) for name in ("dump", "log", "bench")
    )
    return found


@cache
def configuration() -> bytes:
    """A team's TOML file, whose outcome is a configuration and no capture."""
    return _text("team.toml").encode()
