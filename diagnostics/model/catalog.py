"""The canonical signals: the only names that rules, pages and reports use."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Kind(StrEnum):
    """How a signal's samples are to be read."""

    GAUGE = "gauge"
    COUNTER = "counter"
    RATE = "rate"
    HISTOGRAM = "histogram"


class SignalSpec(Struct, frozen=True):
    """One canonical signal.

    Attributes:
        name: the word rules use.
        unit: ``requests``, ``tokens``, ``s``, ``ratio``, ``events``, ``tokens/s``, ``unix time``, ``0/1``.
        kind: gauge, counter (increments matter), or histogram (sum, count and buckets).
        description: one sentence for a person.
    """

    name: str
    unit: str
    kind: Kind
    description: str


def _specs(*rows: tuple[str, str, Kind, str]) -> dict[str, SignalSpec]:
    return {row[0]: SignalSpec(*row) for row in rows}


_G, _C, _H = Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM

SIGNALS: dict[str, SignalSpec] = _specs(
    ("up", "0/1", _G, "The scrape of the target succeeded."),
    ("start_time", "unix time", _G, "When the server process started."),
    ("running", "requests", _G, "Requests in the model batch of one engine."),
    ("waiting", "requests", _G, "Requests admitted and not yet scheduled, inside the engine."),
    ("waiting_deferred", "requests", _G, "Waiting requests held back for a reason other than capacity."),
    ("swapped", "requests", _G, "Requests swapped out to host memory."),
    ("kv_usage", "ratio", _G, "Share of the KV cache pinned by live requests."),
    ("kv_capacity_tokens", "tokens", _G, "Tokens that the KV cache can hold."),
    ("concurrency_cap", "requests", _G, "Most requests scheduled together, per engine, as the engine says."),
    ("token_budget", "tokens", _G, "Most tokens per engine step, as the engine says."),
    ("preemptions", "events", _C, "Running requests evicted from the KV cache to make room."),
    ("prompt_tokens", "tokens", _C, "Prompt tokens processed, cached ones included."),
    ("prompt_tokens_computed", "tokens", _C, "Prompt tokens that were computed, not found in a cache."),
    ("generation_tokens", "tokens", _C, "Tokens generated."),
    ("prefix_queries", "tokens", _C, "Prompt tokens looked up in the prefix cache."),
    ("prefix_hits", "tokens", _C, "Prompt tokens found in the prefix cache."),
    ("prefix_hit_rate", "ratio", _G, "Prefix hit rate as the engine prints it, over its own span."),
    ("requests_finished", "requests", _C, "Requests that ended, whatever the reason."),
    ("request_aborted", "requests", _C, "Requests counted as aborted."),
    ("request_errors", "requests", _C, "Requests that failed in the engine."),
    ("iteration_tokens", "tokens", _H, "Tokens of one engine step."),
    ("ttft", "s", _H, "Time to first token, from arrival in the engine."),
    ("itl", "s", _H, "Gap between two output tokens of a request."),
    ("tpot", "s", _H, "Mean decode interval of one request."),
    ("e2e", "s", _H, "Arrival to last token."),
    ("queue_time", "s", _H, "Waiting for the first schedule."),
    ("prefill_time", "s", _H, "First schedule to first token."),
    ("decode_time", "s", _H, "First to last token."),
    ("prompt_len", "tokens", _H, "Prompt length of finished requests."),
    ("generation_len", "tokens", _H, "Answer length of finished requests."),
    ("spec_drafts", "events", _C, "Verification rounds of speculative decoding."),
    ("spec_draft_tokens", "tokens", _C, "Drafted tokens."),
    ("spec_accepted_tokens", "tokens", _C, "Accepted draft tokens, bonus token excluded."),
    ("spec_accepted_per_pos", "tokens", _C, "Accepted draft tokens by position."),
    ("spec_accept_rate", "ratio", _G, "Draft acceptance rate as the engine prints it."),
    ("spec_accept_length", "tokens", _G, "Mean accepted length including the bonus token, as printed."),
    ("spec_pos_rate", "ratio", _G, "Acceptance by position as the engine prints it."),
    ("lora_max", "adapters", _G, "Most adapters in one batch."),
    ("lora_running", "unix time", _G, "When the adapters named by the key were last in a batch."),
    ("lora_slots_used", "adapters", _G, "Adapter slots that hold an adapter."),
    ("realtime_tokens", "tokens", _C, "Tokens counted as batches run, not when requests finish."),
    ("iterations", "events", _C, "Steps of the engine."),
    ("cuda_graph_passes", "events", _C, "Forward passes by mode, with or without a captured graph."),
    ("cuda_graph_used", "0/1", _G, "The last batch ran from a captured graph."),
    ("inference_time", "s", _H, "First schedule to last token."),
    ("requests_received", "requests", _C, "Requests that arrived."),
    ("request_rejected", "requests", _C, "Requests refused at admission."),
    ("ext_prefix_queries", "tokens", _C, "Prompt tokens looked up in a cache outside the engine's memory."),
    ("ext_prefix_hits", "tokens", _C, "Prompt tokens found in a cache outside the engine's memory."),
    ("cpu_kv_usage", "ratio", _G, "Share in use of the part of the KV cache that lies in host memory."),
    ("kv_reserved_tokens", "tokens", _G, "Tokens reserved for the worst case of the requests in the batch."),
    ("kv_used_tokens", "tokens", _G, "Tokens pinned in the KV cache by live requests."),
    ("max_model_len", "tokens", _G, "Longest prompt and answer together, as the engine says."),
    ("tokenize_time", "s", _H, "Parsing, checking and tokenizing of a request."),
    ("process_cpu", "s", _C, "CPU seconds of the API server process."),
    ("spec_draft_overhead", "ratio", _G, "Share of a step's time that drafting takes."),
    ("gpu_util", "ratio", _G, "Share of time in which any kernel ran; says nothing of how well it ran."),
    ("gpu_tensor_active", "ratio", _G, "Share of time in which the tensor cores worked."),
    ("gpu_dram_active", "ratio", _G, "Share of time in which GPU memory moved data."),
    ("gpu_sm_clock", "MHz", _G, "Clock of the GPU's multiprocessors."),
    ("gpu_temp", "degrees C", _G, "Temperature of the GPU."),
    ("gpu_power", "W", _G, "Power that the GPU draws."),
    ("gpu_power_limit", "W", _G, "Power that the GPU may draw."),
    ("gpu_throttle", "bit mask", _G, "Reasons for which the clocks are held down, as the driver's bits."),
    ("gpu_throttle_power", "s", _C, "Time with clocks held down by a power limit."),
    ("gpu_throttle_thermal", "s", _C, "Time with clocks held down by heat."),
    ("gpu_xid", "code", _G, "Number of the last driver error; it stays until the driver is reset."),
    ("gpu_mem_used", "bytes", _G, "GPU memory in use."),
)
