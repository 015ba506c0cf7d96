"""Which flags engines have in which version, and what holds when a flag is not given.

Facts, as read from releases of vLLM 0.2.7 to 0.33.0 and SGLang 0.4.0 to 0.5.23, and from TGI 3.3.7,
TensorRT-LLM 1.2, a llama.cpp build of 2026 and lmdeploy 0.18.0:

- vLLM runs its V1 engine by default from 0.8.0 on. There chunked prefill and prefix caching are on; V0
  had both off.
- vLLM's cap on sequences and budget of tokens depend on GPU memory and release; from 0.9 on an A100 with
  80 GB falls into the row of small GPUs (256 and 2,048), which surprises many. From 0.28 on GPUs of 160
  GiB get 16,384 tokens.
- vLLM's share of GPU memory is 0.9 up to 0.19 and 0.92 from 0.20 on.
- vLLM replaced ``--speculative-model`` and ``--num-speculative-tokens`` (0.4.3 to 0.8.2) by
  ``--speculative-config``; multi-step scheduling ended with 0.10.0, preemption modes with 0.10.2,
  ``--swap-space`` with 0.17, several partial prefills with 0.26, KV scale calculation with 0.27.
  ``--max-num-queued-reqs`` came with 0.29.
- SGLang sizes its prefill chunks by GPU memory, in steps that changed twice (0.4.10, 0.5.6, 0.5.23),
  derives its cap from the KV pool, and caps at 48 when it speculates and no cap is given.
- The memory fractions of the engines mean different things: of all memory (vLLM), weights and KV only
  (SGLang), of what is free after the weights (TensorRT-LLM, lmdeploy).

A remedy may only name a flag that :func:`flag_for` gives.
"""

from __future__ import annotations

from functools import cache

from msgspec import Struct

from diagnostics.engines.defaults import NEWEST, DefaultValue, Version, default_of, parse_version

__all__ = [
    "DefaultValue",
    "Flag",
    "default_of",
    "flag_for",
    "options_for",
    "parse_version",
    "renamed",
    "since",
    "until",
]

# engine, purpose, flag, first release with it, last release with it; "-" where none is known.
_FLAGS = """
vllm concurrency-cap --max-num-seqs 0.2 -
vllm token-budget --max-num-batched-tokens 0.2 -
vllm kv-memory-fraction --gpu-memory-utilization 0.2 -
vllm kv-dtype --kv-cache-dtype 0.3.3 -
vllm prefix-caching --enable-prefix-caching 0.4 -
vllm chunked-prefill --enable-chunked-prefill 0.4 -
vllm speculative-config --speculative-config 0.8.3 -
vllm speculative-config --speculative-model 0.4.3 0.8.2
vllm max-model-len --max-model-len 0.2 -
vllm max-loras --max-loras 0.4 -
vllm queue-limit --max-num-queued-reqs 0.29 -
vllm tensor-parallel --tensor-parallel-size 0.2 -
vllm pipeline-parallel --pipeline-parallel-size 0.2 -
vllm data-parallel --data-parallel-size 0.8.3 -
vllm expert-parallel --enable-expert-parallel 0.8 -
vllm cuda-graph-sizes --cudagraph-capture-sizes 0.11.1 -
vllm cuda-graph-sizes --compilation-config 0.8 0.11.0
vllm long-prefill-threshold --long-prefill-token-threshold 0.7.3 -
vllm kv-offload --kv-offloading-size 0.11.1 -
vllm kv-memory-bytes --kv-cache-memory-bytes 0.10.2 -
vllm other --num-speculative-tokens 0.4.3 0.8.2
vllm other --num-scheduler-steps 0.5.5 0.10.0
vllm other --multi-step-stream-outputs 0.5.5 0.10.0
vllm other --swap-space 0.2 0.17
vllm other --preemption-mode 0.5.0 0.10.2
vllm other --max-num-partial-prefills 0.7.3 0.26
vllm other --max-long-partial-prefills 0.7.3 0.26
vllm other --calculate-kv-scales 0.7 0.27
vllm other --disable-log-requests 0.2 0.10.1
vllm other --enable-log-requests 0.10.1 -
vllm other --max-num-queued-tokens 0.29 -
vllm other --scheduling-policy 0.6.3 -
vllm other --async-scheduling 0.10 -
vllm other --optimization-level 0.12 -
vllm other --max-cudagraph-capture-size 0.11.1 -
vllm other --scheduler-reserve-full-isl 0.19 -
vllm other --enable-eplb 0.9.2 -
vllm other --decode-context-parallel-size 0.10.2 -
vllm other --prefill-context-parallel-size 0.12 -
vllm other --enable-dbo 0.11 -
vllm other --enable-sleep-mode 0.7 -
vllm other --enable-mfu-metrics 0.14 -
vllm other --kv-cache-metrics 0.12 -
sglang concurrency-cap --max-running-requests 0.4 -
sglang token-budget --chunked-prefill-size 0.4 -
sglang kv-memory-fraction --mem-fraction-static 0.4 -
sglang kv-dtype --kv-cache-dtype 0.4 -
sglang prefix-caching --disable-radix-cache 0.4 -
sglang chunked-prefill --chunked-prefill-size 0.4 -
sglang speculative-config --speculative-algorithm 0.4 -
sglang max-model-len --context-length 0.4 -
sglang max-loras --max-loras-per-batch 0.4 -
sglang queue-limit --max-queued-requests 0.4.9 -
sglang tensor-parallel --tp-size 0.4 -
sglang pipeline-parallel --pp-size 0.4.6 -
sglang data-parallel --dp-size 0.4 -
sglang expert-parallel --ep-size 0.4 -
sglang cuda-graph-sizes --cuda-graph-max-bs 0.4 -
sglang kv-offload --enable-hierarchical-cache 0.4.9 -
sglang other --enable-lora 0.4.9 -
sglang other --enable-ep-moe 0.4 0.5.3
sglang other --moe-a2a-backend 0.4.10 -
sglang other --prefill-max-requests 0.5.7 -
sglang other --enable-dynamic-chunking 0.5.7 -
sglang other --enable-prefill-delayer 0.5.8 -
sglang other --speculative-adaptive 0.5.11 -
sglang other --enable-priority-scheduling 0.5.3 -
sglang other --disaggregation-mode 0.4.4 -
sglang other --enable-mfu-metrics 0.5.10 -
tgi concurrency-cap --max-batch-size 1.0 -
tgi token-budget --max-batch-prefill-tokens 1.0 -
tgi kv-memory-fraction --cuda-memory-fraction 1.0 -
tgi kv-dtype --kv-cache-dtype 3.0 -
tgi prefix-caching PREFIX_CACHING 3.0 -
tgi speculative-config --speculate 1.0 -
tgi max-model-len --max-total-tokens 1.0 -
tgi queue-limit --max-concurrent-requests 1.0 -
tgi tensor-parallel --num-shard 1.0 -
tgi cuda-graph-sizes --cuda-graphs 1.0 -
tensorrt-llm concurrency-cap --max_batch_size - -
tensorrt-llm token-budget --max_num_tokens - -
tensorrt-llm kv-memory-fraction --free_gpu_memory_fraction - -
tensorrt-llm kv-dtype kv_cache_config.dtype - -
tensorrt-llm prefix-caching kv_cache_config.enable_block_reuse - -
tensorrt-llm chunked-prefill --enable_chunked_prefill - -
tensorrt-llm speculative-config speculative_config - -
tensorrt-llm max-model-len --max_seq_len - -
tensorrt-llm max-loras lora_config.max_loras - -
tensorrt-llm tensor-parallel --tp_size - -
tensorrt-llm pipeline-parallel --pp_size - -
tensorrt-llm expert-parallel --ep_size - -
tensorrt-llm data-parallel enable_attention_dp - -
tensorrt-llm cuda-graph-sizes cuda_graph_config - -
tensorrt-llm kv-offload kv_cache_config.host_cache_size - -
llama.cpp concurrency-cap --parallel - -
llama.cpp token-budget --ubatch-size - -
llama.cpp kv-dtype --cache-type-k - -
llama.cpp prefix-caching --cache-prompt - -
llama.cpp speculative-config --model-draft - -
llama.cpp max-model-len --ctx-size - -
llama.cpp tensor-parallel --split-mode - -
lmdeploy concurrency-cap --max-batch-size 0.6 -
lmdeploy token-budget --max-prefill-token-num - -
lmdeploy kv-memory-fraction --cache-max-entry-count - -
lmdeploy kv-dtype --quant-policy - -
lmdeploy prefix-caching --enable-prefix-caching - -
lmdeploy speculative-config speculative_config 0.11 -
lmdeploy max-model-len --session-len - -
lmdeploy tensor-parallel --tp - -
ray-serve concurrency-cap max_ongoing_requests - -
"""

# What to use, or to know, instead of a flag that a release no longer has.
_INSTEAD = {
    ("vllm", "speculative_model"): "use --speculative-config with method, model and num_speculative_tokens",
    ("vllm", "num_speculative_tokens"): "give num_speculative_tokens inside --speculative-config",
    ("vllm", "num_scheduler_steps"): "leave it out: multi-step scheduling went with the V0 engine",
    ("vllm", "multi_step_stream_outputs"): "leave it out: multi-step scheduling went with the V0 engine",
    ("vllm", "swap_space"): "leave it out: V1 preempts by recomputing, --kv-offloading-size is the nearest",
    ("vllm", "preemption_mode"): "leave it out: V1 always recomputes",
    ("vllm", "max_num_partial_prefills"): "limit single prompts with --long-prefill-token-threshold",
    ("vllm", "max_long_partial_prefills"): "limit single prompts with --long-prefill-token-threshold",
    ("vllm", "calculate_kv_scales"): "use a checkpoint that carries KV scales",
    (
        "vllm",
        "disable_log_requests",
    ): "leave it out: request logging is off unless --enable-log-requests is given",
    ("vllm", "compilation_config"): "use --cudagraph-capture-sizes",
    ("sglang", "enable_ep_moe"): "use --ep-size with --moe-a2a-backend",
}
# Flags without an exact last release: they went with the V0 engine, after 0.10.
_WITH_V0 = {
    "num_lookahead_slots": "leave it out: it reserved slots for speculation in the V0 engine",
    "use_v2_block_manager": "leave it out: there is only one block manager",
    "scheduler_delay_factor": "leave it out: V1 mixes prefill and decode in each step",
}
_V0_ENDED: Version = (0, 11)


class Flag(Struct, frozen=True):
    """One flag, what it is for, and the first and last release that have it."""

    engine: str
    purpose: str
    flag: str
    since: str | None
    until: str | None

    @property
    def option(self) -> str:
        """The option's name in snake case, as settings carry it."""
        return self.flag.lstrip("-").replace("-", "_") if self.flag.startswith("-") else self.flag.lower()


@cache
def _flags() -> tuple[Flag, ...]:
    rows = (line.split() for line in _FLAGS.strip().splitlines())
    return tuple(
        Flag(engine, purpose, flag, None if first == "-" else first, None if last == "-" else last)
        for engine, purpose, flag, first, last in rows
    )


def _has(flag: Flag, version: Version) -> bool:
    first, last = parse_version(flag.since), parse_version(flag.until)
    # "until 0.17" includes every 0.17.x, so only as many parts are compared as the bound has.
    return (first is None or version >= first) and (last is None or version[: len(last)] <= last)


def since(engine: str, option: str) -> str | None:
    """Give the first release that has an option, or None when that is not known."""
    return next((flag.since for flag in _flags() if (flag.engine, flag.option) == (engine, option)), None)


def until(engine: str, option: str) -> str | None:
    """Give the last release that has an option, or None when it is still there."""
    return next((flag.until for flag in _flags() if (flag.engine, flag.option) == (engine, option)), None)


def flag_for(engine: str, version: str | None, purpose: str) -> str | None:
    """Give the flag that serves a purpose in one release.

    Args:
        engine: the engine.
        version: its release; None or unreadable means a current one.
        purpose: for example ``concurrency-cap``, ``token-budget`` or ``queue-limit``.

    Returns:
        The flag as it is typed (for some engines a key of a YAML file or a variable), or None when that
        release has none.
    """
    release = parse_version(version) or NEWEST
    fitting = (
        flag.flag
        for flag in _flags()
        if (flag.engine, flag.purpose) == (engine, purpose) and _has(flag, release)
    )
    return next(fitting, None)


def options_for(engine: str, purpose: str) -> tuple[str, ...]:
    """Give the names under which settings carry what serves a purpose, newest flag first."""
    return tuple(flag.option for flag in _flags() if (flag.engine, flag.purpose) == (engine, purpose))


def renamed(engine: str, version: str | None, option: str) -> str | None:
    """Say that a release does not have an option, and what to use instead.

    Args:
        engine: the engine.
        version: its release; None or unreadable means a current one.
        option: the option's name in snake case.

    Returns:
        One sentence, or None when nothing is known against the option.
    """
    release = parse_version(version) or NEWEST
    shown = f"{engine} {version}" if parse_version(version) else f"current {engine}"
    name = "--" + option.replace("_", "-")
    if engine == "vllm" and option in _WITH_V0 and release >= _V0_ENDED:
        return f"{shown} no longer has {name}; {_WITH_V0[option]}"
    rows = [flag for flag in _flags() if (flag.engine, flag.option) == (engine, option)]
    if not rows or any(_has(flag, release) for flag in rows):
        return None
    row = rows[0]
    last, first = parse_version(row.until), parse_version(row.since)
    if last is not None and release[: len(last)] > last:
        if (engine, option) == ("vllm", "compilation_config"):
            return None  # the option lives on; only graph sizes have a flag of their own
        instead = _INSTEAD.get((engine, option))
        return f"{shown} no longer has {name} (last in {row.until})" + (f"; {instead}" if instead else "")
    if first is not None and release < first:
        return f"{shown} does not have {name} yet (first in {row.since})"
    return None
