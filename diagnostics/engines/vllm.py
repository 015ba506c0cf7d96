"""vLLM, V0 and V1: metric names of every era, log fields, and what it does not publish."""

from __future__ import annotations

from diagnostics.engines.base import Engine, InfoMetric, Metric
from diagnostics.model.catalog import Kind

_G, _C, _R, _H = Kind.GAUGE, Kind.COUNTER, Kind.RATE, Kind.HISTOGRAM

ENGINE = Engine(
    name="vllm",
    title="vLLM",
    prefixes=("vllm:", "vllm_", "ray_vllm_", "ray_vllm:"),
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
        Metric("vllm:prefix_cache_queries_total", "prefix_queries", _C),
        Metric("vllm:prefix_cache_hits_total", "prefix_hits", _C),
        # Until 0.8.5 these counted blocks, later tokens; only their ratio is used.
        Metric("vllm:gpu_prefix_cache_queries_total", "prefix_queries", _C, preference=1),
        Metric("vllm:gpu_prefix_cache_hits_total", "prefix_hits", _C, preference=1),
        Metric("vllm:gpu_prefix_cache_hit_rate", "prefix_hit_rate", _G),
        Metric("vllm:request_success_total", "requests_finished", _C),
        Metric(
            "vllm:request_success_total", "request_aborted", _C, where=("finished_reason", ("abort",))
        ),
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
        Metric("vllm:request_prompt_tokens", "prompt_len", _H),
        Metric("vllm:request_generation_tokens", "generation_len", _H),
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
        "token_budget": "the launch command or the start-up line 'non-default args' (--max-num-batched-tokens)",
    },
    options={"concurrency_cap": "max_num_seqs", "token_budget": "max_num_batched_tokens"},
)
