"""The engines known, and the lookup of native names."""

from __future__ import annotations

import re
from functools import cache

from diagnostics.engines import amd, dcgm, llamacpp, lmdeploy, process, sglang, tgi, trtllm, vllm
from diagnostics.engines.base import Engine, InfoMetric, Metric
from diagnostics.model.catalog import SIGNALS

ENGINES: tuple[Engine, ...] = (
    vllm.ENGINE,
    sglang.ENGINE,
    tgi.ENGINE,
    trtllm.ENGINE,
    llamacpp.ENGINE,
    lmdeploy.ENGINE,
    dcgm.ENGINE,
    amd.ENGINE,
    process.ENGINE,
)

# Buckets are the bulk of a scrape; they are kept only of signals of which a quantile is asked.
QUANTILES = ("ttft", "itl", "tpot", "e2e", "prompt_len", "generation_len")
_SUFFIXES = ("_bucket", "_sum", "_count")
_ALIAS = re.compile(r"^(?:ray_)?(vllm|sglang|lmdeploy)[:_]")


def engine_named(name: str) -> Engine | None:
    """The engine with this name, or None."""
    return next((engine for engine in ENGINES if engine.name == name), None)


# What a configuration says exporters call a signal; one set a process.
_named: dict[str, str] = {}


def name_signals(names: dict[str, str]) -> None:
    """Take native names of exporters that no engine file knows.

    Args:
        names: native name, without histogram suffixes -> canonical signal.
    """
    if names != _named:
        _named.clear()
        _named.update(names)
        _lookup.cache_clear()


def named_engine() -> Engine:
    """The names of the configuration, as an engine's metrics."""
    metrics = tuple(Metric(native, signal, SIGNALS[signal].kind) for native, signal in _named.items())
    return Engine(
        name="named", title="named in the configuration", prefixes=(), metrics=metrics, serves=False
    )


@cache
def _lookup() -> dict[str, list[tuple[Engine, Metric, str]]]:
    """Native sample name -> the metrics it belongs to and the part it is (value, bucket, sum, count)."""
    table: dict[str, list[tuple[Engine, Metric, str]]] = {}
    for engine in (*ENGINES, named_engine()):
        for metric in engine.metrics:
            names = {metric.native: "value"}
            if metric.kind == "histogram":
                suffixes = _SUFFIXES if metric.signal in QUANTILES else _SUFFIXES[1:]
                names = {metric.native + suffix: suffix[1:] for suffix in suffixes}
            for name, part in names.items():
                table.setdefault(name, []).append((engine, metric, part))
    return table


@cache
def _infos() -> dict[str, InfoMetric]:
    return {info.native: info for engine in ENGINES for info in engine.infos}


@cache
def canonical_name(name: str) -> str:
    """The name as the engine spells it, for pipelines that replaced ``:`` or prepended ``ray_``."""
    return _ALIAS.sub(r"\1:", name)


def meanings(name: str) -> list[tuple[Engine, Metric, str]]:
    """What a native sample name means: (engine, metric, part) for each signal; empty if unknown."""
    return _lookup().get(canonical_name(name), [])


def info_metric(name: str) -> InfoMetric | None:
    """The info metric with this name, or None."""
    return _infos().get(canonical_name(name))


def wanted(name: str) -> bool:
    """Whether samples under this name are worth keeping."""
    known = canonical_name(name)
    return known in _lookup() or known in _infos()


def engine_of(name: str) -> str | None:
    """The engine whose metrics begin like this name; None for names every exporter has."""
    known = canonical_name(name)
    for engine in ENGINES:
        if engine.serves and known.startswith(engine.prefixes):
            return engine.name
    return None


@cache
def is_of_gpu(name: str) -> bool:
    """Whether a native sample name tells of a GPU, whoever uses it."""
    return any(engine.devices for engine, _, _ in meanings(name))


def is_of_router(name: str, labels: dict[str, str]) -> bool:
    """Whether a series is a router's own under the name of an engine's: it says a server and no model."""
    return "server" in labels and "model_name" not in labels and canonical_name(name) in vllm.ROUTER_NAMES


def names_to_fetch() -> tuple[list[str], list[list[str]]]:
    """Sample names worth asking a metrics API for.

    Returns:
        (gauges, counters, sums and counts; for each signal that has quantiles its bucket names).
    """
    plain: set[str] = set()
    buckets: dict[str, list[str]] = {signal: [] for signal in QUANTILES}
    for name, uses in _lookup().items():
        if ":log:" in name or name in ("up", "process_start_time_seconds"):
            continue
        for _, metric, part in uses:
            if part != "bucket":
                plain.add(name)
            else:
                buckets[metric.signal].append(name)
    return sorted(plain | set(_infos())), [sorted(names) for names in buckets.values()]
