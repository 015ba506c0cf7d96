"""GuideLLM reports of all eras, JSON or YAML: one report is one run, its benchmarks are the steps."""

from __future__ import annotations

import math
from typing import Any

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.values import (
    MILLI,
    add_block,
    as_dict,
    count,
    derive,
    model_name,
    number,
    positive,
    scaled,
    words,
)

FORMAT = "guidellm"
HINTS: tuple[str, ...] = ('"benchmarks"', '"request_latency"', '"time_to_first_token_ms"')
_BLOCKS = (
    ("request_latency", "e2e", 1.0, "s"),
    ("time_to_first_token_ms", "ttft", MILLI, "s"),
    ("inter_token_latency_ms", "tpot", MILLI, "s"),
    ("time_per_output_token_ms", "ntpot", MILLI, "s"),
    ("prompt_token_count", "input_len", 1.0, "tokens"),
    ("output_token_count", "output_len", 1.0, "tokens"),
)
_MODES = {
    "synchronous": ("single-stream", "none"),
    "concurrent": ("closed", "none"),
    "throughput": ("burst", "none"),
    "constant": ("open", "constant"),
    "async": ("open", "constant"),
    "poisson": ("open", "poisson"),
    "replay": ("replay", "trace"),
}


def recognise(content: Content) -> bool:
    """A list of benchmarks with the tool's own statistics blocks."""
    benchmarks = as_dict(content.first).get("benchmarks")
    if not isinstance(benchmarks, list) or not benchmarks or not isinstance(benchmarks[0], dict):
        return False
    return "metrics" in benchmarks[0] and bool(
        {"run_stats", "scheduler_state", "scheduler_metrics"} & benchmarks[0].keys()
    )


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with a step a benchmark."""
    value = as_dict(content.first)
    metadata, args = (
        as_dict(value.get("metadata")),
        as_dict(value.get("args")) or as_dict(value.get("config")),
    )
    version = words(metadata.get("guidellm_version"))
    run = BenchRun(source=source, format=FORMAT, tool="guidellm", tool_version=version)
    run.format_era = f"metadata {metadata['version']}" if "version" in metadata else "before 0.4"
    benchmarks = [entry for entry in value["benchmarks"] if isinstance(entry, dict)]
    _describe(run, args, as_dict(benchmarks[0]) if benchmarks else {})
    run.steps = [_read_step(run, i, entry) for i, entry in enumerate(benchmarks)]
    conclusions = value.get("conclusions")
    if conclusions:
        run.extra["conclusions"] = conclusions
    apply_name(run, source)
    return [run]


def _describe(run: BenchRun, args: dict[str, Any], first: dict[str, Any]) -> None:
    config, worker = as_dict(first.get("config")), as_dict(first.get("worker"))
    backend = as_dict(config.get("backend"))
    run.model = (
        model_name(args.get("model"))
        or model_name(backend.get("model"))
        or model_name(worker.get("backend_model"))
    )
    derive(run, "weight_format", weight_format_in(run.model), "named")
    run.client_protocol = words(args.get("backend")) or words(worker.get("backend_type"))
    data = args.get("data", as_dict(first.get("request_loader")).get("data"))
    name = words(data[0]) if isinstance(data, list) and data else words(data)
    run.dataset = name.rsplit("/", 1)[-1] if name and name.startswith("/") else name
    _fill_lengths(run)
    run.seed = count(args.get("random_seed"))
    warm = (
        as_dict(config.get("warmup"))
        or args.get("warmup")
        or as_dict(first.get("args")).get("warmup_duration")
    )
    run.warmup = "excluded" if warm else "none"


def _fill_lengths(run: BenchRun) -> None:
    """A synthetic data set states its lengths: ``prompt_tokens=256,output_tokens=128``."""
    pairs = dict(part.split("=", 1) for part in (run.dataset or "").split(",") if "=" in part)
    for name, key in (("input_len_spec", "prompt_tokens"), ("output_len_spec", "output_tokens")):
        length, spread = count(pairs.get(key)), number(pairs.get(f"{key}_stdev"))
        if length is not None:
            setattr(run, name, f"normal {length} sd {spread:g}" if spread else f"fixed {length}")


def _read_step(run: BenchRun, i: int, entry: dict[str, Any]) -> BenchStep:
    step = BenchStep(source_path=f"benchmarks[{i}]", measured_over="steady")
    metrics = as_dict(entry.get("metrics"))
    _fill_load(step, entry)
    totals = as_dict(metrics.get("request_totals")) or as_dict(entry.get("request_totals"))
    step.completed, step.failed = count(totals.get("successful")), count(totals.get("errored"))
    step.incomplete, step.requested = count(totals.get("incomplete")), count(totals.get("total"))
    step.duration_s = positive(entry.get("duration"))
    for key, metric, factor, unit in _BLOCKS:
        add_block(step, metric, _part(metrics, key, "successful"), factor, unit=unit)
    if step.completed == 1:
        step.stats = [s for s in step.stats if s.stat != "sd"]
    step.rps = _mean(metrics, "requests_per_second", "successful")
    step.output_tps = _mean(metrics, "output_tokens_per_second", "total")
    step.total_tps = _mean(metrics, "tokens_per_second", "total")
    step.input_tps = _mean(metrics, "prompt_tokens_per_second", "total")
    step.concurrency_mean = _mean(metrics, "request_concurrency", "successful")
    step.concurrency_peak = number(_part(metrics, "request_concurrency", "total").get("max"))
    step.input_tokens = count(_part(metrics, "prompt_token_count", "successful").get("total_sum"))
    step.output_tokens = count(_part(metrics, "output_token_count", "successful").get("total_sum"))
    step.goodput_rps = _mean(metrics, "request_goodput", "total")
    per_event = _mean(metrics, "output_tokens_per_iteration", "successful")
    if per_event is not None:
        step.extra["tokens_per_stream_event"] = per_event
    _fill_client(step, entry)
    _fill_requests(step, as_dict(entry.get("requests")))
    if step.completed is not None and 0 < step.completed < 10:
        run.warnings.append(f"{step.source_path}: {step.completed} completed requests allow no statistics")
    for text in entry.get("warnings") or []:
        run.warnings.append(f"{step.source_path}: {text}"[:300])
    return step


def _part(metrics: dict[str, Any], key: str, status: str) -> dict[str, Any]:
    return as_dict(as_dict(metrics.get(key)).get(status))


def _mean(metrics: dict[str, Any], key: str, status: str) -> float | None:
    part = _part(metrics, key, status)
    return number(part.get("mean")) if part.get("count") != 0 else None


def _fill_load(step: BenchStep, entry: dict[str, Any]) -> None:
    owner = as_dict(entry.get("config")) or as_dict(entry.get("args"))
    strategy = as_dict(owner.get("strategy")) or as_dict(as_dict(entry.get("scheduler")).get("strategy"))
    kind = words(strategy.get("type_")) or "unknown"
    step.load_mode, step.arrival = _MODES.get(kind, ("unknown", "unknown"))
    step.extra["strategy"] = kind
    step.requested_rps = positive(strategy.get("rate")) if step.load_mode == "open" else None
    streams = count(strategy.get("streams")) or count(strategy.get("max_concurrency"))
    if kind == "synchronous":
        streams = 1
    step.concurrency_cap = streams
    if step.load_mode == "open" and streams is not None:
        step.load_mode = "open-capped"
    if kind == "throughput" and streams is not None:
        step.load_mode = "closed"


def _fill_client(step: BenchStep, entry: dict[str, Any]) -> None:
    """Mean start delay of rate-driven steps: an average above the limit proves a late client."""
    stats = as_dict(entry.get("scheduler_metrics")) or as_dict(entry.get("run_stats"))
    delay = number(stats.get("request_start_delay_avg", stats.get("request_start_time_delay_avg")))
    if delay is not None and step.load_mode in ("open", "open-capped"):
        step.extra["start_delay_mean_s"] = delay
    made = count(as_dict(stats.get("requests_made")).get("total"))
    if made is not None:
        step.started = made


def _fill_requests(step: BenchStep, groups: dict[str, Any]) -> None:
    rows = [
        (status, row)
        for status in ("successful", "errored", "incomplete")
        for row in groups.get(status) or []
    ]
    starts = [t for t in (_start(as_dict(row)) for _, row in rows) if t is not None]
    first = min(starts, default=math.nan)
    for status, raw in rows:
        row, start = as_dict(raw), _start(as_dict(raw))
        step.requests.append(
            BenchRequest(
                request_no=len(step.requests),
                start_s=None if start is None else start - first,
                ttft_s=scaled(row.get("time_to_first_token_ms"), MILLI),
                e2e_s=number(row.get("request_latency")),
                tpot_s=scaled(row.get("inter_token_latency_ms"), MILLI),
                input_tokens=count(row.get("prompt_tokens")),
                output_tokens=count(row.get("output_tokens")),
                status={"successful": "ok", "errored": "error"}.get(status, "incomplete"),
            )
        )


def _start(row: dict[str, Any]) -> float | None:
    return number(row.get("request_start_time", row.get("start_time")))
