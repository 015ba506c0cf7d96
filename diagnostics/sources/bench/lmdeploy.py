"""LMDeploy ``profile_restful_api`` and ``profile_throughput``: JSON lines of 2024, CSV since, means only."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.sglang import is_serving_line, read_line
from diagnostics.sources.bench.values import count, number, words
from diagnostics.sources.bench.vllm_serve import fill_counts, fill_stats

FORMAT = "lmdeploy"
HINTS: tuple[str, ...] = ('"lmdeploy"', '"output_throughput"', '"total_output_tokens"')
_CSV = {"backend", "bs", "dataset_name", "num_prompts", "output_throughput"}


def recognise(content: Content) -> bool:
    """SGLang-like lines whose backend is lmdeploy, or the tool's own CSV header."""
    records = content.records
    if records:
        return all(is_serving_line(v) and v.get("backend") == "lmdeploy" for _, v in records[:20])
    return set(content.header) >= _CSV


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a line or a row."""
    if not content.records:
        return [_read_row(source, line, row) for line, row in content.table()]
    runs = [read_line(source, place, value) for place, value in content.records if is_serving_line(value)]
    for run in runs:
        run.format, run.tool, run.engine, run.format_era = (
            FORMAT,
            "lmdeploy profile_restful_api",
            "lmdeploy",
            "2024",
        )
    return runs


def _read_row(source: str, line: int, row: dict[str, Any]) -> BenchRun:
    online = "request_rate" in row
    tool = "lmdeploy profile_restful_api" if online else "lmdeploy profile_throughput"
    run = BenchRun(source=source, format=FORMAT, tool=tool, engine="lmdeploy", format_era="CSV")
    step = BenchStep(source_path=f"line {line}", load_mode="burst" if online else "offline", arrival="none")
    run.steps.append(step)
    run.client_protocol, run.dataset = words(row.get("backend")), words(row.get("dataset_name"))
    fill_counts(step, row)
    step.requested_rps = number(row.get("request_rate"))
    if step.requested_rps:
        step.load_mode, step.arrival = "open", "poisson"
    step.concurrency_cap = count(row.get("bs"))
    if not online:
        step.batch_size, step.concurrency_cap = step.concurrency_cap, None
    fill_stats(run, step, row)
    return run
