"""SGLang: metric names of every era and log fields.

Metrics are off unless ``--enable-metrics`` is given; token counters move when a request finishes; gauges move
every 40 decode steps. With metrics of all schedulers on, every TP rank repeats the same values.
"""

from __future__ import annotations

from diagnostics.engines.base import Engine, Metric
from diagnostics.model.catalog import Kind

_G, _C, _R, _H = Kind.GAUGE, Kind.COUNTER, Kind.RATE, Kind.HISTOGRAM

ENGINE = Engine(
    name="sglang",
    title="SGLang",
    prefixes=("sglang:", "sglang_", "ray_sglang_"),
    metrics=(
        Metric("sglang:num_running_reqs", "running", _G),
        Metric("sglang:num_queue_reqs", "waiting", _G),
        # Waiting for a grammar to compile is not a lack of capacity.
        Metric("sglang:num_grammar_queue_reqs", "waiting_deferred", _G),
        # For hybrid models the plain name follows the fullest pool; full_token_usage is the attention pool.
        Metric("sglang:token_usage", "kv_usage", _G),
        Metric("sglang:full_token_usage", "kv_usage", _G, preference=1),
        Metric("sglang:max_total_num_tokens", "kv_capacity_tokens", _G),
        Metric("sglang:num_retracted_requests_total", "preemptions", _C),
        Metric("sglang:total_retracted_reqs", "preemptions", _C, preference=1),
        Metric("sglang:prompt_tokens_total", "prompt_tokens", _C),
        Metric("sglang:prompt_tokens_total", "prefix_queries", _C),
        Metric("sglang:cached_tokens_total", "prefix_hits", _C),
        Metric("sglang:generation_tokens_total", "generation_tokens", _C),
        Metric("sglang:num_requests_total", "requests_finished", _C),
        Metric("sglang:num_aborted_requests_total", "request_aborted", _C),
        Metric("sglang:time_to_first_token_seconds", "ttft", _H),
        Metric("sglang:inter_token_latency_seconds", "itl", _H),
        Metric("sglang:request_time_per_output_token_seconds", "tpot", _H),
        Metric("sglang:time_per_output_token_seconds", "tpot", _H, preference=1),
        Metric("sglang:e2e_request_latency_seconds", "e2e", _H),
        Metric("sglang:queue_time_seconds", "queue_time", _H),
        Metric("sglang:queue_time_s", "queue_time", _H, preference=1),
        Metric("sglang:prompt_tokens_histogram", "prompt_len", _H),
        Metric("sglang:generation_tokens_histogram", "generation_len", _H),
        Metric("sglang:spec_verify_calls_total", "spec_drafts", _C),
        Metric("sglang:spec_accept_length", "spec_accept_length", _G),
        Metric("sglang:spec_accept_rate", "spec_accept_rate", _G),
        # Fields of the batch lines.
        Metric("sglang:log:running", "running", _G, preference=2),
        Metric("sglang:log:waiting", "waiting", _G, preference=2),
        Metric("sglang:log:kv_usage", "kv_usage", _G, preference=2),
        Metric("sglang:log:generation_throughput", "generation_tokens", _R, preference=2),
        Metric("sglang:log:prompt_throughput", "prompt_tokens", _R, preference=2),
        Metric("sglang:log:spec_accept_length", "spec_accept_length", _G, preference=2),
        Metric("sglang:log:spec_accept_rate", "spec_accept_rate", _G, preference=2),
    ),
    not_exported={
        "concurrency_cap": "the start-up line with max_running_requests=, or /server_info",
        "token_budget": "the start-up line with chunked_prefill_size=, or /server_info",
        "iteration_tokens": "the batch lines of the log",
        "prefill_time": "per_stage_req_latency_seconds, when it is on",
    },
    options={"concurrency_cap": "max_running_requests", "token_budget": "chunked_prefill_size"},
)
