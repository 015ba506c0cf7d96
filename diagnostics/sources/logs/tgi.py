"""Text Generation Inference: one line a finished request, and what it prints while it starts.

Written from its source's documentation; not seen in a recording. Its clock stands where a carrier's would.
"""

from __future__ import annotations

import re

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import (
    Rule,
    as_event,
    as_http_error,
    as_ready,
    as_setting,
    as_stage,
    as_start,
    rule,
    several,
)
from diagnostics.sources.logs.message import Body, Line
from diagnostics.sources.logs.times import Clock

# Durations as Rust prints them; the sign for micro is not ASCII and arrives in many forms.
_SPAN = re.compile(r'\b(\w+)="([\d.]+)(ns|ms|s|[^\d.\s"]{1,3}s)"')
_SECONDS = {"ns": 1e-9, "ms": 1e-3, "s": 1.0}
_MICRO = 1e-6
_TIMES = {
    "total_time": "tgi:log:e2e",
    "queue_time": "tgi:log:queue_time",
    "inference_time": "tgi:log:inference_time",
    "validation_time": "tgi:log:tokenize_time",
    "time_per_token": "tgi:log:tpot",
}
_TARGET = re.compile(r"\btext_generation_(?:router|launcher)\b")


def _read_success(_found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read how long a request took and where; the sums over all requests are what the metrics have too."""
    spans = {
        _TIMES[name]: float(number) * _SECONDS.get(unit, _MICRO)
        for name, number, unit in _SPAN.findall(body.text)
        if name in _TIMES
    }
    if not spans:
        return False
    out.serving(body)
    out.observed(spans, body)
    out.totals({"tgi:log:requests_finished": 1.0}, body)
    return True


class TgiLog:
    """The reader of TGI's log."""

    name = "tgi"
    rules: tuple[Rule, ...] = (
        rule("Success", r"total_time=.*\bSuccess$", _read_success, "statistics", alone=False),
        rule("Model is overloaded", r"Model is overloaded", as_http_error("429"), "warning", telling=False),
        rule(
            "Inputs must have",
            r"Inputs must have less than \d+ tokens",
            as_http_error("422"),
            "warning",
            telling=False,
        ),
        rule(
            "was signaled to shutdown",
            r"Shard process was signaled to shutdown with signal (?P<signal>\d+)",
            as_event("engine-dead"),
            "warning",
        ),
        rule(
            "Not enough memory to handle",
            r"Not enough memory to handle (?:\d+ )?prefill tokens",
            as_event("kv-refused"),
            "warning",
        ),
        rule(
            "Using attention",
            r"Using attention (\S+) - Prefix caching (\S+)",
            several(
                as_start("attention"),
                as_setting("attention", "Using attention"),
                as_setting("prefix_caching", "Using attention", 2),
            ),
            "start-up",
        ),
        rule(
            "Sharding model on",
            r"Sharding model on (\d+) processes",
            as_setting("num_shard", "Sharding model"),
            "start-up",
        ),
        rule(
            "max_batch_prefill_tokens",
            r"Default `max_batch_prefill_tokens` to (\d+)",
            as_setting("max_batch_prefill_tokens", "Default max_batch_prefill_tokens"),
            "start-up",
        ),
        rule("Shard ready in", r"Shard ready in ([\d.]+)s", as_stage("load-weights"), "start-up"),
        rule(
            "Cuda Graphs are enabled",
            r"Cuda Graphs are enabled for sizes \[([\d, ]+)\]",
            as_setting("cuda_graphs", "Cuda Graphs"),
            "start-up",
        ),
        rule(
            "Setting max batch total",
            r"Setting max batch total tokens to (\d+)",
            as_setting("kv_capacity_tokens", "Setting max batch total tokens"),
            "start-up",
        ),
        rule("Connected", r"text_generation_router\S*.*\bConnected$", as_ready, "start-up"),
    )

    def body(self, line: Line, clock: Clock) -> Body:
        """There is no head beside the time and the level."""
        return Body(line.text.rstrip(), line.stamp, line, {})

    def telling_head(self, line: Line) -> bool:
        """Tell whether the module that a line names is one of this engine."""
        return _TARGET.search(line.text[:4000]) is not None
