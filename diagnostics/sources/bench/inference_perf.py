"""inference-perf lifecycle reports: a stage is a step, the summary over stages is no point of a curve."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStat, BenchStep
from diagnostics.sources.bench.checks import halved_token_times
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import add_block, add_computed, as_dict, count, number, set_load, words

FORMAT = "inference-perf"
HINTS: tuple[str, ...] = ('"load_summary"', '"successes"')
_STAGE = re.compile(r"stage_(-?\d+)_")
_SUMMARY = re.compile(r"(?:^|/)summary_\w*lifecycle_metrics")
_LATENCIES = (
    ("request_latency", "e2e", "requests"),
    ("time_to_first_token", "ttft", "requests"),
    ("time_per_output_token", "tpot", "requests"),
    ("normalized_time_per_output_token", "ntpot", "requests"),
    ("inter_token_latency", "itl", "gaps"),
)


def recognise(content: Content) -> bool:
    """A load summary beside successes and failures, or the per-request list."""
    if {"load_summary", "successes", "failures"} <= content.keys:
        return True
    return _is_request_list(content)


def _is_request_list(content: Content) -> bool:
    return isinstance(content.first, list) and {"start_time", "end_time", "info"} <= content.keys


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one step; server-side files become a step that is no load level."""
    run = BenchRun(source=source, format=FORMAT, tool="inference-perf")
    step = BenchStep()
    run.steps.append(step)
    value = as_dict(content.first)
    if _is_request_list(content):
        run.format_era = "per request"
        _fill_requests(step, [row for _, row in content.records])
    elif "latency" in as_dict(value.get("successes")):
        _fill_lifecycle(run, step, value)
    else:
        _fill_server_view(run, step, as_dict(value.get("successes")))
    stage = _STAGE.search(source)
    if stage:
        step.extra["stage"] = int(stage.group(1))
        step.pooled = step.extra["stage"] < 0
    apply_name(run, source)
    return [run]


def _fill_lifecycle(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    load, good, bad = (as_dict(value.get(key)) for key in ("load_summary", "successes", "failures"))
    run.format_era = "0.7 on" if "prompt_tokens" in good or "benchmark_time_seconds" in value else "0.2"
    _fill_load(run, step, load)
    step.completed, step.failed = count(good.get("count")), count(bad.get("count"))
    step.requested = count(load.get("count"))
    step.error_kinds = {str(k): count(v) or 0 for k, v in as_dict(bad.get("by_label")).items()}
    latency, rates = as_dict(good.get("latency")), as_dict(good.get("throughput"))
    for key, metric, population in _LATENCIES:
        add_block(step, metric, latency.get(key), population=population)
    step.rps, step.output_tps = (
        number(rates.get("requests_per_sec")),
        number(rates.get("output_tokens_per_sec")),
    )
    step.input_tps, step.total_tps = (
        number(rates.get("input_tokens_per_sec")),
        number(rates.get("total_tokens_per_sec")),
    )
    if step.rps and step.completed:
        step.duration_s = step.completed / step.rps
        step.origins["duration_s"] = "derived"
    prompts = as_dict(good.get("prompt_tokens"))
    add_block(step, "input_len", prompts.get("total", good.get("prompt_len")), unit="tokens")
    add_block(step, "output_len", good.get("output_tokens", good.get("output_len")), unit="tokens")
    cached, total = (number(as_dict(prompts.get(k)).get("mean")) for k in ("cached", "total"))
    if cached is not None and total:
        step.cache_hit = cached / total
        step.origins["cache_hit"] = "derived"
    run.streaming = "time_to_first_token" in latency or None
    _correct_halved(run, step)


def _fill_load(run: BenchRun, step: BenchStep, load: dict[str, Any]) -> None:
    set_load(step, load.get("requested_rate"), load.get("concurrency"))
    step.achieved_rps = number(load.get("achieved_rate"))
    delay = as_dict(load.get("schedule_delay"))
    step.schedule_delay_p99_s = number(delay.get("p99"))
    add_block(step, "client_delay", delay)
    if _SUMMARY.search(run.source) or "requested_rate" not in load:
        step.pooled, step.load_mode = True, "unknown"
        run.warnings.append("this summary pools stages of different rates: it is no load level")


def _correct_halved(run: BenchRun, step: BenchStep) -> None:
    """Files of 2025 stamp every stream event twice; the true token time follows from the other fields."""
    if not halved_token_times(step):
        return
    gaps = [s for s in step.stats if s.metric in ("tpot", "itl")]
    step.stats = [s for s in step.stats if s not in gaps]
    for s in gaps:
        if s.metric == "tpot":
            step.stats.append(BenchStat("tpot", s.stat, s.value * 2, s.unit, s.population, s.n))
    step.origins["tpot"] = "derived"
    step.extra["itl_step_p75_s"] = next(
        (s.value for s in gaps if s.metric == "itl" and s.stat == "p75"), None
    )
    run.warnings.append(
        "the client stamped every stream event twice: reported TPOT is half the truth and is doubled here, "
        "the gaps between chunks are left out"
    )


def _fill_server_view(run: BenchRun, step: BenchStep, good: dict[str, Any]) -> None:
    """Means over a scrape window: counts and lengths are not the client's and stay out."""
    run.format_era = "server view"
    step.pooled = True
    for key, metric, population in _LATENCIES:
        add_block(step, metric, good.get(key), population=population)
    step.waiting_mean = number(as_dict(good.get("queue_len")).get("mean"))
    step.preemptions = count(as_dict(good.get("num_preemptions_total")).get("mean"))
    step.kv_usage_mean = number(as_dict(good.get("kv_cache_usage_percentage")).get("mean")) or None
    step.extra["server_request_count"] = count(good.get("count"))
    run.warnings.append(
        "server-side means over a scrape window: counts and token lengths are not the client's"
    )


def _fill_requests(step: BenchStep, rows: list[dict[str, Any]]) -> None:
    starts = [number(row.get("start_time")) for row in rows]
    first = min((t for t in starts if t is not None), default=0.0)
    for i, row in enumerate(rows):
        info, start, end = as_dict(row.get("info")), starts[i], number(row.get("end_time"))
        times = [t for t in map(number, info.get("output_token_times") or []) if t is not None]
        error = as_dict(row.get("error"))
        step.requests.append(
            BenchRequest(
                request_no=i,
                start_s=None if start is None else start - first,
                ttft_s=times[0] - start if times and start is not None else None,
                e2e_s=end - start if end is not None and start is not None else None,
                input_tokens=count(info.get("input_tokens")),
                output_tokens=count(info.get("output_tokens")),
                status="error" if row.get("error") else "ok",
                error_kind=words(error.get("error_type")),
            )
        )
    done = [r for r in step.requests if r.status == "ok"]
    step.completed, step.failed = len(done), len(step.requests) - len(done)
    add_computed(step, "ttft", (r.ttft_s for r in done))
    add_computed(step, "e2e", (r.e2e_s for r in done))
    add_computed(step, "input_len", (r.input_tokens for r in done), unit="tokens")
    add_computed(step, "output_len", (r.output_tokens for r in done), unit="tokens")
