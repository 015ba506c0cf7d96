"""AIPerf: summary JSON of all schemas, its CSV, and the per-request export."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.sources.bench.blocks import csv_blocks, fill_from_blocks
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.values import (
    NANO,
    UNIT_FACTORS,
    add_computed,
    as_dict,
    boolean,
    count,
    derive,
    model_name,
    number,
    set_load,
    words,
)

FORMAT = "aiperf"
HINTS: tuple[str, ...] = ('"inter_token_latency"', '"request_throughput"', '"time_to_first_token"')
_CANCELLED = 499


def recognise(content: Content) -> bool:
    """A schema version, the early ``records`` wrapper, one object a request, or the two-table CSV."""
    value = content.records[0][1] if content.records else {}
    if "aiperf_version" in value or _is_request(value):
        return True
    record = next(iter(as_dict(value.get("records")).values()), None)
    if isinstance(record, dict) and {"tag", "unit", "avg"} <= record.keys():
        return True
    return _is_csv(content)


def _is_csv(content: Content) -> bool:
    header = content.header
    labels = ("Inter Chunk Latency", "Benchmark Duration", "Credit")
    return header[:4] == ["Metric", "avg", "min", "max"] and any(label in content.text for label in labels)


def _is_request(value: dict[str, Any]) -> bool:
    metadata = as_dict(value.get("metadata"))
    return isinstance(value.get("metrics"), dict) and {"x_request_id", "worker_id"} <= metadata.keys()


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one step: a file holds one load level."""
    if content.records and _is_request(content.records[0][1]):
        run = _read_requests(source, content)
    elif content.documents:
        run = _read_summary(source, as_dict(content.first))
    else:
        run = BenchRun(source=source, format=FORMAT, tool="aiperf", format_era="CSV")
        run.steps.append(BenchStep())
        fill_from_blocks(run, run.steps[0], csv_blocks(content.rows))
    apply_name(run, source)
    return [run]


def _read_summary(source: str, value: dict[str, Any]) -> BenchRun:
    run = BenchRun(
        source=source, format=FORMAT, tool="aiperf", tool_version=words(value.get("aiperf_version"))
    )
    version = words(value.get("schema_version"))
    run.format_era = f"schema {version}" if version else "records wrapper (0.1-0.2)"
    step = BenchStep()
    run.steps.append(step)
    fill_from_blocks(run, step, as_dict(value.get("records")) or value)
    _describe(run, step, value)
    for entry in value.get("error_summary") or []:
        _count_error(
            step, as_dict(as_dict(entry).get("error_details")), count(as_dict(entry).get("count")) or 0
        )
    if step.cancelled and step.failed is not None:
        step.failed = max(step.failed - step.cancelled, 0)
        run.warnings.append(
            f"{step.cancelled} requests were cancelled on purpose: they are no server failures"
        )
    if boolean(value.get("was_cancelled")):
        run.warnings.append("the benchmark was cancelled before its end")
    return run


def _count_error(step: BenchStep, details: dict[str, Any], times: int) -> None:
    kind = words(details.get("type")) or "unknown"
    step.error_kinds[kind] = step.error_kinds.get(kind, 0) + times
    if details.get("code") == _CANCELLED or "Cancellation" in kind:
        step.cancelled = (step.cancelled or 0) + times


def _describe(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    config = as_dict(value.get("input_config"))
    endpoint, loadgen, inputs = (as_dict(config.get(key)) for key in ("endpoint", "loadgen", "input"))
    names = endpoint.get("model_names")
    run.model = model_name(names[0]) if isinstance(names, list) and names else None
    derive(run, "weight_format", weight_format_in(run.model), "named")
    run.client_protocol, run.streaming = words(endpoint.get("type")), boolean(endpoint.get("streaming"))
    run.started_local, run.seed = words(value.get("start_time")), count(inputs.get("random_seed"))
    run.ignore_eos = boolean(as_dict(inputs.get("extra_inputs_parsed")).get("ignore_eos"))
    dataset = as_dict(as_dict(value.get("metadata")).get("dataset"))
    run.dataset = (
        words(dataset.get("hf_dataset_name"))
        or words(inputs.get("public_dataset"))
        or words(inputs.get("file"))
    )
    run.warmup = "excluded" if value.get("warmup_metrics") else "unknown"
    run.multi_turn = True if value.get("branch_stats") or inputs.get("use_end_to_start_delays") else None
    step.token_counter = (
        "server-usage" if boolean(endpoint.get("use_server_token_count")) else "client-tokenizer"
    )
    _fill_load(step, loadgen, inputs)
    step.requested = count(loadgen.get("request_count"))


def _fill_load(step: BenchStep, loadgen: dict[str, Any], inputs: dict[str, Any]) -> None:
    set_load(step, loadgen.get("request_rate"), loadgen.get("concurrency"))
    mode = words(loadgen.get("request_rate_mode")) or words(loadgen.get("arrival_pattern")) or ""
    if boolean(inputs.get("fixed_schedule")):
        step.load_mode, step.arrival = "replay", "trace"
    elif step.requested_rps is not None and mode in ("poisson", "constant", "gamma"):
        step.arrival = mode


def _read_requests(source: str, content: Content) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="aiperf", format_era="per request")
    step = BenchStep(load_mode="unknown")
    run.steps.append(step)
    rows = [
        v for _, v in content.records if as_dict(v.get("metadata")).get("credit_phase") in (None, "profiling")
    ]
    starts = [_start_ns(as_dict(row.get("metadata"))) for row in rows]
    first = min((start for start in starts if start is not None), default=0)
    for i, row in enumerate(rows):
        step.requests.append(_request(i, row, first))
        if isinstance(row.get("error"), dict):
            _count_error(step, row["error"], 1)
    step.completed = sum(r.status == "ok" for r in step.requests)
    step.failed = sum(r.status == "error" for r in step.requests)
    done = [r for r in step.requests if r.status == "ok"]
    for metric, values in (
        ("ttft", [r.ttft_s for r in done]),
        ("tpot", [r.tpot_s for r in done]),
        ("e2e", [r.e2e_s for r in done]),
    ):
        add_computed(step, metric, values)
    add_computed(step, "input_len", (r.input_tokens for r in done), unit="tokens")
    add_computed(step, "output_len", (r.output_tokens for r in done), unit="tokens")
    ends = list(_ends(done))
    derive(step, "duration_s", max(ends, default=0.0) or None)
    derive(step, "input_tokens", sum(r.input_tokens or 0 for r in done) or None)
    derive(step, "output_tokens", sum(r.output_tokens or 0 for r in done) or None)
    return run


def _ends(rows: list[BenchRequest]) -> Iterator[float]:
    for row in rows:
        if row.start_s is not None and row.e2e_s is not None:
            yield row.start_s + row.e2e_s


def _start_ns(metadata: dict[str, Any]) -> float | None:
    return number(metadata.get("request_start_ns", metadata.get("timestamp_ns")))


def _request(i: int, row: dict[str, Any], first: float) -> BenchRequest:
    metadata, metrics, error = (as_dict(row.get(key)) for key in ("metadata", "metrics", "error"))
    start, cancelled = _start_ns(metadata), error.get("code") == _CANCELLED

    def seconds(*names: str) -> float | None:
        block = next((as_dict(metrics[n]) for n in names if n in metrics), {})
        factor, value = UNIT_FACTORS.get(str(block.get("unit"))), number(block.get("value"))
        return None if factor is None or value is None else value * factor

    return BenchRequest(
        request_no=i,
        start_s=None if start is None else (start - first) * NANO,
        ttft_s=seconds("time_to_first_token", "ttft"),
        e2e_s=seconds("request_latency"),
        tpot_s=seconds("inter_token_latency"),
        input_tokens=count(as_dict(metrics.get("input_sequence_length")).get("value")),
        output_tokens=count(as_dict(metrics.get("output_sequence_length")).get("value")),
        status="cancelled" if cancelled else "error" if error else "ok",
        error_kind=words(error.get("type")),
        session=words(metadata.get("conversation_id")),
        turn=count(metadata.get("turn_index")),
    )
