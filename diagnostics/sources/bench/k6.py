"""k6: the end-of-test summary, in milliseconds; tokens only where the script counts them. From the writer's documentation."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.errors import InputError
from diagnostics.sources.bench.columns import normalise, timed
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import MILLI, add_block, as_dict, count, positive

FORMAT = "k6"
HINTS: tuple[str, ...] = ('"http_req_duration"', '"http_reqs"')
_OUTPUT = ("output_tokens", "completion_tokens", "generated_tokens")
_INPUT = ("input_tokens", "prompt_tokens")


def recognise(content: Content) -> bool:
    """A summary that timed HTTP requests, or the single points that k6 also writes."""
    value = content.records[0][1] if content.records else {}
    return "http_req_duration" in as_dict(value.get("metrics")) or _is_point(value)


def _is_point(value: dict[str, Any]) -> bool:
    return value.get("type") in ("Metric", "Point") and {"metric", "data"} <= value.keys()


def read(source: str, content: Content) -> list[BenchRun]:
    """One run of one step.

    Raises:
        InputError: single points instead of a summary.
    """
    value = content.records[0][1]
    if _is_point(value):
        raise InputError(
            source, "", "holds k6's single points, not its summary", "run k6 with --summary-export FILE"
        )
    metrics = {name: _values(entry) for name, entry in as_dict(value["metrics"]).items()}
    run = BenchRun(source=source, format=FORMAT, tool="k6")
    step = BenchStep()
    run.steps.append(step)
    _fill_counts(step, metrics)
    add_block(step, "e2e", _spelled(metrics["http_req_duration"]), MILLI, n=step.completed)
    for name, block in metrics.items():
        known = timed(normalise(name))
        if known is not None and known[0] in ("ttft", "tpot", "itl") and "avg" in block:
            population = "gaps" if known[0] == "itl" else "requests"
            add_block(step, known[0], _spelled(block), known[2], population=population)
    if step.stat("ttft", "mean") is None:
        run.warnings.append(
            "k6 times whole answers: without a trend of the script's own (ttft_ms) first tokens are unknown"
        )
    apply_name(run, source)
    return [run]


def _values(entry: Any) -> dict[str, Any]:
    """``--summary-export`` writes values flat, ``handleSummary`` one level deeper."""
    block = as_dict(entry)
    return as_dict(block.get("values")) or block


def _spelled(block: dict[str, Any]) -> dict[str, Any]:
    """``p(95)`` as p95; only statistics."""
    return {key.replace("(", "").replace(")", ""): entry for key, entry in block.items() if key != "count"}


def _fill_counts(step: BenchStep, metrics: dict[str, dict[str, Any]]) -> None:
    sent, failures = metrics.get("http_reqs", {}), metrics.get("http_req_failed", {})
    total, rate = count(sent.get("count")), positive(sent.get("rate"))
    # The metric is 1 for a request that failed: its passes are failures.
    step.requested, step.failed = total, count(failures.get("passes"))
    if total is not None and step.failed is not None:
        step.completed = total - step.failed
    if total and rate:
        step.duration_s = total / rate
        step.origins["duration_s"] = "derived"
    for field, names in (("output_tps", _OUTPUT), ("input_tps", _INPUT)):
        setattr(
            step, field, next((r for n in names if (r := positive(metrics.get(n, {}).get("rate")))), None)
        )
    dropped = count(metrics.get("dropped_iterations", {}).get("count"))
    if dropped:  # only executors with an arrival rate drop what they cannot send in time
        step.load_mode, step.client_limited = "open", True
        step.extra["dropped_iterations"] = dropped
