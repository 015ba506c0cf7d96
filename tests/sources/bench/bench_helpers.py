"""Paths and short-cuts for the tests of the benchmark readers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from diagnostics.model.bench import BenchRun
from diagnostics.sources.bench import reader

SAMPLES = Path(__file__).parent / "samples"


def runs_of(name: str) -> list[BenchRun]:
    data = (SAMPLES / name).read_bytes()
    found = reader.recognise(data, name)
    assert found is not None, name
    return reader.read(name, data, found)


def runs_in(data: Any, name: str = "result.json", *, expect: str | None = None) -> list[BenchRun]:
    text = data if isinstance(data, str) else json.dumps(data)
    found = reader.recognise(text, name)
    assert found is not None
    if expect is not None:
        assert found == expect
    return reader.read(name, text, found)


VLLM: dict[str, Any] = {
    "date": "20260101-120000",
    "backend": "vllm",
    "endpoint_type": "vllm",
    "model_id": "org/model-FP8",
    "num_prompts": 4,
    "request_rate": "inf",
    "burstiness": 1.0,
    "max_concurrency": 2,
    "duration": 4.0,
    "completed": 4,
    "failed": 0,
    "total_input_tokens": 400,
    "total_output_tokens": 40,
    "request_throughput": 1.0,
    "output_throughput": 10.0,
    "total_token_throughput": 110.0,
    "mean_ttft_ms": 200.0,
    "median_ttft_ms": 190.0,
    "p99_ttft_ms": 300.0,
    "mean_tpot_ms": 180.0,
    "median_tpot_ms": 180.0,
    "p99_tpot_ms": 190.0,
    "mean_itl_ms": 180.0,
}
