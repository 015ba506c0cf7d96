"""Speeds side by side in one run, as ratios and medians: what `make bench` prints.

Nothing here is a test: no check depends on how fast a machine is.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import sources
from prometheus_api_client import MetricRangeDataFrame

from diagnostics.sources.query_range import read_answer
from diagnostics.store.database import open_store
from diagnostics.store.writer import write_capture

SERIES, SAMPLES, RUNS = 2000, 400, 5


def answer() -> bytes:
    """A query_range answer of more than 20 MB: counters of many replicas."""
    rng = np.random.default_rng(7)
    result = []
    for i in range(SERIES):
        values = np.cumsum(rng.random(SAMPLES) * 50)
        # The labels that a Kubernetes service monitor gives every series.
        labels = {
            "__name__": "vllm:generation_tokens_total",
            "container": "vllm",
            "endpoint": "http",
            "engine": "0",
            "instance": f"10.0.{i // 250}.{i % 250}:8000",
            "job": "llm",
            "model_name": "meta-llama/Llama-3.1-8B-Instruct",
            "namespace": "serving",
            "pod": f"llm-7d9c5b6f4-{i:05d}",
            "service": "llm",
        }
        result.append(
            {
                "metric": labels,
                "values": [[1.8e9 + 15 * j, f"{v:.6f}"] for j, v in enumerate(values.tolist())],
            }
        )
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, float]]


class _Data(msgspec.Struct):
    result: list[_Series]


class _Answer(msgspec.Struct):
    data: _Data


def median(work: Callable[[], object], runs: int = RUNS) -> float:
    """Median seconds of several runs after one warm-up."""
    work()
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def ingest(raw: bytes) -> None:
    """What the product does: decode, then write into DuckDB with increments."""
    db = open_store()
    write_capture(db, read_answer("bench", raw), timed=True)
    db.close()


def command(*arguments: str, runs: int = 20) -> str:
    """Median wall seconds and peak memory of a whole process."""
    walls, peak = [], 0
    for _ in range(runs + 1):
        start = time.perf_counter()
        run = subprocess.run(
            ["/usr/bin/time", "-f", "%M", sys.executable, "-m", "diagnostics", *arguments, "--format", "json"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        walls.append(time.perf_counter() - start)
        peak = max(peak, int(run.stderr.strip().splitlines()[-1]))
    return f"{statistics.median(walls[1:]):.2f} s (median of {runs}), {peak / 1024:.0f} MiB"


def dump(label_sets: int) -> str:
    """A large dump: the families of a real scrape, repeated for many label sets."""
    base = Path(__file__).parents[1] / "sources" / "captures" / "metrics.txt"
    lines = [line for line in base.read_text("utf-8").splitlines() if line and not line.startswith("#")]
    return "\n".join(
        line.replace('engine="0"', f'engine="0",pod="llm-{i}"') for i in range(label_sets) for line in lines
    )


def results(folder: Path, files: int = 1000) -> None:
    """Many small result files of one tool, as a public leaderboard holds them."""
    folder.mkdir()
    for i in range(files):
        rate, n = float(i % 50 + 1), 300
        value = {
            "date": "20260101-000000", "backend": "vllm", "model_id": f"m{i // 50}", "num_prompts": n, "request_rate": rate,
            "burstiness": 1.0, "max_concurrency": None, "duration": n / rate, "completed": n, "failed": 0,
            "total_input_tokens": 127_501, "total_output_tokens": 33_001, "request_throughput": rate,
            "output_throughput": 110 * rate, "total_token_throughput": 535 * rate, "max_concurrent_requests": 9,
            "mean_ttft_ms": 100 + i, "median_ttft_ms": 100 + i, "p99_ttft_ms": 200 + i, "mean_e2el_ms": 1000.0,
        }  # fmt: skip
        (folder / f"{i}.json").write_text(json.dumps(value), "utf-8")


def detailed(file: Path, requests: int = 20_000) -> None:
    """One result with the gaps of every token: about 200 MB."""
    outputs = [100 + i % 700 for i in range(requests)]
    lists = {
        "input_lens": outputs, "output_lens": outputs, "ttfts": [0.1] * requests, "errors": [""] * requests,
        "start_times": [0.02 * i for i in range(requests)],
        "itls": [[0.0123456789012345 + 1e-9 * i] * (n - 1) for i, n in enumerate(outputs)],
    }  # fmt: skip
    total = sum(outputs)
    head = {
        "date": "20260101-000000", "backend": "vllm", "model_id": "m", "num_prompts": requests, "request_rate": 50.0,
        "max_concurrency": None, "duration": 400.0, "completed": requests, "failed": 0, "total_input_tokens": total,
        "total_output_tokens": total, "request_throughput": 50.0, "output_throughput": total / 400,
        "total_token_throughput": total / 200, "mean_ttft_ms": 100.0,
    }  # fmt: skip
    file.write_text(json.dumps(head | lists), "utf-8")


def main() -> None:
    """Print everything."""
    raw = answer()
    decoder = msgspec.json.Decoder(_Answer, strict=False)
    ours = median(lambda: ingest(raw))
    decode = median(lambda: decoder.decode(raw))
    frame = median(lambda: MetricRangeDataFrame(json.loads(raw)["data"]["result"]), 2)
    print(f"query_range of {len(raw) / 1e6:.1f} MB ({SERIES * SAMPLES:,} samples) into DuckDB: {ours:.2f} s")
    print(
        f"  MetricRangeDataFrame on the same bytes: {frame:.2f} s, {frame / ours:.1f} times ours (aim: 12 or more)"
    )
    print(
        f"  msgspec into typed floats alone: {decode:.2f} s, ours is {ours / decode:.1f} times that (aim: 4 or less)"
    )
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "three"), Path(folder, "large.txt")
        small.mkdir()
        text = dump(1)
        for i in range(3):
            (small / f"metrics_{i}.txt").write_text(text, "utf-8")
        print(f"diagnose on a folder of three dumps: {command(str(small))} (aim: 0.7 s, 250 MB)")
        large.write_text(dump(200), "utf-8")
        size = large.stat().st_size / 1e6
        print(
            f"diagnose on a dump of {size:.1f} MB with 200 label sets: {command(str(large), runs=5)} (aim: 2 s)"
        )
        many, single = Path(folder, "many"), Path(folder, "single.json")
        results(many)
        print(f"diagnose on 1,000 benchmark results: {command(str(many), runs=3)} (aim: 10 s)")
        detailed(single)
        size = single.stat().st_size / 1e6
        print(
            f"diagnose on a result of {size:.0f} MB with every token: {command(str(single), runs=1)} (aim: flat memory)"
        )
    sources.report(dump(200))


if __name__ == "__main__":
    main()
