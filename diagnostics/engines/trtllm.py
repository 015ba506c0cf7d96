"""TensorRT-LLM's own server: Prometheus text at /prometheus/metrics; what it publishes grew much after 1.2.

Batch size and token budget are metrics here. "Running" also counts requests that the present step leaves out,
so the scheduled ones are preferred.
"""

from __future__ import annotations

from diagnostics.engines.base import Engine, InfoMetric, Metric
from diagnostics.model.catalog import Kind

_G, _C, _H = Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM

ENGINE = Engine(
    name="tensorrt-llm",
    title="TensorRT-LLM",
    prefixes=("trtllm_", "trtllm:log:"),
    metrics=(
        Metric("trtllm_num_scheduled_requests", "running", _G),
        Metric("trtllm_num_requests_running", "running", _G, preference=1),
        Metric("trtllm_num_requests_waiting", "waiting", _G),
        Metric("trtllm_kv_cache_utilization", "kv_usage", _G),
        Metric("trtllm_kv_cache_host_utilization", "cpu_kv_usage", _G),
        Metric("trtllm_max_batch_size_runtime", "concurrency_cap", _G),
        Metric("trtllm_max_batch_size_static", "concurrency_cap", _G, preference=1),
        Metric("trtllm_max_num_tokens_runtime", "token_budget", _G),
        Metric("trtllm_prompt_tokens_total", "prompt_tokens", _C),
        Metric("trtllm_prompt_tokens_total", "prefix_queries", _C),
        Metric("trtllm_prompt_cached_tokens_total", "prefix_hits", _C),
        Metric("trtllm_generation_tokens_total", "generation_tokens", _C),
        Metric("trtllm_kv_cache_hit_rate", "prefix_hit_rate", _G),
        Metric("trtllm_request_success_total", "requests_finished", _C),
        Metric("trtllm_num_requests_completed_total", "requests_finished", _C, preference=1),
        Metric("trtllm_request_error_total", "request_errors", _C),
        Metric("trtllm_time_to_first_token_seconds", "ttft", _H),
        Metric("trtllm_time_per_output_token_seconds", "tpot", _H),
        Metric("trtllm_e2e_request_latency_seconds", "e2e", _H),
        Metric("trtllm_request_queue_time_seconds", "queue_time", _H),
        Metric("trtllm_request_prefill_time_seconds", "prefill_time", _H),
        Metric("trtllm_request_decode_time_seconds", "decode_time", _H),
        Metric("trtllm_request_inference_time_seconds", "inference_time", _H),
        Metric("trtllm_spec_decode_num_draft_tokens_total", "spec_draft_tokens", _C),
        Metric("trtllm_spec_decode_num_accepted_tokens_total", "spec_accepted_tokens", _C),
        Metric("trtllm_spec_decode_accepted_tokens_total", "spec_accepted_per_pos", _C, key="token_position"),
        Metric("trtllm_spec_decode_acceptance_length", "spec_accept_length", _G),
        Metric("trtllm_spec_decode_draft_overhead", "spec_draft_overhead", _G),
        Metric("trtllm_gpu_memory_usage_bytes", "gpu_mem_used", _G),
        # The line of every iteration.
        Metric("trtllm:log:running", "running", _G, preference=2),
        Metric("trtllm:log:kv_usage", "kv_usage", _G, preference=2),
        Metric("trtllm:log:iterations", "iterations", _C, preference=2),
        Metric("trtllm:log:prompt_tokens", "prompt_tokens_computed", _C, preference=2),
        Metric("trtllm:log:generation_tokens", "generation_tokens", _C, preference=2),
        Metric("trtllm:log:iteration_tokens", "iteration_tokens", _H, preference=2),
    ),
    infos=(
        InfoMetric(
            "trtllm_model_config_info", {"model": "model", "dtype": "dtype", "quantization": "quantization"}
        ),
        InfoMetric("trtllm_parallel_config_info", {"tp_size": "tp_size", "pp_size": "pp_size"}),
        InfoMetric("trtllm_speculative_config_info", {"method": "speculative_method"}),
    ),
    not_exported={
        "preemptions": "trtllm_num_paused_requests, a gauge of those parked now",
        "itl": "trtllm_time_per_output_token_seconds, the mean of each request",
        "iteration_tokens": "the JSON of /metrics, one object a step",
    },
    options={"concurrency_cap": "max_batch_size", "token_budget": "max_num_tokens"},
)
