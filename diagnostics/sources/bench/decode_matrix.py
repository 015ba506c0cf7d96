"""A community decode matrix: concurrency x context length, output tokens a second, seconds."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.values import (
    add_stat,
    as_dict,
    boolean,
    count,
    derive,
    model_name,
    number,
    positive,
    words,
)

FORMAT = "decode-matrix"
HINTS: tuple[str, ...] = ('"concurrency_levels"', '"context_lengths"', '"aggregate_tps"')


def recognise(content: Content) -> bool:
    """Metadata that lists both axes, and a list of cells."""
    value = as_dict(content.first)
    metadata = as_dict(value.get("metadata"))
    return {"concurrency_levels", "context_lengths"} <= metadata.keys() and isinstance(
        value.get("results"), list
    )


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a context length, its concurrencies are the steps."""
    value = as_dict(content.first)
    runs: dict[int, BenchRun] = {}
    for i, cell in enumerate(value["results"]):
        context = count(as_dict(cell).get("context_tokens"))
        if context is None:
            continue
        run = runs.setdefault(context, _describe(source, as_dict(value["metadata"]), context))
        run.steps.append(_step(run, f"results[{i}]", as_dict(cell)))
    for run in runs.values():
        apply_name(run, source)
    return list(runs.values())


def _describe(source: str, metadata: dict[str, Any], context: int) -> BenchRun:
    run = BenchRun(
        source=source, format=FORMAT, tool="decode matrix", tool_version=words(metadata.get("version"))
    )
    run.engine, run.model = words(metadata.get("engine")), model_name(metadata.get("model"))
    run.started_local, run.ignore_eos = words(metadata.get("timestamp")), boolean(metadata.get("ignore_eos"))
    derive(run, "weight_format", weight_format_in(run.model), "named")
    run.input_len_spec, run.streaming = f"fixed {context}", True
    name = source.rsplit("/", 1)[-1].lower()
    if "nomtp" in name or "mtp0" in name:
        derive(run, "spec_method", "none", "named")
    elif "mtp" in name:
        derive(run, "spec_method", "mtp", "named")
    if metadata.get("dcp_size") is not None:
        run.extra["setting:dcp_size"] = metadata["dcp_size"]
    return run


def _step(run: BenchRun, place: str, cell: dict[str, Any]) -> BenchStep:
    step = BenchStep(source_path=place, load_mode="closed", arrival="none", measured_over="window")
    step.concurrency_cap, step.output_tps = (
        count(cell.get("concurrency")),
        positive(cell.get("aggregate_tps")),
    )
    step.duration_s = positive(cell.get("measurement_seconds")) or positive(cell.get("wall_time"))
    step.output_tokens = count(cell.get("client_output_tokens", cell.get("total_tokens")))
    # A cell of fixed duration may end before its first answer does: that is no failure of the server.
    completed = count(cell.get("num_completed", cell.get("completed_request_count")))
    step.failed, step.extra["answers_ended"] = count(cell.get("num_errors")), completed
    for key, stat in (("avg", "mean"), ("p50", "p50"), ("p90", "p90"), ("p99", "p99")):
        add_stat(step, "ttft", stat, positive(cell.get(f"ttft_{key}")))
        add_stat(step, "tpot", stat, positive(cell.get(f"inter_token_latency_{key}")))
        add_stat(step, "e2e", stat, positive(cell.get(f"request_latency_{key}")))
    step.waiting_mean, step.running_mean = (
        number(cell.get("avg_queue_reqs")),
        number(cell.get("avg_running_reqs")),
    )
    usage = number(cell.get("server_utilization"))
    step.extra |= {} if usage is None else {"server_utilization": usage}
    _accept(run, step, number(cell.get("server_spec_accept_rate")))
    return step


def _accept(run: BenchRun, step: BenchStep, rate: float | None) -> None:
    """A rate above 1 is a cumulative counter under a wrong name; 0 means 'not known'."""
    if rate is None or rate == 0:
        return
    if rate > 1:
        text = "server_spec_accept_rate is above 1: a counter, not a rate; left out"
        if text not in run.warnings:
            run.warnings.append(text)
        return
    step.spec_acceptance, step.spec_scope = rate, "lifetime"
