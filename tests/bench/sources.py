"""Speeds of reading: metrics text beside the reference parser, logs, and a Prometheus of twenty replicas."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

sys.path.insert(0, str(Path(__file__).parents[1] / "alerts"))
from refill import prometheus, stretched

from diagnostics.sources.content import Content
from diagnostics.sources.exposition import read_exposition
from diagnostics.sources.recognise import ReadOptions, read_content

SAMPLES = Path(__file__).parents[2] / "sample_data"
REPLICAS, SECONDS = 20, 1800
STATUS = (
    "(APIServer pid=1) INFO 11-29 10:{minute:02d}:{second:02d} [loggers.py:257] Engine 000: Avg prompt throughput: "
    "{a}.5 tokens/s, Avg generation throughput: {b}.8 tokens/s, Running: {c} reqs, Waiting: {d} reqs, GPU KV cache "
    "usage: {e}.5%, Prefix cache hit rate: {f}.3%\n"
)
ACCESS = '(APIServer pid=1) INFO:     10.0.0.{host}:{port} - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'


def seconds(work: Callable[[], object], runs: int = 3) -> float:
    """The quickest of several runs."""
    taken = []
    for _ in range(runs):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def exposition(dump: str) -> str:
    """Our parser beside the reference one on the same text."""
    ours = seconds(lambda: read_exposition("bench", dump.splitlines()))
    theirs = seconds(lambda: list(text_string_to_metric_families(dump)), 1)
    return (
        f"metrics text of {len(dump) / 1e6:.1f} MB: {ours:.2f} s, prometheus_client.parser {theirs:.2f} s, "
        f"{theirs / ours:.1f} times ours (aim: 10 or more)"
    )


def status(i: int) -> str:
    """A statistics line."""
    return STATUS.format(
        minute=i // 60 % 60, second=i % 60, a=i % 5000, b=i % 900, c=i % 250, d=i % 40, e=i % 100, f=i % 90
    )


def log(title: str, lines: int, every: int, aim: int, folder: Path) -> str:
    """Reading a log in which each ``every``-th line is a statistics line and the rest are requests."""
    file = folder / "engine.log"
    with file.open("w", encoding="utf-8") as out:
        for i in range(lines):
            out.write(
                status(i // every) if i % every == 0 else ACCESS.format(host=i % 250, port=40000 + i % 20000)
            )
    size = file.stat().st_size / 1e6
    taken = seconds(lambda: read_content(Content("bench", path=file), ReadOptions(None)))
    return f"log of {size:.0f} MB, {title}: {size / taken:.0f} MB/s (aim: {aim} or more)"


def twenty_replicas(folder: Path) -> str:
    """``diagnose`` on a Prometheus with twenty replicas over half an hour, 15 s apart."""
    source = SAMPLES / "concurrency-cap" / "openmetrics.txt.gz"
    text = gzip.decompress(source.read_bytes()).decode()
    names = {m[0] for line in text.splitlines() if (m := re.match(r"[a-zA-Z_:][\w:]*", line))}
    stamps = [float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and line[0] != "#"]
    factor = SECONDS / (max(stamps) - min(stamps))
    lines, first, last = stretched(source, "vllm", factor, names)
    replicas = [
        line.replace('instance="vllm-0:8000"', f'instance="vllm-{i}:8000"')
        for i in range(REPLICAS)
        for line in lines
    ]
    with prometheus(replicas, folder) as url:
        command = [
            sys.executable, "-m", "diagnostics", url, "--from", str(first), "--to", str(last), "--step", "15s",
            "--format", "json",
        ]  # fmt: skip
        subprocess.run(command, capture_output=True, check=False)
        before, taken, queries = _queries(url), [], 0
        for _ in range(5):
            start = time.perf_counter()
            run = subprocess.run(command, capture_output=True, check=False)
            taken.append(time.perf_counter() - start)
        queries = (_queries(url) - before) // 5
        verdict = json.loads(run.stdout)["verdict"]["primary"]
    return (
        f"diagnose on a Prometheus of {REPLICAS} replicas x {SECONDS // 60} min: {sorted(taken)[2]:.2f} s (median of 5), "
        f"{queries} queries, primary {verdict} (aim: 3 s, 12 queries)"
    )


def _queries(url: str) -> int:
    with urllib.request.urlopen(f"{url}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    counted = re.findall(
        r'prometheus_http_requests_total\{code="200",handler="/api/v1/query(?:_range)?"\} (\d+)', text
    )
    return sum(int(n) for n in counted)


def report(dump: str) -> None:
    """Print everything."""
    print(exposition(dump))
    with tempfile.TemporaryDirectory() as folder:
        print(log("90 % requests", 900_000, 10, 150, Path(folder)))
        print(log("statistics only", 200_000, 1, 25, Path(folder)))
        print(twenty_replicas(Path(folder)))
