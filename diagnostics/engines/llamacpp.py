"""llama.cpp's server: one page without KV usage, preemptions or latency histograms.

The token counters of many builds move only when a request completes, and the cap is the number of slots.
"""

from __future__ import annotations

from diagnostics.engines.base import Engine, Metric
from diagnostics.model.catalog import Kind

_G, _C, _H = Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM

ENGINE = Engine(
    name="llama.cpp",
    title="llama.cpp",
    prefixes=("llamacpp:", "llamacpp_"),
    metrics=(
        Metric("llamacpp:requests_processing", "running", _G),
        Metric("llamacpp:requests_deferred", "waiting", _G),
        # Without what was found in a slot's cache.
        Metric("llamacpp:prompt_tokens_total", "prompt_tokens", _C),
        Metric("llamacpp:prompt_tokens_total", "prompt_tokens_computed", _C),
        Metric("llamacpp:prompt_tokens_cached_total", "prefix_hits", _C),
        Metric("llamacpp:tokens_predicted_total", "generation_tokens", _C),
        Metric("llamacpp:n_decode_total", "iterations", _C),
        # Gone from builds of mid-2025 on.
        Metric("llamacpp:kv_cache_usage_ratio", "kv_usage", _G),
        Metric("llamacpp:kv_cache_tokens", "kv_used_tokens", _G),
        Metric("llamacpp:spec_decode_num_drafts_total", "spec_drafts", _C),
        Metric("llamacpp:spec_decode_num_draft_tokens_total", "spec_draft_tokens", _C),
        Metric("llamacpp:spec_decode_num_accepted_tokens_total", "spec_accepted_tokens", _C),
        Metric(
            "llamacpp:spec_decode_num_accepted_tokens_per_pos_total",
            "spec_accepted_per_pos",
            _C,
            key="position",
        ),
        # Slots that work, and what the timings of each finished request say, summed up.
        Metric("llamacpp:log:running", "running", _G, preference=2),
        Metric("llamacpp:log:prompt_tokens", "prompt_tokens_computed", _C, preference=2),
        Metric("llamacpp:log:generation_tokens", "generation_tokens", _C, preference=2),
        Metric("llamacpp:log:requests_finished", "requests_finished", _C, preference=2),
        Metric("llamacpp:log:prefill_time", "prefill_time", _H, preference=2),
        Metric("llamacpp:log:decode_time", "decode_time", _H, preference=2),
        Metric("llamacpp:log:inference_time", "inference_time", _H, preference=2),
        Metric("llamacpp:log:tpot", "tpot", _H, preference=2),
        Metric("llamacpp:log:spec_draft_tokens", "spec_draft_tokens", _C, preference=2),
        Metric("llamacpp:log:spec_accepted_tokens", "spec_accepted_tokens", _C, preference=2),
    ),
    not_exported={
        "kv_usage": "the /slots page, which lists what each slot holds",
        "preemptions": "nothing: this engine never preempts",
        "requests_finished": "the log: one 'print_timing' block a request",
        "ttft": "the log: prompt eval time of each request",
        "itl": "the log: eval time of each request",
        "queue_time": "nothing: watch deferred requests",
        "iteration_tokens": "nothing",
    },
    options={"concurrency_cap": "parallel"},
    at_finish=frozenset({"generation_tokens", "prompt_tokens"}),
    never_preempts=True,
)
