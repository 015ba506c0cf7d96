"""genai-bench: one JSON a scenario and load, in the unit that it names; from the writer, not from a real file."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import (
    UNIT_FACTORS,
    add_block,
    as_dict,
    count,
    number,
    positive,
    scaled,
    set_load,
    words,
)

FORMAT = "genai-bench"
HINTS: tuple[str, ...] = ('"aggregated_metrics"', '"mean_output_throughput_tokens_per_s"')
_TIMES = ("ttft", "tpot", "e2e_latency")
_LENGTHS = {"num_input_tokens": "input_len", "num_output_tokens": "output_len"}
_FIXED = re.compile(r"^D\((\d+),\s*(\d+)\)$")
# Spreads of both lengths: normal N(mean,deviation)/(mean,deviation), uniform U(least,most)/(least,most).
_SPREAD = re.compile(r"^([NU])\((\d+),\s*(\d+)\)/\((\d+),\s*(\d+)\)$")


def recognise(content: Content) -> bool:
    """Aggregated metrics with a scenario and the load."""
    metrics = as_dict(as_dict(content.first).get("aggregated_metrics"))
    return {"scenario", "num_concurrency", "stats"} <= metrics.keys()


def read(source: str, content: Content) -> list[BenchRun]:
    """One run of one step, with its single requests, which have no start time."""
    value = as_dict(content.first)
    metrics, factor = (
        as_dict(value["aggregated_metrics"]),
        UNIT_FACTORS.get(str(value.get("_time_unit", "s"))),
    )
    run = BenchRun(source=source, format=FORMAT, tool="genai-bench")
    step = BenchStep()
    run.steps.append(step)
    _describe(run, str(metrics["scenario"]))
    level = metrics.get("num_concurrency")
    if metrics.get("total_arrivals") is not None:
        set_load(step, level, None)
        step.achieved_rps = positive(metrics.get("arrival_requests_per_second"))
    else:
        set_load(step, None, level)
    _fill_counts(step, metrics)
    stats = as_dict(metrics["stats"])
    for key, metric in _LENGTHS.items():
        add_block(step, metric, _block(stats, key), unit="tokens", n=step.completed)
    if factor is None:
        run.warnings.append(
            f"the unit of time {value.get('_time_unit')!r} is unknown: latencies are left out"
        )
    else:
        for key in _TIMES:
            add_block(step, key.removesuffix("_latency"), _block(stats, key), factor, n=step.completed)
        rows = value.get("individual_request_metrics")
        step.requests = [
            _request(i, as_dict(row), factor) for i, row in enumerate(rows if isinstance(rows, list) else [])
        ]
    apply_name(run, source)
    return [run]


def _block(stats: dict[str, Any], key: str) -> dict[str, Any]:
    return {k: v for k, v in as_dict(stats.get(key)).items() if k != "sum"}


def _describe(run: BenchRun, scenario: str) -> None:
    fixed, spread = _FIXED.match(scenario), _SPREAD.match(scenario)
    run.extra["setting:scenario"] = scenario[:100]
    if fixed:
        run.input_len_spec, run.output_len_spec = (f"fixed {length}" for length in fixed.groups())
    elif spread:
        kind, *numbers = spread.groups()
        word = {"N": "normal {0}±{1}", "U": "uniform {0}-{1}"}[kind]
        run.input_len_spec, run.output_len_spec = word.format(*numbers[:2]), word.format(*numbers[2:])


def _fill_counts(step: BenchStep, metrics: dict[str, Any]) -> None:
    step.duration_s = positive(metrics.get("run_duration"))
    step.completed, step.failed = (
        count(metrics.get(f"num_{name}_requests")) for name in ("completed", "error")
    )
    step.requested = count(metrics.get("num_requests"))
    step.rps = positive(metrics.get("requests_per_second"))
    step.output_tps = positive(metrics.get("mean_output_throughput_tokens_per_s"))
    step.input_tps = positive(metrics.get("mean_input_throughput_tokens_per_s"))
    step.total_tps = positive(metrics.get("mean_total_tokens_throughput_tokens_per_s"))
    step.error_kinds = {
        str(code)[:20]: n
        for code, raw in list(as_dict(metrics.get("error_codes_frequency")).items())[:20]
        if (n := count(raw))
    }


def _request(i: int, row: dict[str, Any], factor: float) -> BenchRequest:
    failed = number(row.get("error_code")) is not None
    return BenchRequest(
        request_no=i,
        ttft_s=scaled(row.get("ttft"), factor),
        e2e_s=scaled(row.get("e2e_latency"), factor),
        tpot_s=scaled(row.get("tpot"), factor),
        input_tokens=count(row.get("num_input_tokens")),
        output_tokens=count(row.get("num_output_tokens")),
        status="error" if failed else "ok",
        error_kind=words(str(row["error_code"])) if failed else None,
    )
