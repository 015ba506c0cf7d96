"""Settings that only a file, folder or experiment name carries; every one is marked ``named``."""

from __future__ import annotations

import re

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.values import derive

_SEPARATED = r"(?:^|[_\-./+ =(])"
_END = r"(?=$|[_\-./+ )])"
_RUN_NUMBERS = {
    "tp": re.compile(_SEPARATED + r"tp[_\-=]?(\d{1,3})" + _END, re.IGNORECASE),
    "ep": re.compile(_SEPARATED + r"ep[_\-=]?(\d{1,3})" + _END, re.IGNORECASE),
    "dp": re.compile(_SEPARATED + r"dp[_\-=]?(\d{1,3})" + _END, re.IGNORECASE),
    "gpus": re.compile(_SEPARATED + r"gpus[_\-=](\d{1,4})" + _END, re.IGNORECASE),
    "prefill_gpus": re.compile(_SEPARATED + r"ctx[_\-=](\d{1,4})_gen_\d", re.IGNORECASE),
    "decode_gpus": re.compile(_SEPARATED + r"ctx[_\-=]\d{1,4}_gen[_\-=](\d{1,4})" + _END, re.IGNORECASE),
    "max_num_seqs": re.compile(r"max[_-]num[_-]seqs=(\d+)", re.IGNORECASE),
}
_INPUT = re.compile(_SEPARATED + r"(?:isl|ip|in|input)[_\-=]?(\d+)" + _END, re.IGNORECASE)
_OUTPUT = re.compile(_SEPARATED + r"(?:osl|op|out|output)[_\-=]?(\d+)" + _END, re.IGNORECASE)
_RATE = re.compile(
    _SEPARATED + r"(?:qps|rps|rate|output|req_rate)[_\-=]?(\d+(?:\.\d+)?)" + r"(?=$|[_\-/+ )]|\.[a-z])", re.I
)
_RATE_SUFFIX = re.compile(_SEPARATED + r"(\d+(?:\.\d+)?)qps" + _END, re.IGNORECASE)
_CONCURRENCY = re.compile(
    _SEPARATED + r"(?:conc|concurrency|users|c)[_\-=]?(\d+)" + r"(?=$|[_\-/+ )a-z]|\.[a-z])", re.I
)
_BATCH = re.compile(_SEPARATED + r"(?:np|bs|batch|batch_size|req)[_\-=(]?(\d+)" + _END, re.IGNORECASE)
_SPLIT = re.compile(_SEPARATED + r"(\d+)p(\d+)d" + _END, re.IGNORECASE)
_OFFLOAD = re.compile(
    r"(?:^|[_\-/])(?:kv|offload|kvoffload)(none|off|on|dram(?:-\w+)?)(?=$|[_\-/.])", re.IGNORECASE
)
_LOAD_PARTS = re.compile(
    r"(?:max_concurrency|parallel|number|request_rate|num_prompts|concurrency|conc|users|qps|rate|bs|req|np|c)[_\-=]?\d+(?:\.\d+)?"
    r"|\d{8}[-_T]?\d{0,6}|\d+(?:\.\d+)?qps",
    re.IGNORECASE,
)
_GPUS = re.compile(
    r"(?:^|[_\-/ ])(\d{1,3})x(A100|H100|H200|H20|B200|L40S?|L4|A10G?|MI300X|MI325X|MI355X)", re.I
)
_WEIGHTS = re.compile(
    r"(?:^|[_\-/.+ ])(nvfp4|mxfp4|fp8|fp4|fp16|bf16|awq|gptq|int8|int4|w4a16|w8a8)(?=$|[_\-/.+ ])", re.I
)


def apply_name(run: BenchRun, name: str, *, batches: bool = False) -> None:
    """Fill fields that are still None from a name such as ``tp4_conc16_isl1024_osl128.json``."""
    for field_name, pattern in _RUN_NUMBERS.items():
        match = pattern.search(name)
        if match:
            derive(run, field_name, int(match.group(1)), "named")
    for field_name, pattern in (("input_len_spec", _INPUT), ("output_len_spec", _OUTPUT)):
        match = pattern.search(name)
        if match:
            derive(run, field_name, f"fixed {match.group(1)}", "named")
    gpus, weights, split = _GPUS.search(name), _WEIGHTS.search(name), _SPLIT.search(name)
    if gpus:
        derive(run, "gpus", int(gpus.group(1)), "named")
        derive(run, "gpu_model", gpus.group(2).upper(), "named")
    if weights:
        derive(run, "weight_format", weights.group(1).lower(), "named")
    offload = _OFFLOAD.search(name)
    if offload:
        word = offload.group(1).lower()
        derive(run, "kv_offload", "none" if word in ("off", "none") else word, "named")
    if split:
        derive(run, "routing", f"disaggregated {split.group(0).strip('_-./+ ')}", "named")
    if len(run.steps) == 1:
        _apply_load(run.steps[0], name, batches)


def _apply_load(step: BenchStep, name: str, batches: bool) -> None:
    """A rate or a concurrency in a name holds for a file with one step only, and never beats the file."""
    if batches:
        match = _BATCH.search(name)
        if match:
            derive(step, "batch_size", int(match.group(1)), "named")
        return
    match = _CONCURRENCY.search(name)
    if match and step.load_mode in ("closed", "unknown"):
        derive(step, "concurrency_cap", int(match.group(1)), "named")


def rate_in(name: str) -> float | None:
    """The request rate that a file name states, for formats that carry it nowhere else."""
    match = _RATE.search(name) or _RATE_SUFFIX.search(name)
    return float(match.group(1)) if match else None


def weight_format_in(name: str | None) -> str | None:
    """The weight format that a model's own name states, for example ``...-FP8`` or ``...-AWQ``."""
    match = _WEIGHTS.search(name or "")
    return match.group(1).lower() if match else None


def variant_of(source: str) -> str:
    """What the folder of a file says about its deployment: its name without load levels and dates."""
    parts = source.replace("\\", "/").split("/")
    return _LOAD_PARTS.sub("", parts[-2]) if len(parts) > 1 else ""
