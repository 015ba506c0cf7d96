"""LLMeter: ``stats.json`` or ``summary.json`` of a run and its ``responses.jsonl``, in seconds; from the writer."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.rows import error_kind
from diagnostics.sources.bench.values import (
    add_computed,
    add_stat,
    count,
    model_name,
    number,
    positive,
    set_load,
    stat_name,
    words,
)

FORMAT = "llmeter"
HINTS: tuple[str, ...] = ('"time_to_first_token', '"time_to_last_token')
_RUN = frozenset({"total_requests", "clients", "n_requests", "total_test_time"})
_RESPONSE = frozenset({"time_to_first_token", "time_to_last_token", "num_tokens_output"})
_METRICS = {
    "time_to_first_token": ("ttft", "s"),
    "time_to_last_token": ("e2e", "s"),
    "num_tokens_input": ("input_len", "tokens"),
    "num_tokens_output": ("output_len", "tokens"),
}


def recognise(content: Content) -> bool:
    """The counts of a run with its clients, or one response a line."""
    return content.keys >= _RUN or content.keys >= _RESPONSE


def read(source: str, content: Content) -> list[BenchRun]:
    """One run of one step."""
    run = BenchRun(source=source, format=FORMAT, tool="llmeter")
    step = BenchStep()
    run.steps.append(step)
    if content.keys >= _RUN:
        _fill_run(run, step, content.records[0][1])
    else:
        _fill_responses(step, [row for _, row in content.records])
    run.streaming = True if step.stat("ttft", "mean") is not None else None
    apply_name(run, source)
    return [run]


def _fill_run(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    run.model = model_name(value.get("model_id"))
    set_load(step, None, value.get("clients"))
    step.duration_s = positive(value.get("total_test_time"))
    step.requested, step.failed = count(value.get("total_requests")), count(value.get("failed_requests"))
    if step.requested is not None and step.failed is not None:
        step.completed = step.requested - step.failed
    for key, entry in value.items():
        name, _, stat = key.partition("-")
        if name in _METRICS and stat:
            metric, unit = _METRICS[name]
            add_stat(step, metric, stat_name(stat), entry, unit=unit, n=step.completed)


def _fill_responses(step: BenchStep, rows: list[dict[str, Any]]) -> None:
    starts = [_time(row.get("request_time")) for row in rows]
    origin = min((s for s in starts if s is not None), default=0.0)
    step.requests = [
        _request(i, row, None if start is None else start - origin)
        for i, (row, start) in enumerate(zip(rows, starts, strict=True))
    ]
    done = [r for r in step.requests if r.status == "ok"]
    step.requested, step.completed, step.failed = len(rows), len(done), len(rows) - len(done)
    ends = [r.start_s + r.e2e_s for r in done if r.start_s is not None and r.e2e_s is not None]
    if len(ends) == len(done) and ends:
        step.duration_s = max(ends)
        step.origins["duration_s"] = "derived"
    for metric in ("ttft", "tpot", "e2e"):
        add_computed(step, metric, (getattr(r, f"{metric}_s") for r in done))
    add_computed(step, "input_len", (r.input_tokens for r in done), unit="tokens")
    add_computed(step, "output_len", (r.output_tokens for r in done), unit="tokens")


def _request(i: int, row: dict[str, Any], start: float | None) -> BenchRequest:
    error = words(row.get("error"))
    return BenchRequest(
        request_no=i,
        start_s=start,
        ttft_s=positive(row.get("time_to_first_token")),
        e2e_s=positive(row.get("time_to_last_token")),
        tpot_s=number(row.get("time_per_output_token")),
        input_tokens=count(row.get("num_tokens_input")),
        output_tokens=count(row.get("num_tokens_output")),
        cached_tokens=count(row.get("num_tokens_input_cached")),
        status="error" if error else "ok",
        error_kind=error_kind(error),
    )


def _time(text: Any) -> float | None:
    try:
        return datetime.fromisoformat(text).timestamp() if isinstance(text, str) else None
    except ValueError:
        return None
