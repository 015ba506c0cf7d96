"""LMDeploy: names close to vLLM's; some of its cumulative counts are typed as gauges."""

from __future__ import annotations

from diagnostics.engines.base import Engine, InfoMetric, Metric
from diagnostics.model.catalog import Kind

_G, _C, _H = Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM

ENGINE = Engine(
    name="lmdeploy",
    title="LMDeploy",
    prefixes=("lmdeploy:", "lmdeploy_"),
    metrics=(
        Metric("lmdeploy:num_requests_running", "running", _G),
        # In the engine, and before it in the API server.
        Metric("lmdeploy:num_requests_waiting", "waiting", _G),
        Metric("lmdeploy:num_api_requests_waiting", "waiting", _G),
        Metric("lmdeploy:gpu_cache_usage_perc", "kv_usage", _G),
        Metric("lmdeploy:prefix_cache_hit_rate", "prefix_hit_rate", _G),
        Metric("lmdeploy:prompt_tokens_total", "prompt_tokens", _C),
        Metric("lmdeploy:prompt_tokens_total", "prefix_queries", _C),
        Metric("lmdeploy:cached_tokens_total", "prefix_hits", _C),
        Metric("lmdeploy:generation_tokens_total", "generation_tokens", _C),
        Metric("lmdeploy:request_success_total", "requests_finished", _C),
        # Gauges that only grow.
        Metric("lmdeploy:num_requests_finished", "requests_finished", _C, preference=1),
        Metric("lmdeploy:num_requests_failed", "request_errors", _C),
        Metric("lmdeploy:iteration_tokens_total", "iteration_tokens", _H),
        Metric("lmdeploy:time_to_first_token_seconds", "ttft", _H),
        Metric("lmdeploy:iter_token_latency", "itl", _H),
        Metric("lmdeploy:time_per_output_token_seconds", "tpot", _H),
        Metric("lmdeploy:e2e_request_latency_seconds", "e2e", _H),
        Metric("lmdeploy:request_queue_time_seconds", "queue_time", _H),
        Metric("lmdeploy:request_inference_time_seconds", "inference_time", _H),
        Metric("lmdeploy:request_prefill_time_seconds", "prefill_time", _H),
        Metric("lmdeploy:request_decode_time_seconds", "decode_time", _H),
        Metric("lmdeploy:request_prompt_tokens", "prompt_len", _H),
        Metric("lmdeploy:request_generation_tokens", "generation_len", _H),
        Metric("lmdeploy:spec_decode_num_drafts_total", "spec_drafts", _C),
        Metric("lmdeploy:spec_decode_num_draft_tokens_total", "spec_draft_tokens", _C),
        Metric("lmdeploy:spec_decode_num_accepted_tokens_total", "spec_accepted_tokens", _C),
        Metric(
            "lmdeploy:spec_decode_num_accepted_tokens_per_pos_total",
            "spec_accepted_per_pos",
            _C,
            key="position",
        ),
        Metric("lmdeploy:spec_decode_mean_accept_rate", "spec_accept_rate", _G),
        Metric("lmdeploy:spec_decode_mean_accept_length", "spec_accept_length", _G),
        Metric("lmdeploy:spec_decode_per_position_accept_rate", "spec_pos_rate", _G, key="position"),
    ),
    infos=(
        InfoMetric(
            "lmdeploy:backend_config_info",
            {
                "max_batch_size": "max_batch_size",
                "cache_max_entry_count": "cache_max_entry_count",
                "enable_prefix_caching": "enable_prefix_caching",
                "max_prefill_token_num": "max_prefill_token_num",
                "session_len": "max_model_len",
                "tp": "tensor_parallel_size",
            },
        ),
    ),
    not_exported={"preemptions": "nothing: this engine publishes no preemptions"},
    options={"concurrency_cap": "max_batch_size", "token_budget": "max_prefill_token_num"},
    never_preempts=True,
)
