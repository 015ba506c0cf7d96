"""Benchmark results: a run, its steps, their statistics and requests, in one set of units.

Units: seconds, tokens, requests or tokens per second for the whole deployment, ratios 0-1, watts, bytes.
Absent is None; a zero is a measurement. ``origins`` names every field that is not simply reported by the
file: ``derived`` (computed from reported fields), ``named`` (from a file, folder or column name, or from a
remark), ``command`` (from a command line beside the result) or ``asked`` (given by the user).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct, field

UNKNOWN = "unknown"


class BenchStat(Struct, frozen=True):
    """One statistic of one metric.

    Attributes:
        metric: ``ttft``, ``tpot`` (excludes the first token), ``itl`` (gaps between stream chunks), ``ntpot``
            (end to end over output tokens), ``e2e``, ``input_len``, ``output_len``, ``client_delay``, ...
        stat: ``mean``, ``sd``, ``min``, ``max``, ``p50``, ``p90``, ``p99``, ``p999``, ...
        value: in ``unit``.
        unit: ``s``, ``tokens`` or ``ratio``.
        population: what was counted: ``requests``, ``gaps``, ``tokens``, ``seconds`` or ``batches``.
        n: size of the population when known.
    """

    metric: str
    stat: str
    value: float
    unit: str = "s"
    population: str = "requests"
    n: int | None = None


class BenchRequest(Struct, frozen=True):
    """One answer of a step. Prompts and outputs are never kept; of very many gaps between tokens only some requests' are."""

    request_no: int
    start_s: float | None = None
    intended_start_s: float | None = None
    ttft_s: float | None = None
    e2e_s: float | None = None
    tpot_s: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    gaps_s: Sequence[float] = ()
    chunks: int | None = None
    status: str = "ok"
    error_kind: str | None = None
    session: str | None = None
    turn: int | None = None
    replica: str | None = None


class BenchStep(Struct):
    """One load level of a run: a rate, a concurrency, a batch size, or a single-stream test.

    Filled by a reader, then left alone. ``load_mode`` is one of open, open-capped, closed, burst, ramp,
    replay, offline, single-stream, unknown; ``arrival`` one of poisson, gamma, constant, trace, none,
    unknown. ``pooled`` marks a summary over several load levels: it is no point of a curve.
    """

    source_path: str = ""
    ordinal: int = 0
    repeat: int = 0
    load_mode: str = "unknown"
    arrival: str = "unknown"
    requested_rps: float | None = None
    achieved_rps: float | None = None
    burstiness: float | None = None
    concurrency_cap: int | None = None
    concurrency_mean: float | None = None
    concurrency_peak: float | None = None
    batch_size: int | None = None
    duration_s: float | None = None
    measured_over: str = "full"
    requested: int | None = None
    started: int | None = None
    completed: int | None = None
    failed: int | None = None
    incomplete: int | None = None
    cancelled: int | None = None
    error_kinds: dict[str, int] = field(default_factory=dict)
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_input_tokens: int | None = None
    token_counter: str = UNKNOWN
    rps: float | None = None
    output_tps: float | None = None
    input_tps: float | None = None
    total_tps: float | None = None
    peak_output_tps: float | None = None
    goodput_rps: float | None = None
    goodput_fraction: float | None = None
    schedule_delay_p99_s: float | None = None
    client_queue_p99_s: float | None = None
    client_limited: bool | None = None
    spec_acceptance: float | None = None
    spec_tokens_per_step: float | None = None
    spec_per_position: tuple[float, ...] = ()
    spec_scope: str | None = None
    cache_hit: float | None = None
    kv_usage_mean: float | None = None
    kv_usage_max: float | None = None
    waiting_mean: float | None = None
    running_mean: float | None = None
    preemptions: int | None = None
    power_w: float | None = None
    energy_j: float | None = None
    prefill_s: float | None = None
    decode_step_s: float | None = None
    load_s: float | None = None
    startup_s: float | None = None
    startup_kind: str | None = None
    valid: bool = True
    invalid_reason: str | None = None
    pooled: bool = False
    stats: list[BenchStat] = field(default_factory=list)
    requests: list[BenchRequest] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def stat(self, metric: str, stat: str) -> float | None:
        """The value of one statistic, or None when the file does not have it."""
        for entry in self.stats:
            if entry.metric == metric and entry.stat == stat:
                return entry.value
        return None


class BenchRun(Struct):
    """One deployment under one workload definition, and the load levels tried on it.

    Filled by a reader, then left alone. ``evidence_kind`` is ``measured``, ``estimate`` (a simulation or a
    prediction) or ``example`` (made-up numbers). ``warnings`` are sentences for a person.
    """

    source: str
    format: str
    tool: str
    tool_version: str | None = None
    format_era: str | None = None
    evidence_kind: str = "measured"
    client_protocol: str | None = None
    started_at: float | None = None
    started_local: str | None = None
    engine: str | None = None
    engine_version: str | None = None
    engine_args: str | None = None
    model: str | None = None
    weight_format: str | None = None
    kv_format: str | None = None
    gpu_model: str | None = None
    gpus: int | None = None
    gpu_memory_bytes: int | None = None
    interconnect: str | None = None
    tp: int | None = None
    pp: int | None = None
    dp: int | None = None
    ep: int | None = None
    replicas: int | None = None
    prefill_gpus: int | None = None
    decode_gpus: int | None = None
    spec_method: str | None = None
    spec_draft_tokens: int | None = None
    draft_model: str | None = None
    max_num_seqs: int | None = None
    max_batched_tokens: int | None = None
    max_model_len: int | None = None
    prefix_caching: bool | None = None
    chunked_prefill: bool | None = None
    kv_offload: str | None = None
    routing: str | None = None
    dataset: str | None = None
    input_len_spec: str | None = None
    output_len_spec: str | None = None
    shared_prefix_tokens: int | None = None
    prefix_groups: int | None = None
    distinct_prompts: int | None = None
    multi_turn: bool | None = None
    ignore_eos: bool | None = None
    streaming: bool | None = None
    seed: int | None = None
    warmup: str | None = None
    gpu_hourly: float | None = None
    currency: str | None = None
    price_basis: str | None = None
    steps: list[BenchStep] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    origins: dict[str, str] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)
