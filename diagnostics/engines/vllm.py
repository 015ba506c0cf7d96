"""vLLM, V0 and V1: metric names of every era, log fields, and what it does not publish."""

from __future__ import annotations

from diagnostics.engines.base import Engine, InfoMetric, Metric
from diagnostics.model.catalog import Kind

_G, _C, _R, _H = Kind.GAUGE, Kind.COUNTER, Kind.RATE, Kind.HISTOGRAM

# The production-stack router exports some names of the engine for what it sees of each server itself.
ROUTER_NAMES = frozenset(
    {
        "vllm:num_requests_running",
        "vllm:num_requests_waiting",
        "vllm:num_requests_swapped",
        "vllm:gpu_prefix_cache_hit_rate",
        "vllm:gpu_prefix_cache_hits_total",
        "vllm:gpu_prefix_cache_queries_total",
    }
)

ENGINE = Engine(
    name="vllm",
    title="vLLM",
    prefixes=("vllm:", "vllm_", "ray_vllm_", "ray_vllm:"),
    recorded=True,
    metrics=(
        Metric("vllm:num_requests_running", "running", _G),
        Metric("vllm:num_requests_waiting", "waiting", _G),
        Metric(
            "vllm:num_requests_waiting_by_reason", "waiting_deferred", _G, where=("reason", ("deferred",))
        ),
        Metric("vllm:num_requests_swapped", "swapped", _G),
        # A share from 0 to 1 in spite of "perc"; the older name counts the same thing.
        Metric("vllm:kv_cache_usage_perc", "kv_usage", _G),
        Metric("vllm:gpu_cache_usage_perc", "kv_usage", _G, preference=1),
        Metric("vllm:num_preemptions_total", "preemptions", _C),
        Metric("vllm:prompt_tokens_total", "prompt_tokens", _C),
        Metric(
            "vllm:prompt_tokens_by_source_total",
            "prompt_tokens_computed",
            _C,
            where=("source", ("local_compute",)),
        ),
        Metric("vllm:generation_tokens_total", "generation_tokens", _C),
        # Gauges of releases before the counters.
        Metric("vllm:avg_prompt_throughput_toks_per_s", "prompt_tokens", _R, preference=1),
        Metric("vllm:avg_generation_throughput_toks_per_s", "generation_tokens", _R, preference=1),
        Metric("vllm:prefix_cache_queries_total", "prefix_queries", _C),
        Metric("vllm:prefix_cache_hits_total", "prefix_hits", _C),
        # Until 0.8.5 these counted blocks, later tokens; only their ratio is used.
        Metric("vllm:gpu_prefix_cache_queries_total", "prefix_queries", _C, preference=1),
        Metric("vllm:gpu_prefix_cache_hits_total", "prefix_hits", _C, preference=1),
        Metric("vllm:gpu_prefix_cache_hit_rate", "prefix_hit_rate", _G),
        Metric("vllm:external_prefix_cache_queries_total", "ext_prefix_queries", _C),
        Metric("vllm:external_prefix_cache_hits_total", "ext_prefix_hits", _C),
        Metric("vllm:kv_offload_cpu_cache_usage_perc", "cpu_kv_usage", _G),
        Metric("vllm:hisparse_host_cache_usage_perc", "cpu_kv_usage", _G, preference=1),
        Metric("vllm:cpu_cache_usage_perc", "cpu_kv_usage", _G, preference=2),
        Metric("vllm:request_success_total", "requests_finished", _C),
        Metric("vllm:admission_rejections_total", "request_rejected", _C),
        Metric("vllm:request_success_total", "request_aborted", _C, where=("finished_reason", ("abort",))),
        Metric("vllm:request_success_total", "request_errors", _C, where=("finished_reason", ("error",))),
        # A histogram in spite of its name.
        Metric("vllm:iteration_tokens_total", "iteration_tokens", _H),
        Metric("vllm:time_to_first_token_seconds", "ttft", _H),
        Metric("vllm:inter_token_latency_seconds", "itl", _H),
        # Inter-token latency under another name, gone from 0.15.
        Metric("vllm:time_per_output_token_seconds", "itl", _H, preference=1),
        Metric("vllm:request_time_per_output_token_seconds", "tpot", _H),
        Metric("vllm:e2e_request_latency_seconds", "e2e", _H),
        Metric("vllm:request_queue_time_seconds", "queue_time", _H),
        Metric("vllm:time_in_queue_requests", "queue_time", _H, preference=1),
        Metric("vllm:request_prefill_time_seconds", "prefill_time", _H),
        Metric("vllm:request_decode_time_seconds", "decode_time", _H),
        Metric("vllm:request_inference_time_seconds", "inference_time", _H),
        Metric("vllm:request_prompt_tokens", "prompt_len", _H),
        Metric("vllm:request_generation_tokens", "generation_len", _H),
        # The value is the time at which these adapters were last in a batch; old sets of names stay on the
        # page.
        Metric("vllm:lora_requests_info", "lora_running", _G, key="running_lora_adapters"),
        Metric("vllm:spec_decode_num_drafts_total", "spec_drafts", _C),
        Metric("vllm:spec_decode_num_draft_tokens_total", "spec_draft_tokens", _C),
        Metric("vllm:spec_decode_num_accepted_tokens_total", "spec_accepted_tokens", _C),
        Metric(
            "vllm:spec_decode_num_accepted_tokens_per_pos_total",
            "spec_accepted_per_pos",
            _C,
            key="position",
        ),
        Metric("vllm:spec_decode_draft_acceptance_rate", "spec_accept_rate", _G),
        # Fields of the periodic log lines.
        Metric("vllm:log:running", "running", _G, preference=2),
        Metric("vllm:log:waiting", "waiting", _G, preference=2),
        Metric("vllm:log:deferred", "waiting_deferred", _G, preference=2),
        Metric("vllm:log:swapped", "swapped", _G, preference=2),
        Metric("vllm:log:kv_usage", "kv_usage", _G, scale=0.01, preference=2),
        Metric("vllm:log:prompt_throughput", "prompt_tokens", _R, preference=2),
        Metric("vllm:log:generation_throughput", "generation_tokens", _R, preference=2),
        Metric("vllm:log:prefix_hit_rate", "prefix_hit_rate", _G, scale=0.01, preference=2),
        Metric("vllm:log:spec_accept_length", "spec_accept_length", _G, preference=2),
        Metric("vllm:log:spec_accept_rate", "spec_accept_rate", _G, scale=0.01, preference=2),
        Metric("vllm:log:spec_accepted_per_pos", "spec_pos_rate", _G, key="position", preference=2),
        Metric("vllm:log:preemptions_total", "preemptions", _C, preference=2),
    ),
    infos=(
        InfoMetric("vllm:lora_requests_info", {"max_lora": "max_loras"}),
        InfoMetric(
            "vllm:cache_config_info",
            {
                "block_size": "block_size",
                "num_gpu_blocks": "num_gpu_blocks",
                "num_gpu_blocks_override": "num_gpu_blocks_override",
                "kv_cache_size_tokens": "kv_capacity_tokens",
                "enable_prefix_caching": "enable_prefix_caching",
                "gpu_memory_utilization": "gpu_memory_utilization",
                "cache_dtype": "kv_cache_dtype",
                "kv_cache_max_concurrency": "max_concurrency",
            },
        ),
    ),
    not_exported={
        "concurrency_cap": "the launch command or the start-up line 'non-default args' (--max-num-seqs)",
        "token_budget": "the launch command, or the start-up line 'non-default args'"
        " (--max-num-batched-tokens)",
    },
    options={"concurrency_cap": "max_num_seqs", "token_budget": "max_num_batched_tokens"},
)

# Native metrics with a meaning in the field's reference that is not read here, and why.
_WHY_NOT: dict[str, tuple[str, ...]] = {
    "an estimate from the model's shape, not a measurement": (
        "vllm:estimated_flops_per_gpu_total",
        "vllm:estimated_read_bytes_per_gpu_total",
        "vllm:estimated_write_bytes_per_gpu_total",
    ),
    "evictions of cached prefixes are normal, and how long blocks stay is sampled and off by default": (
        "vllm:kv_block_lifetime_seconds",
        "vllm:kv_block_idle_before_evict_seconds",
        "vllm:kv_block_reuse_gap_seconds",
    ),
    "follows from signals that are mapped": (
        "vllm:prompt_tokens_cached_total",
        "vllm:prompt_tokens_cached_by_source_total",
        "vllm:spec_decode_efficiency",
        "vllm:spec_decode_num_emitted_tokens_total",
    ),
    "moving KV to and from hosts, stores and other servers: no rule is about it yet": (
        "vllm:num_requests_kv_fetch_by_stage",
        "vllm:nixl_xfer_time_seconds",
        "vllm:nixl_post_time_seconds",
        "vllm:nixl_bytes_transferred",
        "vllm:nixl_num_failed_transfers_total",
        "vllm:nixl_num_failed_notifications_total",
        "vllm:nixl_num_kv_expired_reqs_total",
        "vllm:nixl_num_notifications_after_expiry_total",
        "vllm:mooncake_xfer_time_seconds",
        "vllm:mooncake_bytes_transferred",
        "vllm:mooncake_num_failed_transfers_total",
        "vllm:mooncake_num_failed_recvs_total",
        "vllm:mooncake_num_kv_expired_reqs_total",
        "vllm:mooncake_store_operation_time_seconds",
        "vllm:mooncake_store_operation_total",
        "vllm:mooncake_store_operation_bytes_total",
        "vllm:mooncake_store_operation_failed_keys_total",
        "vllm:hf3fs_save_duration_seconds",
        "vllm:hf3fs_load_duration_seconds",
        "vllm:hf3fs_num_failed_save_total",
        "vllm:hf3fs_num_failed_load_total",
        "vllm:hisparse_host_to_device_bytes_total",
        "vllm:umbp_transfer_failed_total",
        "vllm:umbp_transfer_bytes_total",
        "vllm:kv_offload_load_bytes_total",
        "vllm:kv_offload_load_time_total",
        "vllm:kv_offload_store_bytes_total",
        "vllm:kv_offload_store_time_total",
        "vllm:kv_offload_total_bytes_total",
        "vllm:kv_offload_total_time_total",
        "vllm:kv_offload_allocation_failure_total",
        "vllm:kv_offload_stores_skipped_total",
        "vllm:kv_offload_cpu_cache_read_usage_perc",
        "vllm:kv_offload_cpu_cache_write_usage_perc",
        "vllm:kv_offload_tiering_read_bytes_total",
        "vllm:kv_offload_tiering_read_time_total",
        "vllm:kv_offload_tiering_write_bytes_total",
        "vllm:kv_offload_tiering_write_time_total",
        "vllm:kv_offload_tiering_promotion_job_failures_total",
        "vllm:kv_offload_tiering_cascade_job_failures_total",
        "vllm:kv_offload_tiering_chunk_queries_total",
        "vllm:kv_offload_tiering_chunk_hits_total",
        "vllm:kv_offload_tiering_promotion_allocation_failures_total",
        "vllm:kv_offload_tiering_backpressure_stores_dropped_total",
        "vllm:kv_offload_tiering_backpressure_blocks_dropped_total",
        "vllm:simple_kv_offload_load_blocks_total",
    ),
    "needs a device timer or traces that are off by default": (
        "vllm:model_forward_time_milliseconds",
        "vllm:model_execute_time_milliseconds",
    ),
    "no rule reads it yet": (
        "vllm:engine_sleep_state",
        "vllm:corrupted_requests_total",
        "vllm:mm_cache_queries_total",
        "vllm:mm_cache_hits_total",
        "vllm:request_num_preemptions",
        "vllm:request_prefill_kv_computed_tokens",
        "vllm:kv_offload_config_info",
        "vllm:simple_kv_offload_info",
        "vllm:sleep_mode_operation_duration_seconds",
        "vllm:sleep_mode_operations_in_flight",
    ),
    "of the last batch or since the start, and so never of the window": ("vllm:cpu_prefix_cache_hit_rate",),
    "requests as HTTP sees them: every route of the server is in it, health checks too": (
        "http_requests_total",
        "http_request_duration_seconds",
        "http_request_duration_highr_seconds",
    ),
    "what clients asked for, not what was done": (
        "vllm:request_max_num_generation_tokens",
        "vllm:request_params_max_tokens",
    ),
}
NOT_MAPPED: dict[str, str] = {name: why for why, names in _WHY_NOT.items() for name in names}
