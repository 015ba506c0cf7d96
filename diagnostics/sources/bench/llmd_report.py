"""llm-d benchmark report 0.1, 0.2 and 0.2.1, also partial: one report is one step, ``units`` rule."""

from __future__ import annotations

import re
from typing import Any

from msgspec import NODEFAULT
from msgspec.structs import fields

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.values import (
    add_block,
    as_dict,
    count,
    model_name,
    number,
    positive,
    set_load,
    words,
)

FORMAT = "llmd-report"
HINTS: tuple[str, ...] = ('"version"', '"request_performance"', '"results"')
VENDOR_KEY = "llm_serving_diagnostics"
UNITS = {
    "s": 1.0,
    "s/token": 1.0,
    "ms": 1e-3,
    "ms/token": 1e-3,
    "count": 1.0,
    "tokens": 1.0,
    "tokens/s": 1.0,
    "queries/s": 1.0,
    "percent": 0.01,
    "fraction": 1.0,
    "ratio": 1.0,
    "Watts": 1.0,
    "W": 1.0,
}
_LATENCIES = {
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "inter_token_latency": "itl",
    "normalized_time_per_output_token": "ntpot",
    "request_latency": "e2e",
}
_RATES = {
    "input_token_rate": "input_tps",
    "output_token_rate": "output_tps",
    "total_token_rate": "total_tps",
    "request_rate": "rps",
    "requests_rate": "rps",
    "requests_per_sec": "rps",
    "output_tokens_per_sec": "output_tps",
    "input_tokens_per_sec": "input_tps",
    "total_tokens_per_sec": "total_tps",
}
_NOT_RESTORED = frozenset(
    {"steps", "stats", "requests", "source", "source_path", "format", "warnings", "ordinal"}
)
_DURATION = re.compile(r"^PT(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?$")


def recognise(content: Content) -> bool:
    """A version with ``run`` and ``results``, or the older ``scenario`` and ``metrics``."""
    value = as_dict(content.first)
    version = str(value.get("version", ""))
    return (version.startswith("0.2") and {"run", "results"} <= value.keys()) or (
        version == "0.1" and {"scenario", "metrics"} <= value.keys()
    )


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one step a report."""
    return [_read_one(source, place, value) for place, value in content.records if "version" in value]


def _read_one(source: str, place: str, value: dict[str, Any]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="unknown", format_era=str(value["version"]))
    step = BenchStep(source_path=place)
    run.steps.append(step)
    if run.format_era == "0.1":
        _read_v01(run, step, value)
    else:
        _read_v02(run, step, value)
    return run


def _read_v01(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    scenario, metrics = as_dict(value.get("scenario")), as_dict(value.get("metrics"))
    host, load = as_dict(scenario.get("host")), as_dict(scenario.get("load"))
    run.model = model_name(as_dict(scenario.get("model")).get("name"))
    run.weight_format = words(as_dict(scenario.get("model")).get("quantization"))
    accelerators = [as_dict(entry) for entry in host.get("accelerator") or []]
    _fill_accelerators(
        run, accelerators, [str(kind) for kind in host.get("type") or []], [1] * len(accelerators)
    )
    engines = [as_dict(e) for e in as_dict(scenario.get("platform")).get("engine") or []]
    if engines:
        run.engine, run.engine_version = words(engines[0].get("name")), words(engines[0].get("version"))
    run.tool = words(load.get("name")) or run.tool
    args = as_dict(load.get("args"))
    set_load(step, args.get("qps_values"), None)
    step.duration_s = positive(as_dict(metrics.get("time")).get("duration"))
    run.started_at = number(as_dict(metrics.get("time")).get("start"))
    _fill_performance(run, step, metrics)
    _mark_example(run, step)


def _read_v02(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    about, scenario = as_dict(value.get("run")), as_dict(value.get("scenario"))
    load = as_dict(as_dict(scenario.get("load")).get("standardized"))
    run.tool, run.tool_version = _known(load.get("tool")) or run.tool, _known(load.get("tool_version"))
    run.extra |= {key: about[key] for key in ("uid", "eid", "cid") if about.get(key)}
    run.started_local = str(as_dict(about.get("time")).get("start") or "") or None
    step.duration_s = iso_duration(as_dict(about.get("time")).get("duration"))
    _fill_stack(run, [as_dict(c) for c in scenario.get("stack") or []])
    for spec, key in (("input_len_spec", "input_seq_len"), ("output_len_spec", "output_seq_len")):
        setattr(run, spec, _length(as_dict(load.get(key))))
    prefix = as_dict(load.get("prefix"))
    run.prefix_groups = count(prefix.get("num_groups"))
    run.shared_prefix_tokens = count(as_dict(prefix.get("prefix_len")).get("value"))
    turns = as_dict(load.get("multi_turn"))
    run.multi_turn = bool(turns.get("enabled", True)) if turns else None
    if load.get("stage") is not None:
        step.extra["stage"] = count(load.get("stage"))
    set_load(step, load.get("rate_qps"), load.get("concurrency"))
    results = as_dict(value.get("results"))
    _fill_performance(run, step, as_dict(as_dict(results.get("request_performance")).get("aggregate")))
    _fill_observability(step, as_dict(results.get("observability")))
    if not scenario:
        run.warnings.append("a partial report without scenario: deployment and workload are unknown")
    _restore(run, step, scenario)
    _mark_example(run, step)


def _restore(run: BenchRun, step: BenchStep, scenario: dict[str, Any]) -> None:
    """Fields that our own export keeps beside the standard ones; they are complete, so the rest is unset."""
    native = as_dict(as_dict(scenario.get("load")).get("native"))
    kept = as_dict(as_dict(native.get("config")).get(VENDOR_KEY))
    if not {"run", "step"} <= kept.keys():
        return
    for target, values in ((run, as_dict(kept["run"])), (step, as_dict(kept["step"]))):
        for entry in fields(target):
            if entry.name in _NOT_RESTORED:
                continue
            default = entry.default if entry.default_factory is NODEFAULT else entry.default_factory()
            value = values.get(entry.name, default)
            setattr(target, entry.name, tuple(value) if entry.name == "spec_per_position" else value)


def _known(value: Any) -> str | None:
    """Words other than ``unknown``, which stands where the schema demands something."""
    text = words(value)
    return None if text == "unknown" else text


def iso_duration(value: Any) -> float | None:
    """Seconds of ``PT49.9S``; plain numbers are seconds already."""
    if isinstance(value, int | float):
        return positive(value)
    match = _DURATION.match(str(value or ""))
    if not match or not any(match.groups()):
        return None
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return hours * 3600 + minutes * 60 + seconds


def _length(block: dict[str, Any]) -> str | None:
    kind, value = words(block.get("distribution")), number(block.get("value"))
    if kind in (None, "other") or value is None:
        return None
    if kind == "gaussian":
        return f"normal {value:g} sd {number(block.get('std_dev')) or 0:g}"
    if kind in ("random", "uniform"):
        return f"uniform {number(block.get('min')) or 0:g}-{number(block.get('max')) or value:g}"
    return f"{kind} {value:g}"


def _fill_stack(run: BenchRun, stack: list[dict[str, Any]]) -> None:
    engines = [c for c in stack if as_dict(c.get("standardized")).get("accelerator")]
    parts = [as_dict(c.get("standardized")) for c in engines]
    if not parts:
        return
    run.model = model_name(as_dict(parts[0].get("model")).get("name"))
    run.engine, run.engine_version = _known(parts[0].get("tool")), _known(parts[0].get("tool_version"))
    replicas = [count(part.get("replicas")) or 1 for part in parts]
    accelerators = [as_dict(part.get("accelerator")) for part in parts]
    _fill_accelerators(run, accelerators, [str(part.get("role")) for part in parts], replicas)
    run.replicas = sum(replicas)
    args = as_dict(as_dict(engines[0].get("native")).get("args"))
    run.max_model_len = count(args.get("--max-model-len"))
    run.max_num_seqs = count(args.get("--max-num-seqs"))


def _fill_accelerators(
    run: BenchRun, accelerators: list[dict[str, Any]], roles: list[str], replicas: list[int]
) -> None:
    if not accelerators:
        return
    run.gpu_model = words(accelerators[0].get("model"))
    sizes = [(count(a.get("count")) or 0) * n for a, n in zip(accelerators, replicas, strict=True)]
    run.gpus = sum(sizes) or None
    degrees = [as_dict(a.get("parallelism")) for a in accelerators]
    for name in ("tp", "pp", "dp", "ep"):
        found = {count(d.get(name)) for d in degrees}
        if len(found) == 1:
            setattr(run, name, found.pop())
    if {"prefill", "decode"} <= set(roles):
        run.prefill_gpus = sum(size for size, role in zip(sizes, roles, strict=False) if role == "prefill")
        run.decode_gpus = sum(size for size, role in zip(sizes, roles, strict=False) if role == "decode")


def _fill_performance(run: BenchRun, step: BenchStep, aggregate: dict[str, Any]) -> None:
    requests = as_dict(aggregate.get("requests"))
    step.requested, step.failed = count(requests.get("total")), count(requests.get("failures"))
    step.incomplete = count(requests.get("incomplete"))
    if step.requested is not None:
        step.completed = step.requested - (step.failed or 0) - (step.incomplete or 0)
        step.origins["completed"] = "derived"
    for key, metric in (("input_length", "input_len"), ("output_length", "output_len")):
        _add(run, step, key, metric, requests)
    latencies = as_dict(aggregate.get("latency"))
    for key, metric in _LATENCIES.items():
        _add(run, step, key, metric, latencies)
    rates = as_dict(aggregate.get("throughput"))
    for key, name in _RATES.items():
        entry = rates.get(key)
        block = as_dict(entry)
        if block and str(block.get("units")) in ("tokens/s", "queries/s"):
            setattr(step, name, number(block.get("mean")))
        elif block:
            run.warnings.append(f"{key} has no known unit ({block.get('units')!r}): left out")
        elif number(entry) is not None and run.format_era == "0.1":
            setattr(step, name, number(entry))


def _add(run: BenchRun, step: BenchStep, key: str, metric: str, parent: dict[str, Any]) -> None:
    block = as_dict(parent.get(key))
    if not block:
        return
    factor = UNITS.get(str(block.get("units")))
    if factor is None:
        run.warnings.append(f"{key} has no known unit ({block.get('units')!r}): left out")
        return
    population = "gaps" if metric == "itl" else "requests"
    unit = "tokens" if metric.endswith("_len") else "s"
    add_block(step, metric, block, factor, unit=unit, population=population)


def _fill_observability(step: BenchStep, observed: dict[str, Any]) -> None:
    for component in observed.get("components") or []:
        aggregate = as_dict(as_dict(component).get("aggregate"))
        usage = as_dict(aggregate.get("kv_cache_usage"))
        factor = UNITS.get(str(usage.get("units")))
        if factor is not None and step.kv_usage_mean is None:
            mean, peak = number(usage.get("mean")), number(usage.get("max"))
            step.kv_usage_mean = None if mean is None else mean * factor
            step.kv_usage_max = None if peak is None else peak * factor
            step.waiting_mean = number(as_dict(aggregate.get("waiting_requests")).get("mean"))
            step.running_mean = number(as_dict(aggregate.get("running_requests")).get("mean"))
    started = as_dict(as_dict(observed.get("pod_startup_times")).get("aggregate"))
    if started.get("units") == "s":
        step.startup_s, step.startup_kind = number(started.get("mean")), "cold"


def _mark_example(run: BenchRun, step: BenchStep) -> None:
    """Documentation examples carry made-up numbers: metrics of unlike meaning share one value."""
    if "example" in run.source.rsplit("/", 1)[-1].lower():
        run.evidence_kind, run.origins["evidence_kind"] = "example", "named"
    values = [step.stat(m, "mean") for m in ("ttft", "tpot", "e2e", "ntpot")]
    found = [v for v in values if v is not None]
    if len(found) > 2 and len(set(found)) == 1:
        run.evidence_kind = "example"
        run.warnings.append(
            "TTFT, token time and end-to-end latency are the same number: made-up example values"
        )
