"""SemiAnalysis InferenceX / InferenceMAX: flat, agentic and nested aggregates, and the baseline wrapper."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import (
    add_block,
    add_stat,
    as_dict,
    count,
    derive,
    model_name,
    number,
    positive,
    stat_name,
    words,
)
from diagnostics.sources.bench.vllm_serve import fill_stats

FORMAT = "inferencex"
HINTS: tuple[str, ...] = ('"hw"', '"framework"', '"precision"')
_FLAT = re.compile(r"^(mean|median|std|p\d{1,2}(?:\.\d+)?)_(ttft|tpot|itl|e2el|ttlt)$")
_METRICS = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e", "ttlt": "e2e"}
_SYSTEM = ("hw", "framework", "precision", "model")


def recognise(content: Content) -> bool:
    """Hardware, framework and precision beside a per-GPU rate, request metrics or a metrics block."""
    records = content.records
    return bool(records) and all(_is_result(value) for _, value in records[:20])


def _is_result(value: dict[str, Any]) -> bool:
    marks = {"tput_per_gpu", "request_metrics", "metrics", "mean_ttlt"}
    return "hw" in value and sum(key in value for key in _SYSTEM) >= 3 and bool(marks & value.keys())


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one step a document."""
    return [_read_one(source, place, value) for place, value in content.records if _is_result(value)]


def _read_one(source: str, place: str, value: dict[str, Any]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="inferencex", streaming=True)
    step = BenchStep(source_path=place, load_mode="closed", arrival="none")
    run.steps.append(step)
    _describe(run, value)
    step.concurrency_cap = count(value.get("conc", value.get("users")))
    step.requested, step.completed = (
        count(value.get("num_requests_total")),
        count(value.get("num_requests_successful")),
    )
    if "request_metrics" in value:
        run.format_era = "agentic nested"
        _fill_nested(step, as_dict(value["request_metrics"]), as_dict(value.get("server_metrics")))
        step.error_kinds = {
            k: count(v) or 0
            for k, v in as_dict(as_dict(value.get("request_accounting")).get("error_categories")).items()
        }
    elif isinstance(value.get("metrics"), dict):
        run.format_era = "baseline wrapper"
        _fill_wrapper(run, step, value)
    else:
        run.format_era = "agentic flat" if "users" in value else "aggregate"
        _fill_flat(step, value)
    _fill_per_gpu(run, step, value)
    if str(value.get("scenario_type", "")).startswith("agentic"):
        run.multi_turn = True
    apply_name(run, source)
    return run


def _describe(run: BenchRun, value: dict[str, Any]) -> None:
    run.gpu_model, run.engine = words(value.get("hw")), words(value.get("framework"))
    run.model, run.weight_format = model_name(value.get("model")), words(value.get("precision"))
    image = words(value.get("image")) or ""
    run.engine_version = image.rsplit(":", 1)[-1].removeprefix("v") if ":" in image else None
    run.tp, run.ep, run.dp = count(value.get("tp")), count(value.get("ep")), count(value.get("dp"))
    run.spec_method = words(value.get("spec_decoding"))
    run.kv_offload = words(value.get("offload_mode")) or words(value.get("kv_offloading"))
    if run.kv_offload in ("off", "none"):
        run.kv_offload = "none"
    for spec, key in (("input_len_spec", "isl"), ("output_len_spec", "osl")):
        length = count(value.get(key))
        if length is not None:
            setattr(run, spec, f"fixed {length}")
    run.dataset = words(as_dict(value.get("dataset")).get("hf_dataset_name"))
    run.prefill_gpus = count(value.get("num_prefill_gpu", value.get("prefill_gpus")))
    run.decode_gpus = count(value.get("num_decode_gpu", value.get("decode_gpus")))
    run.gpus = count(as_dict(value.get("gpu")).get("n_gpus"))
    if run.prefill_gpus and run.decode_gpus:
        derive(run, "gpus", run.prefill_gpus + run.decode_gpus)
    disaggregated = value.get("disagg") in (True, "true")
    if not disaggregated and value.get("is_multinode") in (False, "false"):
        derive(run, "gpus", run.tp)
    for key in ("scenario_type", "dp_attention", "cluster", "tuning"):
        if value.get(key) is not None:
            run.extra[f"setting:{key}"] = value[key]


def _fill_flat(step: BenchStep, value: dict[str, Any]) -> None:
    """Latencies are seconds here; ``itl`` of these files is a mean per request, that is TPOT."""
    has_tpot = any(key.endswith("_tpot") for key in value)
    for key, entry in value.items():
        match = _FLAT.match(key)
        if not match:
            continue
        metric = _METRICS[match.group(2)]
        if metric == "itl" and not has_tpot:
            metric = "tpot"
        add_stat(step, metric, stat_name(match.group(1)), entry, n=step.completed, population="requests")
    for metric, key in (("input_len", "input_tokens"), ("output_len", "output_tokens_actual")):
        for spelling in ("mean", "median", "p90", "p99"):
            add_stat(step, metric, stat_name(spelling), value.get(f"{spelling}_{key}"), unit="tokens")
    step.input_tps, step.output_tps = (
        number(value.get("input_tput_tps")),
        number(value.get("output_tput_tps")),
    )
    step.total_tps, step.duration_s = (
        number(value.get("total_tput_tps")),
        positive(value.get("duration_seconds")),
    )
    step.rps = positive(value.get("mean_qps"))
    step.cache_hit = number(value.get("server_gpu_cache_hit_rate"))
    _keep(step, "theoretical_cache_hit", number(value.get("theoretical_cache_hit_rate")))
    expected, actual = number(value.get("mean_output_tokens_expected")), step.stat("output_len", "mean")
    if expected and actual:
        _keep(step, "output_tokens_expected", expected)
    _keep(step, "server_requests_completed", count(value.get("total_requests_completed")))


def _keep(step: BenchStep, name: str, value: float | None) -> None:
    if value is not None:
        step.extra[name] = value


def _fill_nested(step: BenchStep, metrics: dict[str, Any], server: dict[str, Any]) -> None:
    latency, tokens, rates = (as_dict(metrics.get(key)) for key in ("latency", "tokens", "throughput"))
    for key, metric in (("ttft", "ttft"), ("e2el", "e2e"), ("tpot", "tpot")):
        add_block(step, metric, latency.get(key), n=step.completed)
    add_block(step, "input_len", tokens.get("input"), unit="tokens")
    add_block(step, "output_len", tokens.get("output_actual"), unit="tokens")
    for side, name in (("input", "input_tps"), ("output", "output_tps"), ("total", "total_tps")):
        setattr(step, name, number(as_dict(rates.get(side)).get("tokens_per_second")))
    step.duration_s = positive(rates.get("duration_seconds"))
    step.rps = number(as_dict(metrics.get("qps")).get("mean"))
    _keep(
        step, "theoretical_cache_hit", number(as_dict(metrics.get("cache")).get("theoretical_cache_hit_rate"))
    )
    _keep(step, "output_tokens_expected", number(as_dict(tokens.get("output_expected")).get("mean")))
    step.cache_hit = number(as_dict(server.get("cache")).get("overall_cache_hit_rate"))
    step.kv_usage_mean = number(as_dict(server.get("kv_cache")).get("gpu_usage_pct"))
    _keep(step, "server_requests_completed", count(as_dict(server.get("tokens")).get("requests_completed")))


def _fill_wrapper(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    metrics, gpu = as_dict(value["metrics"]), as_dict(value.get("gpu"))
    step.completed = count(metrics.get("successful_requests"))
    step.total_tps, step.output_tps = (
        number(metrics.get(f"{kind}_token_throughput")) for kind in ("total", "output")
    )
    step.rps, step.power_w = number(metrics.get("request_throughput")), positive(gpu.get("total_avg_power_w"))
    fill_stats(run, step, metrics)
    run.started_local = words(value.get("ts"))


def _fill_per_gpu(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    """Whole-deployment rates where the file has only figures per GPU; split deployments divide unevenly."""
    gpus = run.gpus
    if step.total_tps is None and number(value.get("tput_per_gpu")) is not None and gpus:
        derive(step, "total_tps", (number(value.get("tput_per_gpu")) or 0.0) * gpus)
    share = number(value.get("output_tput_per_gpu"))
    if step.output_tps is None and share is not None:
        derive(step, "output_tps", share * (run.decode_gpus or gpus or 0) or None)
    if step.output_tps is None and share is not None:
        run.warnings.append("rates are per GPU and the number of GPUs is unknown: left out")
