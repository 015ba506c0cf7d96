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
    recorded=True,
    metrics=(
        Metric("sglang:num_running_reqs", "running", _G),
        # Everything that waits adds up: the plain queue leaves out grammars and the queues of split prefill
        # and decode.
        Metric("sglang:num_queue_reqs", "waiting", _G),
        Metric("sglang:num_grammar_queue_reqs", "waiting", _G),
        Metric("sglang:num_prefill_bootstrap_queue_reqs", "waiting", _G),
        Metric("sglang:num_prefill_prealloc_queue_reqs", "waiting", _G),
        Metric("sglang:num_decode_prealloc_queue_reqs", "waiting", _G),
        # Waiting for a grammar to compile is not a lack of capacity.
        Metric("sglang:num_grammar_queue_reqs", "waiting_deferred", _G),
        # For hybrid models the plain name follows the fullest pool; full_token_usage is the attention pool.
        Metric("sglang:token_usage", "kv_usage", _G),
        Metric("sglang:full_token_usage", "kv_usage", _G, preference=1),
        Metric("sglang:max_total_num_tokens", "kv_capacity_tokens", _G),
        Metric("sglang:kv_used_tokens", "kv_used_tokens", _G),
        Metric("sglang:num_used_tokens", "kv_used_tokens", _G, preference=1),
        Metric("sglang:context_len", "max_model_len", _G),
        Metric("sglang:num_retracted_requests_total", "preemptions", _C),
        Metric("sglang:total_retracted_reqs", "preemptions", _C, preference=1),
        # Live since 0.5.7; the older counters jump when a request finishes.
        Metric(
            "sglang:realtime_tokens_total",
            "prompt_tokens",
            _C,
            where=("mode", ("prefill_compute", "prefill_cache")),
        ),
        Metric(
            "sglang:realtime_tokens_total", "prompt_tokens_computed", _C, where=("mode", ("prefill_compute",))
        ),
        Metric("sglang:realtime_tokens_total", "generation_tokens", _C, where=("mode", ("decode",))),
        Metric("sglang:realtime_tokens_total", "realtime_tokens", _C),
        Metric("sglang:prompt_tokens_total", "prompt_tokens", _C, preference=1),
        Metric("sglang:prompt_tokens_total", "prefix_queries", _C),
        Metric("sglang:cached_tokens_total", "prefix_hits", _C),
        Metric("sglang:generation_tokens_total", "generation_tokens", _C, preference=1),
        Metric("sglang:cuda_graph_passes_total", "cuda_graph_passes", _C, key="mode"),
        Metric("sglang:is_cuda_graph", "cuda_graph_used", _G),
        Metric("sglang:process_cpu_seconds_total", "process_cpu", _C, key="component"),
        # A gauge in spite of its name.
        Metric("sglang:lora_pool_slots_total", "lora_max", _G),
        Metric("sglang:lora_pool_slots_used", "lora_slots_used", _G),
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
        Metric("sglang:log:cuda_graph", "cuda_graph_used", _G, preference=2),
    ),
    not_exported={
        "concurrency_cap": "the start-up line with max_running_requests=, or /server_info",
        "token_budget": "the start-up line with chunked_prefill_size=, or /server_info",
        "iteration_tokens": "the batch lines of the log",
        "prefill_time": "per_stage_req_latency_seconds, when it is on",
    },
    options={"concurrency_cap": "max_running_requests", "token_budget": "chunked_prefill_size"},
    at_finish=frozenset({"generation_tokens", "prompt_tokens"}),
)

# Native metrics with a meaning in the field's reference that is not read here, and why.
_WHY_NOT: dict[str, tuple[str, ...]] = {
    "an estimate from the model's shape, not a measurement": (
        "sglang:estimated_flops_per_gpu_total",
        "sglang:estimated_read_bytes_per_gpu_total",
        "sglang:estimated_write_bytes_per_gpu_total",
    ),
    "evictions of cached prefixes are normal, and how long blocks stay is sampled and off by default": (
        "sglang:evicted_tokens_total",
        "sglang:eviction_duration_seconds",
    ),
    "follows from signals that are mapped": (
        "sglang:kv_available_tokens",
        "sglang:kv_evictable_tokens",
        "sglang:lora_pool_utilization",
        "sglang:num_pages",
        "sglang:num_retracted_reqs",
        "sglang:utilization",
    ),
    "memory of a start: the log tells it for every engine in one way": (
        "sglang:graph_memory_usage_gb",
        "sglang:kv_cache_memory_usage_gb",
        "sglang:startup_available_gpu_memory_gb",
        "sglang:weight_memory_usage_gb",
    ),
    "moving KV to and from hosts, stores and other servers: no rule is about it yet": (
        "sglang:backup_bandwidth",
        "sglang:backuped_tokens_total",
        "sglang:hicache_host_total_tokens",
        "sglang:hicache_host_used_tokens",
        "sglang:kv_transfer_alloc_ms",
        "sglang:kv_transfer_bootstrap_ms",
        "sglang:kv_transfer_latency_ms",
        "sglang:kv_transfer_speed_gb_s",
        "sglang:kv_transfer_total_mb",
        "sglang:load_back_duration_seconds",
        "sglang:load_back_tokens_total",
        "sglang:num_bootstrap_failed_reqs_total",
        "sglang:num_decode_transfer_queue_reqs",
        "sglang:num_prefill_infight_queue_reqs",
        "sglang:num_prefill_inflight_queue_reqs",
        "sglang:num_transfer_failed_reqs_total",
        "sglang:prefetch_bandwidth",
        "sglang:prefetched_tokens_total",
    ),
    "needs a device timer or traces that are off by default": (
        "sglang:forward_execution_seconds_total",
        "sglang:fwd_occupancy",
        "sglang:gpu_execution_seconds_total",
    ),
    "no rule reads it yet": (
        "sglang:cache_config_info",
        "sglang:decode_sum_seq_lens",
        "sglang:dp_attention_token_imbalance_ratio",
        "sglang:eplb_balancedness",
        "sglang:max_running_requests_under_SLO",
        "sglang:new_token_ratio",
        "sglang:num_paused_reqs",
        "sglang:num_retracted_input_tokens_total",
        "sglang:num_retracted_output_tokens_total",
        "sglang:num_retractions",
        "sglang:page_size",
        "sglang:per_stage_req_latency_seconds",
        "sglang:prefill_effective_tokens_total",
        "sglang:scheduler_idle_seconds_total",
        "sglang:spec_num_draft_tokens",
        "sglang:spec_num_steps",
        "sglang:uncached_prompt_tokens_histogram",
        "sglang:weight_load_duration_seconds",
    ),
    "of the last batch or since the start, and so never of the window": (
        "sglang:avg_request_queue_latency",
        "sglang:cache_hit_rate",
        "sglang:gen_throughput",
    ),
    "one of several pools: the attention pool or the fullest one is read": (
        "sglang:mamba_usage",
        "sglang:max_total_num_tokens_swa",
        "sglang:pending_prealloc_token_usage",
        "sglang:swa_token_usage",
    ),
    "requests as HTTP sees them: every route of the server is in it, health checks too": (
        "sglang:http_requests_active",
        "sglang:http_requests_total",
        "sglang:http_responses_total",
    ),
    "seconds of a start: the log tells the stages of every engine in one way": (
        "sglang:engine_load_weights_time",
        "sglang:engine_startup_time",
        "sglang:startup_cuda_graph_time_seconds",
        "sglang:startup_latency_breakdown_seconds_max",
        "sglang:startup_time_seconds",
    ),
    "what clients asked for, not what was done": ("sglang:num_so_requests_total",),
}
NOT_MAPPED: dict[str, str] = {name: why for why, names in _WHY_NOT.items() for name in names}
