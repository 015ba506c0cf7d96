"""Metric blocks ``{unit, avg, p50, ...}`` as AIPerf and GenAI-Perf write them in JSON and in CSV."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.values import PERCENT, UNIT_FACTORS, add_block, as_dict, count, number, scaled

_TIMES = {
    "time_to_first_token": ("ttft", "requests"),
    "ttft": ("ttft", "requests"),
    "time_to_second_token": ("ttst", "requests"),
    "ttst": ("ttst", "requests"),
    "inter_token_latency": ("tpot", "requests"),
    "inter_chunk_latency": ("itl", "gaps"),
    "request_latency": ("e2e", "requests"),
    "credit_to_start_latency": ("client_delay", "requests"),
}
_LENGTHS = {"input_sequence_length": "input_len", "output_sequence_length": "output_len"}
_OLD_LENGTHS = {"num_input_token": "input_len", "num_output_token": "output_len"}
_TOKEN_RATES = {
    "output_token_throughput": "output_tps",
    "total_token_throughput": "total_tps",
    "input_token_throughput": "input_tps",
}
_PER_SECOND = frozenset(
    {"tokens/sec", "tokens/s", "requests/sec", "requests/s", "per sec", "requests/second"}
)
_LABEL = re.compile(r"^\s*(.*?)\s*(?:\(([^()]*)\))?\s*$")
_LABEL_KEYS = {
    "total_input_sequence_length": "total_isl",
    "total_output_sequence_length": "total_osl",
    "theoretical_prefix_cache_hit": "theoretical_prefix_cache_hit",
    "credit-to-start_latency": "credit_to_start_latency",
    "error_request_count": "error_request_count",
}


def csv_blocks(rows: list[list[str]]) -> dict[str, dict[str, Any]]:
    """The two tables of an export: percentiles by metric, a blank line, then single values."""
    blocks: dict[str, dict[str, Any]] = {}
    header: list[str] = []
    for row in rows:
        if not row or not row[0]:
            continue
        if row[0] == "Metric":
            header = row[1:]
        elif header:
            label, unit = split_label(row[0])
            values = dict(zip(header, row[1:], strict=False))
            if header == ["Value"]:
                values = {"avg": values.get("Value", "")}
            key = label.lower().replace(" ", "_")
            blocks.setdefault(_LABEL_KEYS.get(key, key), {"unit": unit, **values})
    return blocks


def split_label(label: str) -> tuple[str, str]:
    """``Time to First Token (ms)`` as name and unit."""
    match = _LABEL.match(label)
    return (match.group(1), match.group(2) or "") if match else (label, "")


def fill_from_blocks(run: BenchRun, step: BenchStep, blocks: Mapping[str, Any]) -> None:
    """Read every known block by its own unit; a block whose unit is unknown is refused with a warning."""
    for key, (metric, population) in _TIMES.items():
        block = as_dict(blocks.get(key))
        if not block or any(s.metric == metric for s in step.stats):
            continue
        factor = UNIT_FACTORS.get(str(block.get("unit")))
        if factor is None:
            run.warnings.append(f"{key} has the unknown unit {block.get('unit')!r}: left out")
            continue
        add_block(step, metric, _trimmed(block), factor, population=population)
    for key, metric in {**_OLD_LENGTHS, **_LENGTHS}.items():
        add_block(step, metric, _trimmed(as_dict(blocks.get(key))), unit="tokens")
    for key, name in _TOKEN_RATES.items():
        _set_rate(run, step, blocks, key, name)
    _set_rate(run, step, blocks, "request_throughput", "rps")
    for key in ("goodput", "request_goodput"):
        _set_rate(run, step, blocks, key, "goodput_rps")
    _fill_counts(step, blocks)
    step.schedule_delay_p99_s = step.stat("client_delay", "p99")


def _trimmed(block: dict[str, Any]) -> dict[str, Any]:
    """Without empty entries; a spread of 0 over one value is no spread."""
    return {
        k: v for k, v in block.items() if v not in (None, "") and not (k == "std" and block.get("count") == 1)
    }


def _set_rate(run: BenchRun, step: BenchStep, blocks: Mapping[str, Any], key: str, name: str) -> None:
    block = as_dict(blocks.get(key))
    value = number(block.get("avg"))
    if value is None:
        return
    if str(block.get("unit")) not in _PER_SECOND:
        run.warnings.append(f"{key} has the unknown unit {block.get('unit')!r}: left out")
        return
    setattr(step, name, value)


def _average(blocks: Mapping[str, Any], key: str) -> float | None:
    return number(as_dict(blocks.get(key)).get("avg"))


def _fill_counts(step: BenchStep, blocks: Mapping[str, Any]) -> None:
    step.completed, step.failed = (
        count(_average(blocks, "request_count")),
        count(_average(blocks, "error_request_count")),
    )
    step.input_tokens, step.output_tokens = (
        count(_average(blocks, "total_isl")),
        count(_average(blocks, "total_osl")),
    )
    duration = as_dict(blocks.get("benchmark_duration"))
    factor = UNIT_FACTORS.get(str(duration.get("unit")))
    if factor is not None:
        step.duration_s = scaled(duration.get("avg"), factor)
    step.concurrency_mean = _average(blocks, "effective_concurrency")
    step.concurrency_peak = number(as_dict(blocks.get("effective_concurrency")).get("max"))
    step.cache_hit = scaled(_average(blocks, "overall_usage_prompt_cache_read_pct"), PERCENT)
    step.spec_acceptance = scaled(_average(blocks, "spec_decode_draft_acceptance_rate"), PERCENT)
    step.spec_tokens_per_step = _average(blocks, "spec_decode_acceptance_length")
    if step.spec_tokens_per_step is not None:
        step.spec_scope = "step"
    theoretical = scaled(_average(blocks, "theoretical_prefix_cache_hit"), PERCENT)
    if theoretical is not None:
        step.extra["theoretical_cache_hit"] = theoretical
    mismatches = count(_average(blocks, "osl_mismatch_count"))
    if mismatches:
        step.extra["output_length_mismatches"] = mismatches
