"""What holds in an engine when an option is not given, by release and GPU.

The facts are those that :mod:`diagnostics.engines.flags` states, which also knows what a release lacks.
"""

from __future__ import annotations

import csv
import re
from functools import cache
from importlib.resources import files

from msgspec import Struct

Version = tuple[int, ...]

_V1_DEFAULT: Version = (0, 8)

# engine, option, value, first release, first release without it, reason.
_FIXED = """
vllm|gpu_memory_utilization|0.9|0|0.20|releases before 0.20 take 0.9 of all GPU memory
vllm|gpu_memory_utilization|0.92|0.20||releases from 0.20 on take 0.92 of all GPU memory
vllm|enable_chunked_prefill|False|0|0.8|the V0 engine chunks prefill only if told to, or for long contexts
vllm|enable_chunked_prefill|True|0.8||the V1 engine always chunks prefill, with few models excepted
vllm|enable_prefix_caching|False|0|0.8|the V0 engine caches prefixes only if told to
vllm|enable_prefix_caching|True|0.8||the V1 engine caches prefixes, except for some hybrid and encoder models
vllm|block_size|16|0||blocks of 16 tokens unless the attention backend asks for more
vllm|max_loras|1|0||one adapter in a batch unless told otherwise
vllm|max_lora_rank|16|0||rank 16 unless told otherwise
vllm|swap_space|4|0|0.18|4 GiB of host memory a GPU, of use to the V0 engine only
vllm|long_prefill_token_threshold|0|0.7.3||no limit for a single prompt's share of a step
vllm|async_scheduling|True|0.14||on by default from 0.14 on
vllm|tensor_parallel_size|1|0||one GPU unless told otherwise
vllm|pipeline_parallel_size|1|0||one stage unless told otherwise
vllm|data_parallel_size|1|0.8.3||one engine unless told otherwise
vllm|optimization_level|2|0.12||level 2 unless told otherwise
vllm|scheduling_policy|fcfs|0||first come, first served
vllm|kv_cache_dtype|auto|0||the model's own data type
sglang|disable_radix_cache|False|0||prefixes are cached unless switched off
sglang|max_prefill_tokens|16384|0||one prefill batch of up to 16,384 tokens
sglang|schedule_conservativeness|1.0|0||the neutral value
sglang|schedule_policy|fcfs|0||first come, first served
sglang|enable_mixed_chunk|False|0||prefill and decode batches alternate unless told to mix
sglang|enable_metrics|False|0||metrics are off unless asked for
sglang|max_loras_per_batch|8|0||eight adapters in a batch, the base model included
sglang|page_size|1|0||pages of one token unless the backend asks for more
sglang|tp_size|1|0||one GPU unless told otherwise
sglang|dp_size|1|0||one replica unless told otherwise
sglang|kv_cache_dtype|auto|0||the model's own data type
tgi|max_concurrent_requests|128|0||requests beyond 128 are refused, not queued
tgi|cuda_memory_fraction|1.0|0||all memory that is visible
tensorrt-llm|max_batch_size|2048|0||the build configuration's default
tensorrt-llm|max_num_tokens|8192|0||the build configuration's default
tensorrt-llm|enable_chunked_prefill|False|0||off: prompts longer than max_num_tokens are refused
tensorrt-llm|free_gpu_memory_fraction|0.9|0||a share of what is free after the weights
tensorrt-llm|kv_cache_config.enable_block_reuse|True|0||blocks are reused unless switched off
llama.cpp|parallel|-1|0||slots are chosen automatically and share one KV cache
llama.cpp|batch_size|2048|0||logical batch of 2,048 tokens
llama.cpp|ubatch_size|512|0||physical batch of 512 tokens
llama.cpp|cache_prompt|True|0||prompts are kept in their slot
llama.cpp|cache_ram|8192|0||8,192 MiB of prompt states on the host
lmdeploy|cache_max_entry_count|0.8|0||a share of what is free after the weights
lmdeploy|max_prefill_token_num|8192|0||8,192 tokens a prefill
lmdeploy|enable_prefix_caching|False|0||off unless told otherwise
ray-serve|max_ongoing_requests|5|0||five requests a replica in plain Serve; the LLM layer sets its own
"""

# vLLM V1: from a release on, cap and budget for GPUs of >= 160 GiB, >= 70 GiB, A100 of 80 GB, and smaller.
_VLLM_LIMITS: tuple[tuple[Version, dict[str, tuple[int, int]]], ...] = (
    ((0, 8, 0), {"huge": (1024, 2048), "big": (1024, 2048), "a100": (1024, 2048), "small": (1024, 2048)}),
    ((0, 8, 5), {"huge": (1024, 8192), "big": (1024, 8192), "a100": (1024, 8192), "small": (256, 2048)}),
    ((0, 9), {"huge": (1024, 8192), "big": (1024, 8192), "a100": (256, 2048), "small": (256, 2048)}),
    ((0, 28), {"huge": (1024, 16384), "big": (1024, 8192), "a100": (256, 2048), "small": (256, 2048)}),
)
_CLASS_WORDS = {
    "huge": "a GPU of 160 GiB or more",
    "big": "a GPU of 70 GiB or more",
    "a100": "an A100 with 80 GB, which counts as a small GPU here from 0.9 on",
    "small": "a GPU below 70 GiB",
}
# SGLang: in releases that were read, upper bounds of GPU memory in GB and the chunk up to there.
_SGLANG_CHUNKS: tuple[tuple[Version, tuple[tuple[float, int], ...]], ...] = (
    ((0, 4, 10), ((35, 2048), (160, 8192), (float("inf"), 16384))),
    ((0, 5, 6), ((35, 2048), (60, 4096), (160, 8192), (float("inf"), 16384))),
    ((0, 5, 23), ((20, 2048), (60, 4096), (160, 8192), (float("inf"), 16384))),
)
NEWEST: Version = (99,)


class DefaultValue(Struct, frozen=True):
    """What an engine uses when an option is not given, and why that is known."""

    value: str
    because: str


def parse_version(text: str | None) -> Version | None:
    """Read a release such as ``v0.8.5.post1``; None when there is no number in front."""
    match = re.match(r"\s*v?(\d{1,9}(?:\.\d{1,9}){0,2})", text or "")
    return tuple(int(part) for part in match.group(1).split(".")) if match else None


@cache
def _memory_of(gpu: str) -> float | None:
    text = (files("diagnostics.capacity") / "hardware.csv").read_text(encoding="utf-8")
    sizes = {row["gpu"]: float(row["memory_gib"]) for row in csv.DictReader(text.splitlines())}
    # Software sees each of the two halves of this card as a GPU of its own.
    return sizes["MI250X"] / 2 if gpu == "MI250X" else sizes.get(gpu)


def _memory_class(gpu: str, release: Version) -> str | None:
    memory = _memory_of(gpu)
    if memory is None or gpu.startswith(("TPU", "Gaudi")):
        return None
    if gpu.startswith(
        "GB10"
    ):  # unified memory: counted as small in current releases, unknown when that began
        return "small" if release >= (0, 28) else None
    if gpu.startswith("A100 80GB"):
        return "a100"
    return "huge" if memory >= 160 else "big" if memory >= 70 else "small"


def _vllm_limit(release: Version, gpu: str | None, option: str, words: str) -> DefaultValue | None:
    """Look up vLLM's cap on sequences or its token budget for the OpenAI server."""
    index = 0 if option == "max_num_seqs" else 1
    if release < _V1_DEFAULT:
        # The V0 budget follows the model length unless prefill is chunked, so only the cap is known.
        return DefaultValue("256", f"default of the V0 engine ({words})") if index == 0 else None
    rows = next(rows for first, rows in reversed(_VLLM_LIMITS) if release >= first)
    kind = _memory_class(gpu, release) if gpu else None
    if kind is None:
        values = {pair[index] for pair in rows.values()}
        certain = len(values) == 1 and index == 0
        return DefaultValue(str(values.pop()), f"default for every GPU ({words})") if certain else None
    value = rows[kind][index]
    if index == 1 and release < (0, 8, 5) and gpu and ("H100" in gpu or "H200" in gpu):
        value = 8192
    return DefaultValue(str(value), f"default for {_CLASS_WORDS[kind]} ({words}; {gpu})")


def _sglang_chunk(release: Version, gpu: str | None, words: str) -> DefaultValue | None:
    """Look up SGLang's prefill chunk; between two releases that were read, both have to agree."""
    memory = _memory_of(gpu) if gpu else None
    if memory is None or release < _SGLANG_CHUNKS[0][0]:
        return None
    older = [rows for first, rows in _SGLANG_CHUNKS if first <= release][-1]
    newer = next((rows for first, rows in _SGLANG_CHUNKS if first >= release), older)
    # The table counts in GB as tools show them: 24 and 80 GB cards are far from any bound.
    values = {next(chunk for bound, chunk in rows if memory < bound) for rows in (older, newer)}
    return (
        DefaultValue(str(values.pop()), f"default by GPU memory ({words}; {gpu})")
        if len(values) == 1
        else None
    )


def default_of(engine: str, version: str | None, gpu: str | None, option: str) -> DefaultValue | None:
    """Give what an engine uses when an option is not given.

    Args:
        engine: the engine.
        version: its release; None or unreadable means a current one, which the reason then says.
        gpu: the GPU's name in the hardware table, for defaults that depend on its memory.
        option: the option's name in snake case.

    Returns:
        The value and the reason, or None when the facts do not settle it.
    """
    release = parse_version(version) or NEWEST
    words = (
        f"{engine} {version}" if parse_version(version) else f"{engine}, version not known, taken as current"
    )
    if engine == "vllm" and option in {"max_num_seqs", "max_num_batched_tokens"}:
        return _vllm_limit(release, gpu, option, words)
    if engine == "sglang" and option == "chunked_prefill_size":
        return _sglang_chunk(release, gpu, words)
    for line in _FIXED.strip().splitlines():
        owner, name, value, first, gone, reason = line.split("|")
        within = release >= (parse_version(first) or ()) and (
            not gone or release < (parse_version(gone) or ())
        )
        if (owner, name) == (engine, option) and within:
            return DefaultValue(value, f"{reason} ({words})")
    return None
