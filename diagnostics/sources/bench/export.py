"""Export of load levels as an llm-d benchmark report 0.2; what that schema lacks stays beside it."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.errors import InputError
from diagnostics.sources.bench.llmd_report import VENDOR_KEY

VERSION = "0.2"
_LATENCIES = (
    ("ttft", "time_to_first_token", "s"),
    ("tpot", "time_per_output_token", "s/token"),
    ("itl", "inter_token_latency", "s/token"),
    ("ntpot", "normalized_time_per_output_token", "s/token"),
    ("e2e", "request_latency", "s"),
)
_RATES = (
    ("rps", "request_rate", "queries/s"),
    ("output_tps", "output_token_rate", "tokens/s"),
    ("input_tps", "input_token_rate", "tokens/s"),
    ("total_tps", "total_token_rate", "tokens/s"),
)
_STATS = {
    "mean": "mean",
    "sd": "stddev",
    "min": "min",
    "max": "max",
    "p0.1": "p0p1",
    "p999": "p99p9",
    "p995": "p99p5",
    **{f"p{n}": f"p{n}" for n in (1, 5, 10, 25, 50, 75, 90, 95, 99)},
}
_SPEC = re.compile(r"^(fixed|uniform|normal) (\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?)| sd (\d+(?:\.\d+)?))?$")
_OMITTED = {
    "run": {"steps", "source", "format", "warnings"},
    "step": {"stats", "requests", "ordinal"},
}


def export(runs: Sequence[BenchRun]) -> str:
    """Every load level of every run as reports 0.2, one JSON document a line.

    Raises:
        InputError: there is no run.
    """
    levels = [(run, i) for run in runs for i in range(len(run.steps))]
    if not levels:
        raise InputError(
            "--export-bench",
            "",
            "no benchmark result among the inputs",
            "give one, for example of vllm bench serve",
        )
    reports = (_standard(write_llmd_report_v02(run, i)) for run, i in levels)
    return "".join(json.dumps(report, allow_nan=False) + "\n" for report in reports)


def _standard(value: Any) -> Any:
    """The same without infinities and NaN, which JSON does not have: absent."""
    if isinstance(value, dict):
        return {str(k): _standard(v) for k, v in value.items() if not _is_endless(v)}
    if isinstance(value, list | tuple):
        return [_standard(v) for v in value if not _is_endless(v)]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _is_endless(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def write_llmd_report_v02(run: BenchRun, ordinal: int = 0) -> dict[str, Any]:
    """One step of a run as a report that the reader of this package reads back without loss.

    Args:
        run: the run.
        ordinal: which of its steps; a report holds one load level.

    Raises:
        InputError: the run has no such step.
    """
    if not 0 <= ordinal < len(run.steps):
        raise InputError(
            run.source, "", f"the run has {len(run.steps)} steps, no step {ordinal}", "name an existing step"
        )
    step = run.steps[ordinal]
    identity = json.dumps([run.source, run.tool, run.model, run.started_local], default=str)
    experiment = hashlib.sha256(identity.encode()).hexdigest()[:32]
    about: dict[str, Any] = {"uid": f"{experiment[:24]}{ordinal:08x}", "eid": experiment}
    if step.duration_s is not None:
        about["time"] = {"duration": f"PT{step.duration_s}S"}
    return {
        "version": VERSION,
        "run": about,
        "scenario": {"stack": _stack(run), "load": _load(run, step)},
        "results": {"request_performance": {"aggregate": _aggregate(step)}},
    }


def _stack(run: BenchRun) -> list[dict[str, Any]]:
    """One component for the engine, left out when model or GPU is unknown: the schema demands them."""
    if run.model is None or run.gpu_model is None or run.gpus is None:
        return []
    degrees = {name: getattr(run, name) or 1 for name in ("tp", "pp", "dp", "ep")}
    component = {
        "tool": run.engine or "unknown",
        "tool_version": run.engine_version or "unknown",
        "role": "aggregate",
        "replicas": run.replicas or 1,
        "model": {"name": run.model},
        "accelerator": {
            "model": run.gpu_model,
            "count": run.gpus // (run.replicas or 1),
            "parallelism": {**degrees, "dp_local": degrees["dp"], "workers": 1},
        },
    }
    config = hashlib.sha256(json.dumps(component, sort_keys=True).encode()).hexdigest()[:32]
    return [
        {
            "metadata": {"schema_version": "0.0.1", "label": "engine-0", "cfg_id": config},
            "standardized": {"kind": "inference_engine", **component},
            "native": {},
        }
    ]


def _load(run: BenchRun, step: BenchStep) -> dict[str, Any]:
    standardized: dict[str, Any] = {
        "tool": run.tool,
        "tool_version": run.tool_version or "unknown",
        "source": "random" if (run.dataset or "").startswith("random") else "unknown",
        "stage": step.ordinal,
        "input_seq_len": _length(run.input_len_spec, step.stat("input_len", "mean")),
    }
    output = _length(run.output_len_spec, None)
    if run.output_len_spec is not None:
        standardized["output_seq_len"] = output
    if step.requested_rps is not None:
        standardized["rate_qps"] = step.requested_rps
    if step.concurrency_cap is not None:
        standardized["concurrency"] = step.concurrency_cap
    kept = {"run": _kept(run, "run"), "step": _kept(step, "step")}
    return {
        "metadata": {"schema_version": "0.0.1", "description": f"exported by {VENDOR_KEY}"},
        "standardized": standardized,
        "native": {"config": {VENDOR_KEY: kept}},
    }


def _kept(owner: BenchRun | BenchStep, kind: str) -> dict[str, Any]:
    """Every field that is set, so that a round trip loses nothing."""
    found: dict[str, Any] = {}
    for field in owner.__struct_fields__:
        value = getattr(owner, field)
        if field not in _OMITTED[kind] and value not in (None, (), {}):
            found[field] = list(value) if isinstance(value, tuple) else value
    return found


def _length(spec: str | None, mean: float | None) -> dict[str, Any]:
    match = _SPEC.match(spec or "")
    if not match:
        return {"distribution": "other", "value": max(mean or 1.0, 1.0)}
    kind, first, last, spread = match.groups()
    if kind == "uniform":
        low, high = float(first), float(last or first)
        return {
            "distribution": "random",
            "value": max((low + high) / 2, 1.0),
            "min": int(low),
            "max": int(high),
        }
    if kind == "normal":
        return {"distribution": "gaussian", "value": float(first), "std_dev": float(spread or 0)}
    return {"distribution": "fixed", "value": max(float(first), 1.0)}


def _aggregate(step: BenchStep) -> dict[str, Any]:
    requests: dict[str, Any] = {}
    total = step.requested if step.requested is not None else step.completed
    if total is not None:
        requests["total"] = total
    for name, key in (("failed", "failures"), ("incomplete", "incomplete")):
        if getattr(step, name) is not None:
            requests[key] = getattr(step, name)
    for metric, key in (("input_len", "input_length"), ("output_len", "output_length")):
        requests |= _block(step, metric, key, "count")
    latency: dict[str, Any] = {}
    for metric, key, unit in _LATENCIES:
        latency |= _block(step, metric, key, unit)
    rates = {
        key: {"units": unit, "mean": getattr(step, name)}
        for name, key, unit in _RATES
        if getattr(step, name) is not None
    }
    parts = {"requests": requests, "latency": latency, "throughput": rates}
    return {key: part for key, part in parts.items() if part}


def _block(step: BenchStep, metric: str, key: str, unit: str) -> dict[str, Any]:
    """A statistics block; the schema demands a mean, so without one the median stands in and says so."""
    values = {_STATS[s.stat]: s.value for s in step.stats if s.metric == metric and s.stat in _STATS}
    if not values:
        return {}
    if "mean" not in values:
        if "p50" not in values:
            return {}
        values["mean"] = values["p50"]
    return {key: {"units": unit, **values}}
