"""Canonical signals as PromQL over every name that the engines ever gave them."""

from __future__ import annotations

import re
from itertools import groupby

from diagnostics.alerts.options import AlertOptions, number
from diagnostics.engines import registry
from diagnostics.engines.base import Metric
from diagnostics.model.catalog import SIGNALS, Kind

# Labels that a target has whatever it serves, one replica of a model, one data-parallel rank of it, and the model.
TARGET = ("cluster", "namespace", "job", "instance")
REPLICA = (*TARGET, "pod", "model_name")
RANK = (*REPLICA, "engine", "dp_rank")
FLEET = ("cluster", "namespace", "job", "model_name")
_MATCHER = re.compile(r'[a-zA-Z_]\w*\s*(?:=~|!~|!=|=)\s*"(?:[^"\\]|\\.)*"')
# Ranks of a tensor- or pipeline-parallel group repeat what the first one says; priorities repeat the total.
_FIRST_OF_GROUP = {"sglang": 'tp_rank=~"0?",pp_rank=~"0?",priority=""'}


def by(labels: tuple[str, ...], more: str = "") -> str:
    """A ``by`` clause."""
    return f"by ({', '.join((*labels, more) if more else labels)})"


def on(labels: tuple[str, ...]) -> str:
    """An ``on`` clause."""
    return f"on ({', '.join(labels)})"


def target_matchers(select: str) -> str:
    """Those of the matchers that ``up`` can meet: it has no label of the model."""
    return ",".join(m for m in _MATCHER.findall(select) if not m.startswith("model"))


def known(signal: str, options: AlertOptions) -> bool:
    """Whether any of the engines publishes a signal."""
    return bool(_metrics(signal, options))


def now(signal: str, options: AlertOptions, labels: tuple[str, ...] = RANK) -> str:
    """The present value of a gauge, one series a rank; names of other releases stand behind ``or``."""
    how = "max" if SIGNALS[signal].unit == "ratio" else "sum"
    parts = []
    for (engine, _), group in groupby(_metrics(signal, options), key=lambda m: (m[0], m[1].preference)):
        metrics = [metric for _, metric in group]
        if len(metrics) == 1:
            selector = _selector(metrics[0].native, metrics[0], engine, options)
        else:
            names = "|".join(m.native for m in metrics)
            selector = _braces("", f'__name__=~"{names}"', _FIRST_OF_GROUP.get(engine, ""), options.select)
        parts.append(f"{how} {by(labels)} ({selector})")
    return _either(parts)


def growth(
    signal: str, window: float, options: AlertOptions, part: str = "", labels: tuple[str, ...] = REPLICA
) -> str:
    """How much a counter, or a part (``sum``, ``count``) of a histogram, grew over a window."""
    parts = []
    for engine, metric in _metrics(signal, options):
        selector = _selector(metric.native + (f"_{part}" if part else ""), metric, engine, options)
        if metric.kind is Kind.RATE:
            grown = f"avg_over_time({selector}[{options.time(window)}]) * {number(options.seconds(window))}"
        else:
            grown = f"increase({selector}[{options.time(window)}])"
        parts.append(f"sum {by(labels)} ({grown})")
    return _either(parts)


def quantile(q: float, signal: str, window: float, options: AlertOptions) -> str:
    """A quantile of a histogram over a window, one series a replica."""
    parts = []
    for engine, metric in _metrics(signal, options):
        selector = _selector(f"{metric.native}_bucket", metric, engine, options)
        rate = f"sum {by(REPLICA, 'le')} (rate({selector}[{options.time(window)}]))"
        parts.append(f"histogram_quantile({number(q)}, {rate})")
    return _either(parts)


def mean(signal: str, window: float, options: AlertOptions) -> str:
    """The mean observation of a histogram over a window, one series a replica; absent without observations."""
    total, count = (growth(signal, window, options, part) for part in ("sum", "count"))
    return f"({total}) / (({count}) > 0)"


def seen(signal: str, window: str, options: AlertOptions, labels: tuple[str, ...] = TARGET) -> str:
    """One series for each target (or other label set) that published a signal within a window."""
    natives = dict.fromkeys(metric.native for _, metric in _metrics(signal, options))
    selector = _braces("", f'__name__=~"{"|".join(natives)}"', options.select)
    return f"group {by(labels)} (last_over_time({selector}[{window}]))"


def of_target(name: str, options: AlertOptions) -> str:
    """A selector of a metric that every target has."""
    return _braces(name, target_matchers(options.select))


def _metrics(signal: str, options: AlertOptions) -> list[tuple[str, Metric]]:
    """(engine, metric) of a signal, newest names first."""
    found = []
    for name in options.engines:
        engine = registry.engine_named(name)
        published = (
            [m for m in engine.metrics if m.signal == signal and ":log:" not in m.native] if engine else []
        )
        found += [(name, m) for m in sorted(published, key=lambda m: m.preference)]
    return found


def _selector(native: str, metric: Metric, engine: str, options: AlertOptions) -> str:
    where = f'{metric.where[0]}=~"{"|".join(metric.where[1])}"' if metric.where and metric.where[1] else ""
    return _braces(native, where, _FIRST_OF_GROUP.get(engine, ""), options.select)


def _braces(name: str, *matchers: str) -> str:
    inner = ",".join(m for m in matchers if m)
    return f"{name}{{{inner}}}" if inner else name


def _either(parts: list[str]) -> str:
    """The first that is there. An engine that lacks the signal altogether leaves an expression without series."""
    return " or ".join(dict.fromkeys(parts)) if parts else "(vector(0) > 1)"
