"""The canonical signals: the only names that rules, pages and reports use."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """How a signal's samples are to be read."""

    GAUGE = "gauge"
    COUNTER = "counter"
    RATE = "rate"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class SignalSpec:
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
    ("prefix_hit_rate", "ratio", _G, "Prefix hit rate as the engine prints it (its own span, not the window)."),
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
)
