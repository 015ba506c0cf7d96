"""AIBrix: client rows of single requests, and profiling lines of its GPU optimiser."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.values import (
    add_computed,
    add_stat,
    count,
    model_name,
    number,
    positive,
    words,
)

FORMAT = "aibrix"
HINTS: tuple[str, ...] = ('"input_tokens"', '"metric"', '"samples"')
_PROFILE = {"input_tokens", "output_tokens", "request_rate", "metric", "mean"}
_CLIENT = {"request_id", "status", "target_pod", "ttft", "tpot"}
_LATENCY = {"TTFT": "ttft", "TPOT": "tpot", "E2E": "e2e"}


def recognise(content: Content) -> bool:
    """Profiling lines name a metric; client rows name a target pod."""
    keys = content.keys
    return keys >= _PROFILE or keys >= _CLIENT


def read(source: str, content: Content) -> list[BenchRun]:
    """Client rows become one step, profiling lines one step per lengths and rate."""
    rows = [row for _, row in content.records]
    if rows and rows[0].keys() >= _CLIENT:
        return [_read_client(source, rows)]
    return _read_profile(source, rows)


def _read_profile(source: str, rows: list[dict[str, Any]]) -> list[BenchRun]:
    simulated = "simulat" in source.lower()
    runs: dict[tuple[Any, ...], BenchRun] = {}
    steps: dict[tuple[Any, ...], BenchStep] = {}
    for row in rows:
        if not row.keys() >= _PROFILE:
            continue
        shape = (row.get("model"), row["input_tokens"], row["output_tokens"])
        run = runs.get(shape)
        if run is None:
            run = runs[shape] = BenchRun(
                source=source, format=FORMAT, tool="aibrix profiling", format_era="profile"
            )
            run.model, run.seed = model_name(row.get("model")), count(row.get("seed"))
            run.input_len_spec, run.output_len_spec = (
                f"fixed {row['input_tokens']}",
                f"fixed {row['output_tokens']}",
            )
            run.evidence_kind = "estimate" if simulated else "measured"
            note = (
                "simulated, not measured"
                if simulated
                else "such lines are often simulated: ask where they come from"
            )
            run.warnings.append(note)
            if simulated:
                run.origins["evidence_kind"] = "named"
        key = (*shape, row["request_rate"])
        if key not in steps:
            steps[key] = BenchStep(source_path=f"rate {row['request_rate']}", load_mode="open")
            steps[key].requested_rps, steps[key].completed = (
                positive(row["request_rate"]),
                count(row.get("samples")),
            )
            run.steps.append(steps[key])
        _fill_profile(steps[key], row)
    return list(runs.values())


def _fill_profile(step: BenchStep, row: dict[str, Any]) -> None:
    metric = str(row.get("metric"))
    if metric == "TPUT":
        step.rps = number(row.get("mean"))
    elif metric in _LATENCY:
        for stat in ("mean", "p50", "p90", "p99"):
            add_stat(step, _LATENCY[metric], stat, row.get(stat))
    else:
        step.extra[f"unread:{metric}"] = number(row.get("mean"))


def _read_client(source: str, rows: list[dict[str, Any]]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="aibrix client", format_era="client", streaming=True)
    step = BenchStep()
    run.steps.append(step)
    starts = [number(row.get("start_time")) for row in rows]
    first = min((t for t in starts if t is not None), default=0.0)
    for i, row in enumerate(rows):
        start = starts[i]
        ok = row.get("status") in ("success", "ok", None)
        step.requests.append(
            BenchRequest(
                request_no=i,
                start_s=None if start is None else start - first,
                ttft_s=positive(row.get("ttft")) if ok else None,
                e2e_s=positive(row.get("latency")) if ok else None,
                tpot_s=positive(row.get("tpot")) if ok else None,
                input_tokens=count(row.get("prompt_tokens")),
                output_tokens=count(row.get("output_tokens")),
                status="ok" if ok else "error",
                error_kind=words(row.get("error_type")),
                session=str(row["session_id"]) if row.get("session_id") is not None else None,
                replica=words(row.get("target_pod")),
            )
        )
    done = [r for r in step.requests if r.status == "ok"]
    step.completed, step.failed, step.requested = len(done), len(rows) - len(done), len(rows)
    for metric in ("ttft", "tpot", "e2e"):
        add_computed(step, metric, [getattr(r, f"{metric}_s") for r in done])
    add_computed(step, "input_len", (r.input_tokens for r in done), unit="tokens")
    add_computed(step, "output_len", (r.output_tokens for r in done), unit="tokens")
    return run
