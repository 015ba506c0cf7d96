"""EvalScope ``perf``: summary and percentiles; every key holds its unit, which older releases gave in seconds.

From the writer, not from a real file. The database beside them holds pickled answers and is not opened.
"""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.blocks import split_label
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import (
    PERCENT,
    UNIT_FACTORS,
    add_stat,
    count,
    number,
    positive,
    set_load,
    stat_name,
)

FORMAT = "evalscope"
HINTS: tuple[str, ...] = ('"Failed', "Throughput (tok/s)", "oncurrency")
_PERCENTILES = "Percentiles"
_TIMES = {
    "ttft": ("ttft", "requests"),
    "time to first token": ("ttft", "requests"),
    "tpot": ("tpot", "requests"),
    "time per output token": ("tpot", "requests"),
    "itl": ("itl", "gaps"),
    "inter-token latency": ("itl", "gaps"),
    "latency": ("e2e", "requests"),
}
_LENGTHS = {
    "input tokens": "input_len",
    "input tokens per request": "input_len",
    "output tokens": "output_len",
    "output tokens per request": "output_len",
}
_COUNTS = {
    "total requests": "requested",
    "success requests": "completed",
    "succeed requests": "completed",
    "failed requests": "failed",
}
_RATES = {
    "req throughput": "rps",
    "request throughput": "rps",
    "output throughput": "output_tps",
    "output token throughput": "output_tps",
    "input throughput": "input_tps",
    "total throughput": "total_tps",
    "total token throughput": "total_tps",
}
_DURATIONS = ("test duration", "time taken for tests")
_LOADS = ("concurrency", "number of concurrency")
_AVERAGE = re.compile(r"^(?:avg|average)\s+", re.IGNORECASE)
_FOLDER = re.compile(r"parallel_(\d+)(?=_|/)")


def recognise(content: Content) -> bool:
    """A summary by its counts and one of its throughputs, or rows of percentiles."""
    names = {_name(key)[0] for key in content.keys}
    if {"total requests", "failed requests"} <= names and names & _RATES.keys():
        return True
    return _PERCENTILES in content.keys and bool(names & _TIMES.keys())


def read(source: str, content: Content) -> list[BenchRun]:
    """One run of one step; the percentiles lie in a file of their own and take the load from their folder."""
    run = BenchRun(source=source, format=FORMAT, tool="evalscope perf")
    step = BenchStep()
    run.steps.append(step)
    if _PERCENTILES in content.keys:
        folder = _FOLDER.search(source)
        set_load(step, None, int(folder.group(1)) if folder else None)
        step.origins |= {"concurrency_cap": "named"} if folder else {}
        for _, row in content.records:
            _fill(run, step, row, stat_name(f"p{row[_PERCENTILES]}".rstrip("%")) or str(row[_PERCENTILES]))
    else:
        value = content.records[0][1]
        known = {_name(key)[0]: entry for key, entry in value.items()}
        set_load(step, known.get("request rate"), next((known[k] for k in _LOADS if k in known), None))
        _fill(run, step, value, "mean")
    _drop_unstreamed(run, step)
    apply_name(run, source)
    return [run]


def _name(key: str) -> tuple[str, str]:
    """``Average time to first token (s)`` as (``time to first token``, ``s``)."""
    label, unit = split_label(_AVERAGE.sub("", key))
    return label.lower(), unit


def _fill(run: BenchRun, step: BenchStep, value: dict[str, Any], stat: str) -> None:
    for key, entry in value.items():
        name, unit = _name(key)
        found = number(entry)
        if found is None or found < 0:
            continue  # -1 stands for 'not measured'
        if name in _TIMES and unit in UNIT_FACTORS:
            metric, population = _TIMES[name]
            add_stat(step, metric, stat, found, UNIT_FACTORS[unit], population=population)
        elif name in _TIMES:
            run.warnings.append(f"{key!r} has no known unit: left out")
        elif name in _LENGTHS:
            add_stat(step, _LENGTHS[name], stat, found, unit="tokens")
        elif stat != "mean":
            continue  # rates of single requests
        elif name in _COUNTS:
            setattr(step, _COUNTS[name], count(found))
        elif name in _RATES:
            setattr(step, _RATES[name], positive(found))
        elif name in _DURATIONS and unit == "s":
            step.duration_s = found
        elif name == "kv cache hit rate":
            step.cache_hit = found * PERCENT


def _drop_unstreamed(run: BenchRun, step: BenchStep) -> None:
    """Without streaming the first token is written as late as the last."""
    first, whole = step.stat("ttft", "mean"), step.stat("e2e", "mean")
    if first and whole and first >= 0.999 * whole:
        run.streaming = False
        step.stats = [s for s in step.stats if s.metric not in ("ttft", "tpot", "itl")]
