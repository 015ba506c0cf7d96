"""Text Generation Inference: it reserves the worst case at admission and never preempts."""

from __future__ import annotations

from diagnostics.engines.base import Engine, Metric
from diagnostics.model.catalog import Kind

ENGINE = Engine(
    name="tgi",
    title="Text Generation Inference",
    prefixes=("tgi_",),
    metrics=(
        Metric("tgi_batch_current_size", "running", Kind.GAUGE),
        Metric("tgi_queue_size", "waiting", Kind.GAUGE),
        Metric("tgi_request_success", "requests_finished", Kind.COUNTER),
        Metric("tgi_request_failure", "request_errors", Kind.COUNTER),
        Metric("tgi_request_queue_duration", "queue_time", Kind.HISTOGRAM),
        Metric("tgi_request_duration", "e2e", Kind.HISTOGRAM),
        Metric("tgi_request_input_length", "prompt_len", Kind.HISTOGRAM),
        Metric("tgi_request_generated_tokens", "generation_len", Kind.HISTOGRAM),
    ),
    not_exported={
        "preemptions": "nothing: this engine never preempts",
        "ttft": "nothing: add queue time and the prefill time of a request",
        "kv_usage": "tgi_batch_current_max_tokens over tgi_batch_total_tokens (reserved, not held)",
    },
)
