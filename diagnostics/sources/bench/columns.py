"""Column names of tables that people make out of benchmark results, and what proves their unit."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.values import (
    MILLI,
    PERCENT,
    add_stat,
    boolean,
    count,
    model_name,
    number,
    positive,
    stat_name,
    words,
)

_STATS = r"(mean|median|avg|std|min|max|p\d{1,3}(?:\.\d+)?)"
_METRICS = {
    "ttft": "ttft",
    "tpot": "tpot",
    "itl": "itl",
    "e2el": "e2e",
    "e2e": "e2e",
    "e2e_latency": "e2e",
    "latency": "e2e",
    "ntpot": "ntpot",
}
_NAMES = "|".join(sorted(_METRICS, key=len, reverse=True))
_TIMED = re.compile(rf"^(?:{_STATS}_)?({_NAMES})_(ms|s|sec)$")
_TIMED_LAST = re.compile(rf"^({_NAMES})_{_STATS}_(ms|s|sec)$")
_UNTIMED = re.compile(rf"^(?:{_STATS}_)?({_NAMES})$|^end_to_end_latency$")
_LENGTH = re.compile(r"^(\d+(?:\.\d+)?)\s*([kK]?)$")

# vLLM's and SGLang's own field names: their writers define the unit, so the name is the proof.
TOOL_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "request_throughput": ("rps", number),
    "throughput_rps": ("rps", number),
    "requests_per_second": ("rps", number),
    "output_throughput": ("output_tps", number),
    "input_throughput": ("input_tps", number),
    "input_throughput_tps": ("input_tps", number),
    "total_token_throughput": ("total_tps", number),
    "total_throughput_tps": ("total_tps", number),
    "output_tps": ("output_tps", number),
    "output_tok_s": ("output_tps", number),
    "request_goodput": ("goodput_rps", number),
    "duration": ("duration_s", number),
    "duration_s": ("duration_s", number),
    "elapsed_time": ("duration_s", number),
    "completed": ("completed", count),
    "num_requests": ("completed", count),
    "failed": ("failed", count),
    "num_prompts": ("requested", count),
    "total_input_tokens": ("input_tokens", count),
    "total_output_tokens": ("output_tokens", count),
    "max_output_tokens_per_s": ("peak_output_tps", positive),
    "max_concurrent_requests": ("concurrency_peak", positive),
    "concurrency": ("concurrency_mean", positive),
    "num_preemptions": ("preemptions", count),
}
# Words that say 'this is a benchmark': one of them must be among the columns.
RESULT_FIELDS = frozenset({"rps", "output_tps", "total_tps", "input_tps", "goodput_rps"})
LOAD_FIELDS: dict[str, str] = {
    "request_rate": "rate",
    "qps": "rate",
    "max_concurrency": "cap",
    "num_clients": "cap",
    "batch_size": "batch",
    "bs": "batch",
}
_RUN_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "tp": ("tp", count),
    "tensor_parallel_size": ("tp", count),
    "pp": ("pp", count),
    "dp": ("dp", count),
    "data_parallel_size": ("dp", count),
    "ep": ("ep", count),
    "gpu": ("gpu_model", words),
    "hardware": ("gpu_model", words),
    "num_of_hardware": ("gpus", count),
    "gpus": ("gpus", count),
    "framework": ("engine", words),
    "engine": ("engine", words),
    "engine_version": ("engine_version", words),
    "backend": ("client_protocol", words),
    "model": ("model", model_name),
    "model_id": ("model", model_name),
    "quantization": ("weight_format", words),
    "weight_format": ("weight_format", words),
    "quantization_scheme": ("weight_format", words),
    "dtype": ("weight_format", words),
    "speculative": ("spec_method", words),
    "speculative_method": ("spec_method", words),
    "speculative_model": ("draft_model", words),
    "num_speculative_tokens": ("spec_draft_tokens", count),
    "dataset_name": ("dataset", words),
    "dataset": ("dataset", words),
    "max_num_seqs": ("max_num_seqs", count),
    "max_num_batched_tokens": ("max_batched_tokens", count),
    "max_model_len": ("max_model_len", count),
    "enable_prefix_caching": ("prefix_caching", boolean),
    "enable_chunked_prefill": ("chunked_prefill", boolean),
    "offload": ("kv_offload", words),
    "seed": ("seed", count),
}
_SHARES = {"gpu_hit_rate": "cache_hit", "cache_hit_rate": "cache_hit", "avg_kv_cache_usage": "kv_usage_mean"}


def normalise(column: str) -> str:
    """One spelling: lower case, words joined by underscores, percent of a unit in brackets kept."""
    return re.sub(r"[\s\-/.]+", "_", column.strip().strip("`*").lower())


def timed(name: str) -> tuple[str, str, float] | None:
    """Metric, statistic and factor of a column that carries its unit, else None."""
    match, last = _TIMED.match(name), _TIMED_LAST.match(name)
    if match:
        stat, metric, unit = match.group(1) or "mean", match.group(2), match.group(3)
    elif last:
        metric, stat, unit = last.groups()
    else:
        return None
    spelled = stat_name("p99.9" if stat == "p999" else stat)
    return None if spelled is None else (_METRICS[metric], spelled, MILLI if unit == "ms" else 1.0)


def untimed(name: str) -> tuple[str, str] | None:
    """Metric and statistic of a latency column without a unit, else None."""
    match = _UNTIMED.match(name)
    if not match:
        return None
    if name == "end_to_end_latency":
        return "e2e", "mean"
    stat = stat_name(match.group(1) or "mean")
    return None if stat is None else (_METRICS[match.group(2)], stat)


def run_field(name: str) -> str | None:
    """The field of a run that a column describes, None when it describes none."""
    known = _RUN_FIELDS.get(name)
    return known[0] if known else None


def apply_run_field(run: BenchRun, name: str, text: str) -> bool:
    """A column that describes the deployment; '-' in a speculation column means none."""
    known = _RUN_FIELDS.get(name)
    if known is None:
        return False
    field_name, convert = known
    value = convert(_truth(text)) if convert is boolean else convert(text)
    if field_name == "spec_method":
        value = (
            "none" if text.strip().lower() in ("", "-", "none", "off", "false") else str(text).strip()[:80]
        )
    elif field_name == "kv_offload":
        value = "none" if text.strip().lower() in ("off", "none", "false", "") else text.strip()
    elif value in ("-", "None", "none"):
        value = None
        if field_name == "draft_model" and run.spec_method is None:
            run.spec_method = "none"
    setattr(run, field_name, value)
    return True


def _truth(text: str) -> str:
    return {"on": "true", "off": "false", "1": "true", "0": "false"}.get(text.strip().lower(), text)


def tokens(text: str) -> int | None:
    """A length, also as ``16k``."""
    match = _LENGTH.match(text.strip())
    if not match:
        return None
    return int(float(match.group(1)) * (1024 if match.group(2) else 1))


def is_percent(name: str, cells: list[str]) -> bool:
    """Whether a column of hit rates or cache usages is in percent: one value above 1 decides for all."""
    return name in _SHARES and any(cell.endswith("%") or (number(cell) or 0.0) > 1 for cell in cells)


def apply_share(step: BenchStep, name: str, text: str, percent: bool) -> bool:
    """A hit rate or a cache usage, as a ratio."""
    field_name = _SHARES.get(name)
    if field_name is None:
        return False
    value = number(text)
    if value is not None:
        setattr(step, field_name, value * PERCENT if percent else value)
    return True


def add_timed(step: BenchStep, name: str, text: str) -> bool:
    """A latency column with its unit."""
    known = timed(name)
    if known is None:
        return False
    metric, stat, factor = known
    add_stat(step, metric, stat, text, factor, population="gaps" if metric == "itl" else "requests")
    return True
