"""Text Generation Inference: it reserves the worst case at admission and never preempts."""

from __future__ import annotations

from diagnostics.engines.base import Engine, Metric
from diagnostics.model.catalog import Kind

ENGINE = Engine(
    name="tgi",
    title="Text Generation Inference",
    prefixes=("tgi_", "tgi:log:"),
    metrics=(
        Metric("tgi_batch_current_size", "running", Kind.GAUGE),
        Metric("tgi_queue_size", "waiting", Kind.GAUGE),
        Metric("tgi_batch_current_max_tokens", "kv_reserved_tokens", Kind.GAUGE),
        Metric("tgi_batch_max_total_tokens", "kv_capacity_tokens", Kind.GAUGE),
        Metric("tgi_request_count", "requests_received", Kind.COUNTER),
        # One call a step, prefill and decode alike; it moves while long answers are under way.
        Metric("tgi_batch_inference_count", "iterations", Kind.COUNTER),
        Metric("tgi_request_success", "requests_finished", Kind.COUNTER),
        Metric("tgi_request_failure", "request_errors", Kind.COUNTER),
        Metric("tgi_request_queue_duration", "queue_time", Kind.HISTOGRAM),
        Metric("tgi_request_duration", "e2e", Kind.HISTOGRAM),
        Metric("tgi_request_inference_duration", "inference_time", Kind.HISTOGRAM),
        Metric("tgi_request_validation_duration", "tokenize_time", Kind.HISTOGRAM),
        # Prefill is in it, so short answers look slow.
        Metric("tgi_request_mean_time_per_token_duration", "tpot", Kind.HISTOGRAM),
        Metric("tgi_request_input_length", "prompt_len", Kind.HISTOGRAM),
        Metric("tgi_request_generated_tokens", "generation_len", Kind.HISTOGRAM),
        # The sums of two histograms are the only counts of tokens; both move when a request finishes.
        Metric("tgi_request_generated_tokens_sum", "generation_tokens", Kind.COUNTER),
        Metric("tgi_request_input_length_sum", "prompt_tokens", Kind.COUNTER),
        # What the line of each finished request says, summed up.
        Metric("tgi:log:requests_finished", "requests_finished", Kind.COUNTER, preference=2),
        Metric("tgi:log:queue_time", "queue_time", Kind.HISTOGRAM, preference=2),
        Metric("tgi:log:e2e", "e2e", Kind.HISTOGRAM, preference=2),
        Metric("tgi:log:inference_time", "inference_time", Kind.HISTOGRAM, preference=2),
        Metric("tgi:log:tokenize_time", "tokenize_time", Kind.HISTOGRAM, preference=2),
        Metric("tgi:log:tpot", "tpot", Kind.HISTOGRAM, preference=2),
    ),
    not_exported={
        "preemptions": "nothing: this engine never preempts",
        "ttft": "nothing: add queue time and the prefill time of a request",
        "kv_usage": "tgi_batch_current_max_tokens over tgi_batch_max_total_tokens (reserved, not held)",
        "itl": "tgi_request_mean_time_per_token_duration, the mean of each request",
    },
    at_finish=frozenset({"generation_tokens", "prompt_tokens"}),
    never_preempts=True,
)

# Native metrics with a meaning in the field's reference that is not read here, and why.
_WHY_NOT: dict[str, tuple[str, ...]] = {
    "a summary of tokens skipped, without the number of drafts to set them against": (
        "tgi_request_skipped_tokens",
    ),
    "follows from signals that are mapped": ("tgi_batch_next_size",),
    "needs a device timer or traces that are off by default": ("tgi_batch_forward_duration",),
    "no rule reads it yet": (
        "tgi_batch_concat",
        "tgi_batch_inference_duration",
    ),
    "the part of all steps that is counted already": (
        "tgi_batch_inference_success",
        "tgi_batch_inference_failure",
    ),
    "what clients asked for, not what was done": ("tgi_request_max_new_tokens",),
}
NOT_MAPPED: dict[str, str] = {name: why for why, names in _WHY_NOT.items() for name in names}
