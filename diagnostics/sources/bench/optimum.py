"""optimum-benchmark: the sectioned report since 0.2 and the ``inference_results.csv`` before."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.values import (
    UNIT_FACTORS,
    add_block,
    add_stat,
    as_dict,
    count,
    derive,
    model_name,
    number,
    words,
)

FORMAT = "optimum-benchmark"
HINTS: tuple[str, ...] = ('"forward"', '"latency"', '"unit"')
_SECTIONS = ("load", "prefill", "decode", "per_token", "forward", "call")
_GENERATE = "generate.throughput(tokens/s)"
# Columns of the short report, by their names in the full one.
_SHORT = {
    "Forward Latency (s)": "forward.latency(s)",
    "Generate Throughput (tokens/s)": _GENERATE,
    "Generate Peak Memory (MB)": "generate.peak_memory(MB)",
    "Quantization Scheme": "backend.quantization_scheme",
}
_SETTINGS = {
    "batch_size": re.compile(r"batch_size[_(](\d+)"),
    "sequence_length": re.compile(r"sequence_length[_(](\d+)"),
    "new_tokens": re.compile(r"new_tokens[_(](\d+)"),
}


def recognise(content: Content) -> bool:
    """Sections with a latency that names its unit, or the old header with units in brackets."""
    value = as_dict(content.first)
    report = as_dict(value.get("report")) or value
    sections = [as_dict(report.get(name)) for name in _SECTIONS if isinstance(report.get(name), dict)]
    if any("unit" in as_dict(section.get("latency")) for section in sections):
        return True
    return (_GENERATE in content.header and "forward.latency(s)" in content.header) or _SHORT.keys() <= set(
        content.header
    )


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a report or a row."""
    if content.documents:
        return [_read_report(source, as_dict(content.first))]
    return [
        _read_row(source, line, {_SHORT.get(name, name): cell for name, cell in row.items()})
        for line, row in content.table()
    ]


def _read_report(source: str, value: dict[str, Any]) -> BenchRun:
    report, config = as_dict(value.get("report")) or value, as_dict(value.get("config"))
    run = BenchRun(source=source, format=FORMAT, tool="optimum-benchmark", format_era="0.2 on")
    step = BenchStep(load_mode="offline", arrival="none")
    run.steps.append(step)
    backend, scenario = as_dict(config.get("backend")), as_dict(config.get("scenario"))
    run.model, run.engine = model_name(backend.get("model")), words(backend.get("name"))
    run.engine_version = words(backend.get("version"))
    step.batch_size = count(as_dict(scenario.get("input_shapes")).get("batch_size"))
    metrics = {"prefill": "prefill", "decode": "decode", "per_token": "tpot", "forward": "e2e", "call": "e2e"}
    for name, metric in metrics.items():
        latency = as_dict(as_dict(report.get(name)).get("latency"))
        factor = UNIT_FACTORS.get(str(latency.get("unit")))
        if latency and factor is None:
            run.warnings.append(f"{name}.latency has the unknown unit {latency.get('unit')!r}: left out")
        elif latency:
            add_block(
                step,
                metric,
                {k: v for k, v in latency.items() if k != "stdev_"},
                factor or 1.0,
                population="batches",
            )
    load = as_dict(as_dict(report.get("load")).get("latency"))
    if load.get("unit") == "s":
        step.load_s = number(load.get("mean"))
    step.prefill_s = step.stat("prefill", "mean")
    _fill_rates(run, step, report)
    return run


def _fill_rates(run: BenchRun, step: BenchStep, report: dict[str, Any]) -> None:
    for name in ("decode", "prefill", "forward", "call"):
        rate = as_dict(as_dict(report.get(name)).get("throughput"))
        unit, value = rate.get("unit"), number(rate.get("value"))
        if value is None:
            continue
        if unit == "tokens/s" and name == "decode":
            step.output_tps = value
        elif unit == "tokens/s" and name == "prefill":
            step.input_tps = value
        elif unit == "samples/s":
            step.rps = step.rps or value
        else:
            run.warnings.append(f"{name}.throughput has the unit {unit!r}: left out")


def _read_row(source: str, line: int, row: dict[str, str]) -> BenchRun:
    """Before 0.2: units stand in the header, settings in a full report's columns or only in a name."""
    run = BenchRun(source=source, format=FORMAT, tool="optimum-benchmark", format_era="before 0.2")
    step = BenchStep(source_path=f"line {line}", load_mode="offline", arrival="none")
    run.steps.append(step)
    run.model, run.engine = model_name(row.get("model")), words(row.get("backend.name"))
    run.engine_version = words(row.get("backend.version"))
    run.weight_format = words(row.get("backend.quantization_scheme"))
    derive(run, "weight_format", weight_format_in(run.model), "named")
    if run.weight_format is None:
        run.weight_format = words(row.get("backend.torch_dtype"))
    gpus = re.findall(r"'([^']+)'", row.get("environment.gpus", ""))
    if gpus:
        run.gpu_model, run.gpus = gpus[0], len(gpus)
    step.output_tps = number(row.get(_GENERATE))
    step.prefill_s = number(row.get("forward.latency(s)"))
    add_stat(step, "prefill", "mean", step.prefill_s, population="batches")
    add_stat(step, "e2e", "mean", row.get("generate.latency(s)"), population="batches")
    memory = number(row.get("generate.peak_memory(MB)"))
    if memory is not None:
        step.extra["peak_memory_bytes"] = memory * 1e6
    name = row.get("experiment_name") or source
    for field_name, pattern in _SETTINGS.items():
        match = pattern.search(name)
        if not match:
            continue
        size = int(match.group(1))
        if field_name == "batch_size":
            derive(step, "batch_size", size, "named")
        else:
            derive(
                run,
                "input_len_spec" if field_name == "sequence_length" else "output_len_spec",
                f"fixed {size}",
                "named",
            )
    derive(run, "weight_format", weight_format_in(name), "named")
    apply_name(run, source)
    return run
