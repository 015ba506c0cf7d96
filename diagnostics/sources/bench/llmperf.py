"""llmperf: summaries, individual responses, and wrappers keyed by concurrency. Always a closed loop."""

from __future__ import annotations

import ast
import re
from typing import Any

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import (
    CLIENT_TOKENIZER,
    MILLI,
    add_computed,
    add_stat,
    as_dict,
    count,
    derive,
    model_name,
    number,
    positive,
    scaled,
    stat_name,
    words,
)

FORMAT = "llmperf"
HINTS: tuple[str, ...] = ("results_ttft_s_mean", "results_end_to_end_latency_s_mean")
_STAT = re.compile(
    r"^results_(ttft_s|inter_token_latency_s|end_to_end_latency_s|number_input_tokens|number_output_tokens)_"
    r"(?:quantiles_)?(\w+)$"
)
_METRICS = {
    "ttft_s": ("ttft", "s"),
    "inter_token_latency_s": ("ntpot", "s"),  # end to end over tokens: it includes the first token
    "end_to_end_latency_s": ("e2e", "s"),
    "number_input_tokens": ("input_len", "tokens"),
    "number_output_tokens": ("output_len", "tokens"),
}


def recognise(content: Content) -> bool:
    """Flat ``results_..._s_...`` keys, the list of responses, or an object keyed by concurrency."""
    value = content.records[0][1] if content.records else {}
    return _is_summary(value) or _is_response(value) or bool(_wrapped(value))


def _is_summary(value: dict[str, Any]) -> bool:
    return any(key.startswith("results_ttft_s") for key in value)


def _is_response(value: dict[str, Any]) -> bool:
    return {"ttft_s", "end_to_end_latency_s", "inter_token_latency_s"} <= value.keys()


def _wrapped(value: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Entries of a wrapper: keys are numbers, values are summaries or a condensed form in milliseconds."""
    entries = [(key, entry) for key, entry in value.items() if key.isdigit() and isinstance(entry, dict)]
    if len(entries) != len(value):
        return []
    known = [e for e in entries if _is_summary(e[1]) or "first-time-to-token_mean_in_ms" in e[1]]
    return known if len(known) == len(entries) else []


def read(source: str, content: Content) -> list[BenchRun]:
    """A run a summary; a wrapper's entries are the steps of one run."""
    value = content.records[0][1] if content.records else {}
    if _is_response(value):
        run = _new(source)
        run.steps.append(_read_responses([row for _, row in content.records]))
        run.warnings.append("responses carry no start time: the arrival process cannot be rebuilt")
    elif wrapped := _wrapped(value):
        run = _new(source)
        for key, entry in wrapped:
            run.steps.append(
                _read_summary(run, key, entry) if _is_summary(entry) else _read_condensed(key, entry)
            )
    else:
        run = _new(source)
        run.steps.append(_read_summary(run, "", value))
    apply_name(run, source)
    return [run]


def _new(source: str) -> BenchRun:
    return BenchRun(source=source, format=FORMAT, tool="llmperf", streaming=True)


def _read_summary(run: BenchRun, place: str, value: dict[str, Any]) -> BenchStep:
    step = BenchStep(source_path=place, load_mode="closed", arrival="none", token_counter=CLIENT_TOKENIZER)
    run.model, run.tool_version = model_name(value.get("model")), words(value.get("version"))
    run.started_at = number(value.get("timestamp"))
    for spec, side in (("input_len_spec", "input"), ("output_len_spec", "output")):
        mean, spread = count(value.get(f"mean_{side}_tokens")), number(value.get(f"stddev_{side}_tokens"))
        if mean is not None:
            setattr(run, spec, f"normal {mean} sd {spread:g}" if spread else f"fixed {mean}")
    step.concurrency_cap = count(value.get("num_concurrent_requests"))
    step.requested, step.started = (count(value.get("results_num_requests_started")) for _ in range(2))
    step.completed, step.failed = (
        count(value.get("results_num_completed_requests")),
        count(value.get("results_number_errors")),
    )
    step.output_tps = number(value.get("results_mean_output_throughput_token_per_s"))
    step.rps = scaled(value.get("results_num_completed_requests_per_min"), 1 / 60)
    step.error_kinds = _errors(value.get("results_error_code_frequency"))
    for key, entry in value.items():
        match = _STAT.match(key)
        if match:
            metric, unit = _METRICS[match.group(1)]
            add_stat(step, metric, stat_name(match.group(2)), entry, unit=unit, n=step.completed)
    if step.rps and step.completed:
        derive(step, "duration_s", step.completed / step.rps)
    return step


def _errors(text: Any) -> dict[str, int]:
    """A dictionary that was stored as its printed form."""
    try:
        found = ast.literal_eval(text) if isinstance(text, str) and len(text) < 10_000 else text
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return {str(key): count(times) or 0 for key, times in as_dict(found).items()}


def _read_condensed(place: str, value: dict[str, Any]) -> BenchStep:
    """An author's own short form; its unit words stand in the keys, its rate is output tokens a second."""
    step = BenchStep(source_path=place, load_mode="closed", arrival="none")
    step.concurrency_cap = count(value.get("concurrency"))
    add_stat(step, "ttft", "mean", value.get("first-time-to-token_mean_in_ms"), MILLI)
    add_stat(step, "ntpot", "mean", value.get("latency_ms_per_token"), MILLI)
    step.output_tps = number(value.get("throughput_token_per_s"))
    return step


def _read_responses(rows: list[dict[str, Any]]) -> BenchStep:
    step = BenchStep(load_mode="closed", arrival="none", token_counter=CLIENT_TOKENIZER)
    for i, row in enumerate(rows):
        failed = row.get("error_code") is not None
        output = count(row.get("number_output_tokens"))
        ttft, e2e = positive(row.get("ttft_s")), positive(row.get("end_to_end_latency_s"))
        tpot = (e2e - ttft) / (output - 1) if e2e and ttft and output and output > 1 else None
        kind = str(row.get("error_code")) if failed else None
        if kind is not None:
            step.error_kinds[kind] = step.error_kinds.get(kind, 0) + 1
        step.requests.append(
            BenchRequest(
                request_no=i,
                ttft_s=None if failed else ttft,
                e2e_s=None if failed else e2e,
                tpot_s=None if failed else tpot,
                input_tokens=count(row.get("number_input_tokens")),
                output_tokens=output,
                status="error" if failed else "ok",
                error_kind=kind,
            )
        )
    done = [r for r in step.requests if r.status == "ok"]
    step.completed, step.failed, step.requested = len(done), len(rows) - len(done), len(rows)
    step.input_tokens = sum(r.input_tokens or 0 for r in done)
    step.output_tokens = sum(r.output_tokens or 0 for r in done)
    for metric in ("ttft", "e2e", "tpot"):
        add_computed(step, metric, [getattr(r, f"{metric}_s") for r in done])
    add_computed(step, "input_len", (r.input_tokens for r in done), unit="tokens")
    add_computed(step, "output_len", (r.output_tokens for r in done), unit="tokens")
    return step
