"""``trtllm-bench`` report (``--report_json``): an offline run of the engine in one process. From its writer, not from a sample."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import weight_format_in
from diagnostics.sources.bench.values import (
    MILLI,
    add_block,
    add_stat,
    as_dict,
    count,
    derive,
    model_name,
    number,
    positive,
    scaled,
    words,
)

FORMAT = "trtllm-bench"
HINTS: tuple[str, ...] = ('"world_info"', '"request_info"', '"performance"')
_SECTIONS = {"engine", "world_info", "request_info", "performance"}


def recognise(content: Content) -> bool:
    """The four sections that every report has."""
    return as_dict(content.first).keys() >= _SECTIONS


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a report."""
    return [_read_one(source, place, value) for place, value in content.records if value.keys() >= _SECTIONS]


def _read_one(source: str, place: str, value: dict[str, Any]) -> BenchRun:
    engine, world, machine = (as_dict(value.get(k)) for k in ("engine", "world_info", "machine"))
    run = BenchRun(
        source=source, format=FORMAT, tool="trtllm-bench", engine="trtllm", format_era="from its writer"
    )
    run.engine_version, run.model = words(engine.get("version")), model_name(engine.get("model"))
    run.weight_format = words(engine.get("quantization")) or words(engine.get("dtype"))
    derive(run, "weight_format", weight_format_in(run.model), "named")
    run.kv_format, run.max_model_len = (
        words(engine.get("kv_cache_dtype")),
        count(engine.get("max_sequence_length")),
    )
    run.gpu_model = words(machine.get("name"))
    run.tp, run.pp, run.ep, run.gpus = (
        count(world.get(k)) for k in ("tp_size", "pp_size", "ep_size", "world_size")
    )
    run.max_num_seqs, run.max_batched_tokens = (
        count(world.get(k)) for k in ("max_batch_size", "max_num_tokens")
    )
    run.warnings.append("an offline run in one process: time to first token includes its queue, and no HTTP")
    step = BenchStep(source_path=place, load_mode="offline", arrival="none")
    run.steps.append(step)
    _fill(run, step, value)
    rate = positive(world.get("issue_rate"))
    if rate is not None:
        step.requested_rps, step.load_mode, step.arrival = rate, "open", "constant"
    return run


def _fill(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    """Rates as they are, times from milliseconds."""
    asked, done, stream = (
        as_dict(value.get(k)) for k in ("request_info", "performance", "streaming_metrics")
    )
    step.requested = step.completed = count(asked.get("num_requests"))
    step.concurrency_mean = positive(asked.get("avg_num_concurrent_requests"))
    for metric, key in (("input_len", "avg_input_length"), ("output_len", "avg_output_length")):
        add_stat(step, metric, "mean", asked.get(key), unit="tokens", n=step.completed)
    step.duration_s = scaled(done.get("total_latency_ms"), MILLI)
    step.rps = number(done.get("request_throughput_req_s"))
    step.output_tps, step.total_tps = (
        number(done.get(f"system_{k}_throughput_tok_s")) for k in ("output", "total")
    )
    add_block(step, "e2e", done.get("request_latency_percentiles_ms"), MILLI, n=step.completed)
    add_stat(step, "e2e", "mean", done.get("avg_request_latency_ms"), MILLI, n=step.completed)
    for metric in ("ttft", "tpot"):
        add_block(step, metric, stream.get(f"{metric}_percentiles"), MILLI, n=step.completed)
        add_stat(step, metric, "mean", stream.get(f"avg_{metric}_ms"), MILLI, n=step.completed)
    run.streaming = bool(stream)
    drafts = as_dict(value.get("decoding_stats"))
    if drafts:
        run.spec_method = words(drafts.get("mode")) or "unknown"
        step.spec_acceptance = number(as_dict(drafts.get("draft_acceptance_rate_percentiles")).get("average"))
        step.spec_tokens_per_step = number(
            as_dict(drafts.get("acceptance_length_percentiles")).get("average")
        )
        step.spec_scope = "step"
