"""The PromQL of a request: what a person can run to check a finding, and what alerts are made of."""

from __future__ import annotations

from diagnostics.engines import registry
from diagnostics.engines.base import Metric
from diagnostics.model.requests import Request, Stat

DEFAULT_WINDOW = "5m"


def _metric(engine: str, signal: str) -> Metric | None:
    facts = registry.engine_named(engine)
    # Exporters beside the engine, and names that a configuration gives.
    beside = [e for e in (*registry.ENGINES, registry.named_engine()) if not e.serves]
    everything = [m for e in ([facts] if facts else []) + beside for m in e.metrics]
    found = [m for m in everything if m.signal == signal and ":log:" not in m.native]
    return min(found, key=lambda m: m.preference, default=None)


def _selector(metric: Metric, suffix: str, matchers: str) -> str:
    inner = matchers
    if metric.where is not None:
        choice = "|".join(metric.where[1])
        inner = ",".join(part for part in (inner, f'{metric.where[0]}=~"{choice}"') if part)
    return f"{metric.native}{suffix}{{{inner}}}" if inner else f"{metric.native}{suffix}"


def promql(request: Request, engine: str, matchers: str = "", window: str = DEFAULT_WINDOW) -> str | None:
    """The PromQL of a request.

    Args:
        request: what is asked.
        engine: whose metric names to use.
        matchers: label matchers to narrow it, without braces.
        window: range to look back over.

    Returns:
        A query, or None when this engine publishes no such signal.
    """
    metric = _metric(engine, request.signal)
    if metric is None:
        return None
    if request.over is not None:
        other = _metric(engine, request.over)
        if other is None:
            return None
        return (
            f"increase({_selector(metric, '', matchers)}[{window}])"
            f" / increase({_selector(other, '', matchers)}[{window}])"
        )
    gauge = {
        Stat.LAST: "last_over_time({s}[{w}])",
        Stat.MAX: "max_over_time({s}[{w}])",
        Stat.MIN: "min_over_time({s}[{w}])",
        Stat.MEAN: "avg_over_time({s}[{w}])",
        Stat.P50: "quantile_over_time(0.5, {s}[{w}])",
        Stat.P90: "quantile_over_time(0.9, {s}[{w}])",
        Stat.P99: "quantile_over_time(0.99, {s}[{w}])",
        Stat.COUNT: "count_over_time({s}[{w}])",
        Stat.SLOPE: "deriv({s}[{w}])",
        Stat.INCREASE: "increase({s}[{w}])",
        Stat.LIFETIME: "{s}",
    }
    if request.stat in gauge:
        return gauge[request.stat].format(s=_selector(metric, "", matchers), w=window)
    total, count = (_selector(metric, part, matchers) for part in ("_sum", "_count"))
    if request.stat is Stat.HIST_COUNT:
        return f"increase({count}[{window}])"
    if request.stat is Stat.HIST_SUM:
        return f"increase({total}[{window}])"
    if request.stat in (Stat.HIST_MEAN, Stat.HIST_MEAN_LIFETIME):
        return f"increase({total}[{window}]) / increase({count}[{window}])"
    bucket = _selector(metric, "_bucket", matchers)
    return (
        f"histogram_quantile({request.stat.quantile}, sum by (le, instance, pod) (rate({bucket}[{window}])))"
    )
