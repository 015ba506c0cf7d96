"""SGLang ``bench_serving``: one JSON line a run, unrelated runs appended to the same file."""

from __future__ import annotations

import math
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.rows import request_lists, request_row
from diagnostics.sources.bench.values import (
    PERCENT,
    add_computed,
    as_dict,
    boolean,
    count,
    derive,
    model_name,
    number,
    scaled,
    set_load,
    words,
)
from diagnostics.sources.bench.vllm_serve import fill_counts, fill_stats

FORMAT = "sglang-serving"
HINTS: tuple[str, ...] = ('"output_throughput"', '"random_range_ratio"', '"total_output_tokens"')
_LISTS = ("input_lens", "output_lens", "ttfts", "itls", "errors", "cached_tokens", "latencies", "start_times")


def recognise(content: Content) -> bool:
    """Totals and an output rate beside SGLang's own keys; LMDeploy's fork says so in ``backend``."""
    records = content.records
    return bool(records) and all(
        is_serving_line(v) and v.get("backend") != "lmdeploy" for _, v in records[:20]
    )


def is_serving_line(value: dict[str, Any]) -> bool:
    """A line of this client or of a fork of it."""
    keys = value.keys()
    own = {"accept_length", "random_range_ratio", "mean_e2e_latency_ms", "sharegpt_output_len"}
    return {"output_throughput", "completed", "duration", "total_output_tokens"} <= keys and bool(own & keys)


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a line."""
    return [read_line(source, place, value) for place, value in content.records if is_serving_line(value)]


def read_line(source: str, place: str, value: dict[str, Any]) -> BenchRun:
    """One line of the client or of its LMDeploy fork."""
    run = BenchRun(source=source, format=FORMAT, tool="sglang bench_serving")
    step = BenchStep(source_path=place)
    run.steps.append(step)
    run.client_protocol, run.dataset = words(value.get("backend")), words(value.get("dataset_name"))
    run.format_era = _era(value)
    run.extra |= {
        k: value[k] for k in ("tag", "gsp_num_groups", "gsp_prompts_per_group") if value.get(k) is not None
    }
    fill_counts(step, value)
    set_load(step, value.get("request_rate"), value.get("max_concurrency"))
    if step.load_mode in ("open", "open-capped"):
        step.arrival = "poisson"
    step.concurrency_mean = number(value.get("concurrency"))
    fill_stats(run, step, value)
    _fill_lengths(run, step, value)
    _fill_cache(step, as_dict(value.get("cache_report")))
    accepted = number(value.get("accept_length"))
    if accepted is not None and accepted > 0:
        step.spec_tokens_per_step, step.spec_scope = accepted, "lifetime"
        run.warnings.append("accept_length covers the server's whole life, not only this run")
    _describe_server(run, as_dict(value.get("server_info")))
    _fill_requests(step, value)
    if "failed" not in value and not step.requests:
        run.extra["failures_unknown"] = True
    apply_name(run, source)
    return run


def _era(value: dict[str, Any]) -> str:
    if "max_concurrent_requests" in value:
        return "0.5.5 on"
    return "0.5" if "server_info" in value or "total_throughput" in value else "0.4"


def _fill_lengths(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    """Requested lengths; a ratio of 1 means constant here, the opposite of vLLM's meaning."""
    if not (run.dataset or "").startswith("random"):
        return
    ratio = number(value.get("random_range_ratio"))
    for name, key in (("input_len_spec", "random_input_len"), ("output_len_spec", "random_output_len")):
        longest = count(value.get(key))
        if longest is None or ratio is None:
            continue
        fixed = ratio == 1
        setattr(
            run, name, f"fixed {longest}" if fixed else f"uniform {math.floor(longest * ratio)}-{longest}"
        )
    retokenized = count(value.get("total_output_tokens_retokenized"))
    if retokenized is not None:
        step.extra["output_tokens_retokenized"] = retokenized


def _fill_cache(step: BenchStep, report: dict[str, Any]) -> None:
    step.cache_hit = scaled(report.get("cache_hit_rate_pct"), PERCENT)
    step.cached_input_tokens = count(report.get("total_cached_tokens"))


def _describe_server(run: BenchRun, info: dict[str, Any]) -> None:
    """Only named fields: the answer may hold keys and host names."""
    if not info:
        return
    run.engine, run.engine_version = "sglang", words(info.get("version"))
    run.model = model_name(info.get("served_model_name")) or model_name(info.get("model_path"))
    run.weight_format = words(info.get("quantization"))
    run.tp, run.dp, run.pp = (count(info.get(key)) for key in ("tp_size", "dp_size", "pp_size"))
    run.ep = count(info.get("ep_size"))
    run.max_num_seqs = count(info.get("max_running_requests"))
    run.max_model_len = count(info.get("context_length"))
    disabled = boolean(info.get("disable_radix_cache"))
    run.prefix_caching = None if disabled is None else not disabled
    run.spec_method = (words(info.get("speculative_algorithm")) or "none").lower()
    run.spec_draft_tokens = count(info.get("speculative_num_draft_tokens"))
    run.draft_model = model_name(info.get("speculative_draft_model_path"))
    kv_format = words(info.get("kv_cache_dtype"))
    run.kv_format = None if kv_format == "auto" else kv_format
    derive(run, "weight_format", weight_format_in(run.model), "named")


def _fill_requests(step: BenchStep, value: dict[str, Any]) -> None:
    lists = request_lists(value, _LISTS)
    size = len(lists.get("ttfts", []))
    lists = {name: entries for name, entries in lists.items() if len(entries) == size}
    if not size:
        return
    starts = [t for t in map(number, lists.get("start_times", [])) if t is not None]
    origin = min(starts, default=0.0)
    step.requests = [request_row(lists, i, origin) for i in range(size)]
    done = [row for row in step.requests if row.status == "ok"]
    add_computed(step, "input_len", (row.input_tokens for row in done), unit="tokens")
    add_computed(step, "output_len", (row.output_tokens for row in done), unit="tokens")
    add_computed(step, "ttft", (row.ttft_s for row in done))
    add_computed(step, "e2e", (row.e2e_s for row in done))
    add_computed(step, "tpot", (row.tpot_s for row in done))
    derive(step, "requested", size)
    for row in step.requests:
        if row.error_kind:
            step.error_kinds[row.error_kind] = step.error_kinds.get(row.error_kind, 0) + 1
