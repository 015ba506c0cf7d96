"""SGLang ``bench_one_batch``, ``bench_one_batch_server`` and ``bench_offline_throughput``."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.values import add_stat, count, number, positive, words

FORMAT = "sglang-batch"
HINTS: tuple[str, ...] = ('"run_name"', '"batch_size"', '"overall_throughput"')
_SHAPES = (
    ("sglang bench_one_batch", {"run_name", "prefill_latency", "median_decode_latency"}),
    ("sglang bench_one_batch_server", {"run_name", "last_ttft", "acc_length"}),
    ("sglang bench_offline_throughput", {"backend", "successful_requests", "total_latency"}),
)


def recognise(content: Content) -> bool:
    """The key sets of the three offline tools."""
    return _tool(content.keys) is not None


def _tool(keys: frozenset[str]) -> str | None:
    return next((tool for tool, needed in _SHAPES if needed <= keys), None)


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a line; -1 means 'not filled in'."""
    found = []
    for place, value in content.records:
        tool = _tool(frozenset(value))
        if tool is not None:
            found.append(_read_one(source, place, value, tool))
    return found


def _read_one(source: str, place: str, value: dict[str, Any], tool: str) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool=tool, engine="sglang")
    step = BenchStep(source_path=place, load_mode="offline", arrival="none")
    run.steps.append(step)
    name = words(value.get("run_name"))
    if name:
        run.extra["run_name"] = name
    step.batch_size = count(value.get("batch_size"))
    for spec, key in (("input_len_spec", "input_len"), ("output_len_spec", "output_len")):
        length = count(value.get(key))
        if length is not None:
            setattr(run, spec, f"fixed {length}")
    step.output_tokens = count(positive(value.get("total_output_tokens")))
    step.input_tokens = count(positive(value.get("total_input_tokens")))
    step.input_tps, step.output_tps = (
        positive(value.get(f"{side}_throughput")) for side in ("input", "output")
    )
    step.total_tps = positive(value.get("overall_throughput")) or positive(value.get("total_throughput"))
    step.prefill_s, step.decode_step_s = (
        positive(value.get("prefill_latency")),
        positive(value.get("median_decode_latency")),
    )
    latency = positive(value.get("total_latency")) or positive(value.get("latency"))
    step.duration_s = latency
    if tool.endswith("offline_throughput"):
        step.completed, step.rps = (
            count(value.get("successful_requests")),
            positive(value.get("request_throughput")),
        )
    else:
        add_stat(step, "e2e", "mean", latency, population="batches", n=1)
        step.input_tps = step.input_tps or positive(value.get("prefill_throughput"))
        step.output_tps = step.output_tps or positive(value.get("median_decode_throughput"))
        add_stat(step, "ttft", "mean", positive(value.get("last_ttft")), population="batches", n=1)
    accepted = number(value.get("acc_length"))
    if accepted is not None and accepted > 0:
        step.spec_tokens_per_step, step.spec_scope = accepted, "lifetime"
    return run
