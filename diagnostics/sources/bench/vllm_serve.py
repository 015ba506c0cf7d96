"""``vllm bench serve`` of all eras, its forks, and the files of ``vllm bench sweep serve``."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.checks import time_factor
from diagnostics.sources.bench.columns import apply_run_field, run_field
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.gaps import all_kept
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.rows import request_lists, request_row
from diagnostics.sources.bench.values import (
    MILLI,
    PERCENT,
    add_computed,
    add_stat,
    boolean,
    count,
    derive,
    model_name,
    number,
    positive,
    scaled,
    set_load,
    stat_name,
    words,
)

FORMAT = "vllm-serve"
HINTS: tuple[str, ...] = ('"request_throughput"', '"total_input_tokens"', '"output_throughput"')
MAX_LISTED_ERRORS = 20

_METRICS = {
    "ttft": ("ttft", "requests"),
    "tpot": ("tpot", "requests"),
    "itl": ("itl", "gaps"),
    "e2el": ("e2e", "requests"),
    "e2e_latency": ("e2e", "requests"),
    "client_queue_time": ("client_queue", "requests"),
    "e2el_including_client_queue": ("e2e_with_client_queue", "requests"),
}
_STAT_KEY = re.compile(r"^(mean|median|std|p\d{1,2}(?:\.\d+)?)_(" + "|".join(_METRICS) + r")(_ms)?$")
_LISTS = (
    "input_lens",
    "output_lens",
    "ttfts",
    "itls",
    "start_times",
    "generated_texts",
    "errors",
    "latencies",
    "queue_times",
    "server_queue_times",
    "server_ttfts",
)
_KNOWN = {
    *_LISTS,
    *("date", "endpoint_type", "backend", "label", "model_id", "tokenizer_id", "num_prompts", "best_of"),
    *("use_beam_search", "request_rate", "burstiness", "max_concurrency", "duration", "completed", "failed"),
    *(
        "total_input_tokens",
        "total_output_tokens",
        "request_throughput",
        "request_goodput",
        "request_goodput:",
    ),
    *("output_throughput", "input_throughput", "total_token_throughput", "max_output_tokens_per_s"),
    *("max_concurrent_requests", "rtfx", "ramp_up_strategy", "ramp_up_start_rps", "ramp_up_end_rps"),
    *("rps_change_events", "run_number", "max_num_seqs"),
    *(
        "spec_decode_acceptance_rate",
        "spec_decode_acceptance_length",
        "spec_decode_per_position_acceptance_rates",
    ),
}


def recognise(content: Content) -> bool:
    """Request throughput and total counts beside latency keys, without a mark of SGLang or InferenceX."""
    records = content.records
    return bool(records) and all(_is_result(value) or _is_failure(value) for _, value in records[:20])


def _is_result(value: dict[str, Any]) -> bool:
    keys = value.keys()
    if "accept_length" in keys or "random_range_ratio" in keys or "hw" in keys:
        return False
    return (
        {"request_throughput", "duration", "completed"} <= keys
        or {"request_throughput", "num_prompts"} <= keys
    ) and any(_STAT_KEY.match(key) for key in keys)


def _is_failure(value: dict[str, Any]) -> bool:
    return {"run_number", "error_type", "serve_overrides"} <= value.keys()


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a document: ``--append-result`` and ``summary.json`` hold several."""
    found = [(place, value) for place, value in content.records if _is_result(value) or _is_failure(value)]
    return [_read_one(source, place, value) for place, value in found]


def _read_one(source: str, place: str, value: dict[str, Any]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="vllm bench serve")
    step = BenchStep(source_path=place)
    run.steps.append(step)
    if _is_failure(value):
        run.tool = "vllm bench sweep serve"
        step.valid, step.invalid_reason = (
            False,
            f"sweep cell failed: {words(value.get('error_type')) or 'unknown'}",
        )
        run.extra["serve_overrides"] = value.get("serve_overrides")
        return run
    _describe(run, value)
    fill_counts(step, value)
    _fill_load(step, value)
    fill_stats(run, step, value)
    _fill_speculation(run, step, value)
    _fill_requests(run, step, value)
    run.extra |= {k: v for k, v in value.items() if k not in _KNOWN and not _STAT_KEY.match(k) and _small(v)}
    _fill_metadata(run)
    apply_name(run, source)
    return run


def _fill_metadata(run: BenchRun) -> None:
    """What the user wrote beside the result with ``--metadata``, where a key names a setting that is still unknown."""
    for key, value in run.extra.items():
        name = run_field(key)
        if (
            name is not None
            and isinstance(value, str)
            and getattr(run, name) is None
            and apply_run_field(run, key, value)
        ):
            run.origins[name] = "named"


def _small(value: Any) -> bool:
    return isinstance(value, str | int | float | bool) and len(str(value)) <= 200


def _describe(run: BenchRun, value: dict[str, Any]) -> None:
    run.client_protocol = words(value.get("backend")) or words(value.get("endpoint_type"))
    run.started_local = words(value.get("date"))
    run.model = model_name(value.get("model_id"))
    derive(run, "weight_format", weight_format_in(run.model), "named")
    run.max_num_seqs = count(value.get("max_num_seqs"))
    run.ignore_eos = boolean(value.get("ignore_eos"))
    run.tp = count(value.get("tensor_parallel_size"))
    run.format_era = _era(value)
    run.streaming = True if any(key.endswith("_ttft_ms") for key in value) else None
    if value.get("run_number") is not None:
        run.tool = "vllm bench sweep serve"
    if "request_goodput:" in value and run.tool == "vllm bench serve":
        run.format_era = "2024 to mid-2025"


def _era(value: dict[str, Any]) -> str:
    if "max_concurrent_requests" in value:
        return "late 2025 on"
    if "best_of" in value:
        return "2024 fork"
    return "2025" if "endpoint_type" in value else "2024 to 2025"


def fill_counts(step: BenchStep, value: dict[str, Any]) -> None:
    """Counts and whole-run rates under their vLLM names; SGLang and table readers use the same ones."""
    step.requested = count(value.get("num_prompts"))
    step.completed, step.failed = count(value.get("completed")), count(value.get("failed"))
    step.duration_s = number(value.get("duration"))
    step.input_tokens, step.output_tokens = (
        count(value.get(f"total_{side}_tokens")) for side in ("input", "output")
    )
    step.rps, step.output_tps = (
        number(value.get("request_throughput")),
        number(value.get("output_throughput")),
    )
    step.input_tps = number(value.get("input_throughput"))
    step.total_tps = number(value.get("total_token_throughput"))
    if step.total_tps is None:
        step.total_tps = number(value.get("total_throughput"))
    step.peak_output_tps = positive(value.get("max_output_tokens_per_s"))
    step.concurrency_peak = positive(value.get("max_concurrent_requests"))
    step.goodput_rps = number(value.get("request_goodput", value.get("request_goodput:")))


def _fill_load(step: BenchStep, value: dict[str, Any]) -> None:
    set_load(
        step, value.get("request_rate"), value.get("max_concurrency"), burstiness=value.get("burstiness")
    )
    if words(value.get("ramp_up_strategy")):
        step.load_mode, step.pooled = "ramp", True
        step.extra["ramp"] = [value.get("ramp_up_start_rps"), value.get("ramp_up_end_rps")]


def fill_stats(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    """Statistics keys; those without ``_ms`` are read only when their unit can be proved."""
    bare: list[tuple[str, str, str, Any]] = []
    for key, entry in value.items():
        match = _STAT_KEY.match(key)
        if not match:
            continue
        metric, population = _METRICS[match.group(2)]
        if step.stat(metric, stat_name(match.group(1)) or "") is not None:
            continue
        if match.group(3):
            n = _size(step, population)
            add_stat(step, metric, stat_name(match.group(1)), entry, MILLI, population=population, n=n)
        else:
            bare.append((metric, population, match.group(1), entry))
    step.client_queue_p99_s = scaled(value.get("p99_client_queue_time_ms"), MILLI)
    if not bare:
        return
    central = {(m, s): number(e) for m, _, s, e in bare}
    e2e = central.get(("e2e", "mean")) or central.get(("e2e", "median"))
    factor = time_factor(step, e2e)
    if factor is None:
        run.warnings.append("latencies carry no unit and no cross check proves one: they are left out")
        return
    for metric, population, stat, entry in bare:
        add_stat(
            step, metric, stat_name(stat), entry, factor, population=population, n=_size(step, population)
        )
        step.origins[metric] = "derived"
    unit = "seconds" if factor == 1 else "milliseconds"
    run.warnings.append(f"latencies carry no unit; rate x latency against the concurrency cap proves {unit}")
    run.format_era = f"fork in {unit}"


def _size(step: BenchStep, population: str) -> int | None:
    return step.completed if population == "requests" else None


def _fill_speculation(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    step.spec_acceptance = scaled(value.get("spec_decode_acceptance_rate"), PERCENT)
    step.spec_tokens_per_step = number(value.get("spec_decode_acceptance_length"))
    rates = value.get("spec_decode_per_position_acceptance_rates")
    if isinstance(rates, list):
        step.spec_per_position = tuple(r for r in map(number, rates) if r is not None)
    if step.spec_acceptance is not None or step.spec_tokens_per_step is not None:
        step.spec_scope = "step"
        derive(run, "spec_method", "unknown")
        derive(run, "spec_draft_tokens", len(step.spec_per_position) or None)


def _fill_requests(run: BenchRun, step: BenchStep, value: dict[str, Any]) -> None:
    """Rows from the parallel lists of ``--save-detailed``; failed requests stay in them with noughts."""
    lists = request_lists(value, _LISTS)
    size = len(lists.get("ttfts", lists.get("input_lens", [])))
    if size == 0:
        return
    odd = [name for name, entries in lists.items() if len(entries) != size]
    if odd:
        run.warnings.append(f"lists differ in length ({', '.join(odd)}): those are left out")
        lists = {name: entries for name, entries in lists.items() if name not in odd}
    starts = [t for t in map(number, lists.get("start_times", [])) if t is not None]
    origin = min(starts, default=0.0)
    step.requests = [request_row(lists, i, origin) for i in range(size)]
    done = [r for r in step.requests if r.status == "ok"]
    add_computed(step, "input_len", (r.input_tokens for r in done), unit="tokens")
    add_computed(step, "output_len", (r.output_tokens for r in done), unit="tokens")
    add_computed(step, "ttft", (r.ttft_s for r in done))
    add_computed(step, "tpot", (r.tpot_s for r in done))
    add_computed(step, "e2e", (r.e2e_s for r in done))
    add_computed(step, "server_ttft", (t for t in map(number, lists.get("server_ttfts", [])) if t))
    add_computed(step, "itl", (g for r in done for g in r.gaps_s), population="gaps")
    if not all_kept(lists.get("itls", [])):
        run.warnings.append(
            "too many gaps between tokens to keep: those of some requests, evenly over the run, are used"
        )
    _count_errors(step)


def _count_errors(step: BenchStep) -> None:
    for row in step.requests:
        if row.error_kind and (
            row.error_kind in step.error_kinds or len(step.error_kinds) < MAX_LISTED_ERRORS
        ):
            step.error_kinds[row.error_kind] = step.error_kinds.get(row.error_kind, 0) + 1


__all__ = ["FORMAT", "HINTS", "fill_counts", "fill_stats", "read", "recognise"]
