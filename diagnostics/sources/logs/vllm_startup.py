"""vLLM: what it prints while it starts, and what it warns of."""

from __future__ import annotations

import re

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import (
    Action,
    Rule,
    as_event,
    as_ready,
    as_refusal,
    as_setting,
    as_stage,
    as_start,
    rule,
    several,
)
from diagnostics.sources.logs.literals import pairs, speculation
from diagnostics.sources.logs.message import Body

_CONFIG_FIELDS = {
    "model": "model",
    "served_model_name": "served_model_name",
    "dtype": "dtype",
    "quantization": "quantization",
    "kv_cache_dtype": "kv_cache_dtype",
    "max_seq_len": "max_model_len",
    "tensor_parallel_size": "tensor_parallel_size",
    "pipeline_parallel_size": "pipeline_parallel_size",
    "data_parallel_size": "data_parallel_size",
    "disable_custom_all_reduce": "disable_custom_all_reduce",
    "enforce_eager": "enforce_eager",
    "enable_prefix_caching": "enable_prefix_caching",
    "enable_chunked_prefill": "enable_chunked_prefill",
    "chunked_prefill_enabled": "enable_chunked_prefill",
    "speculative_config": "speculative_config",
    "device_config": "device",
}
_CAPTURE_SIZES = re.compile(r"cudagraph_capture_sizes['\"]?[:=] ?\[([\d, ]+)")
_MAX_CAPTURE_SIZE = re.compile(r"['\"]?max_(?:cudagraph_)?capture_size['\"]?[:=] ?(\d+)")
_OLD_BLOCK_TOKENS = 16


def _keep_pairs(text: str, where: str, body: Body, out: Collector, *, closed: bool) -> bool:
    for name, value in pairs(text, closed=closed):
        if value == "None":
            continue
        out.setting(name, value.removeprefix("torch."), where, body)
        if name == "speculative_config":
            for flat, word in speculation(value).items():
                out.setting(flat, word, where, body)
    return True


def _arguments(where: str) -> Action:
    """Make an action for a line with the arguments of the server."""

    def keep(found: re.Match[str], body: Body, out: Collector) -> bool:
        as_start("args")(found, body, out)
        return _keep_pairs(found[1], f"start-up line '{where}'", body, out, closed=True)

    return keep


def _read_version(found: re.Match[str], body: Body, out: Collector) -> bool:
    out.engine_version = found[1]
    out.setting("engine_version", found[1], "start-up line 'version'", body)
    return as_start("version")(found, body, out)


def _read_engine_config(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the configuration that the engine core starts with."""
    as_start("engine")(found, body, out)
    if found[1]:
        out.engine_version = found[1]
        out.setting("engine_version", found[1], "start-up line 'Initializing LLM engine'", body)
    where = "start-up line 'Initializing LLM engine'"
    for name, value in pairs(found[2], closed=False):
        known = _CONFIG_FIELDS.get(name)
        # The arguments show the draft as the operator wrote it; this line shows the object made of it.
        if known == "speculative_config" and out.known(known, body) is not None:
            continue
        if known is not None and value != "None":
            _keep_pairs(f"{known}={value!r}", where, body, out, closed=False)
    sizes = _CAPTURE_SIZES.search(found[2])
    largest = _MAX_CAPTURE_SIZE.search(found[2])
    if sizes is not None:
        numbers = [int(number) for number in sizes[1].split(",") if number.strip()]
        out.setting("max_cudagraph_capture_size", str(max(numbers)), where, body)
    elif largest is not None:
        out.setting("max_cudagraph_capture_size", largest[1], where, body)
    return True


def _read_token_budget(found: re.Match[str], body: Body, out: Collector) -> bool:
    where = "start-up line 'Chunked prefill is enabled'"
    out.setting("max_num_batched_tokens", found[1], where, body)
    out.setting("enable_chunked_prefill", "True", where, body)
    return True


def _read_concurrency(found: re.Match[str], body: Body, out: Collector) -> bool:
    where = "start-up line 'Maximum concurrency'"
    out.setting("max_model_len", found[1].replace(",", ""), where, body)
    out.setting("max_concurrency", found[2], where, body)
    return True


def _read_blocks(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the pool in blocks, from which the first generation leaves the tokens to the reader."""
    where = "start-up line '# GPU blocks'"
    out.setting("num_gpu_blocks", found[1], where, body)
    if found[2]:
        out.setting("num_cpu_blocks", found[2], where, body)
    size = out.known("block_size", body) or str(_OLD_BLOCK_TOKENS)
    if size.isdigit():
        tokens = int(found[1]) * int(size)
        how = f"{where}, {size} tokens a block"
        out.setting("kv_capacity_tokens", str(tokens), how, body)
    return True


def _read_block_size(found: re.Match[str], body: Body, out: Collector) -> bool:
    out.setting("attention_block_size", found[1], "start-up line 'Setting attention block size'", body)
    return as_event("block-size", tokens=found[1])(found, body, out)


_REFUSED = (
    r"[Tt]o serve at least one request with the models?'s max seq len \((?P<max_model_len>\d+)\), "
    r"\(?(?P<needed_gib>[\d.]+) ?GiB KV cache is needed, which is larger than the available KV cache "
    r"memory \((?P<available_gib>[\d.]+) ?GiB\)"
    r"(?:.*?estimated maximum model length is (?P<estimated_max_len>\d+))?"
)
_REFUSED_OLD = (
    r"[Tt]he model's max seq len \((?P<max_model_len>\d+)\) is larger than the maximum number of tokens that "
    r"can be stored in KV cache \((?P<estimated_max_len>\d+)\)"
)
_NOT_FREE = (
    r"Free memory on device (?:\S+ )?\((?P<free_gib>[\d.]+)/(?P<total_gib>[\d.]+) GiB\) on startup "
    r"is less than desired GPU memory utilization \((?P<utilization>[\d.]+), (?P<wanted_gib>[\d.]+) GiB\)"
)
_INIT_ENGINE = r"^init engine \([^)]*\) took ([\d.]+) s(?:econds)?\b(?: \(compilation: [\d.]+ s\))?"
_CONFIG = r"^Initializing an? (?:V\d )?LLM engine \(v([^)]*)\) with config: (.*)"
_COMPILE = r"torch\.compile (?:takes|took) ([\d.]+) s in total"
_COMPILE_PART = r"^(?:Dynamo bytecode transform time:|Compiling a graph for .* takes) ([\d.]+) s"
_FROM_CACHE = r"^(?:\[\w+\] )?Directly load .*from the cache, took ([\d.]+) s"
_DEAD = r"EngineDeadError|Engine core initialization failed|EngineCore encountered (?:a fatal error|an issue)"
_BANNER = r"^[\s\u2580-\u259f]+version (\d\S*)"

STARTUP_RULES: tuple[Rule, ...] = (
    rule("version ", r"^vLLM API server version (\S+)", _read_version, "start-up"),
    rule("\u2588  version", _BANNER, _read_version, "start-up"),
    rule("args: ", r"^non-default args: \{(.*)", _arguments("non-default args"), "start-up"),
    rule("args: ", r"^args: Namespace\((.*)", _arguments("args: Namespace"), "start-up"),
    rule("LLM engine (v", _CONFIG, _read_engine_config, "start-up"),
    rule(
        "Resolved architecture",
        r"^Resolved architecture: (\S+)",
        as_setting("architecture", "Resolved architecture"),
        "start-up",
    ),
    rule(
        "Using max model len",
        r"^Using max model len (\d+)",
        as_setting("max_model_len", "Using max model len"),
        "start-up",
    ),
    rule(
        "Chunked prefill is enabled",
        r"^Chunked prefill is enabled with max_num_batched_tokens=(\d+)",
        _read_token_budget,
        "start-up",
    ),
    rule(
        "KV cache size: ",
        r"^[\w+ ]+ KV cache size: ([\d,]*\d) tokens",
        as_setting("kv_capacity_tokens", "KV cache size"),
        "start-up",
    ),
    rule(
        "Maximum concurrency for ",
        r"\bMaximum concurrency for ([\d,]+) tokens per request: ([\d.]+)x",
        _read_concurrency,
        "start-up",
    ),
    rule("# GPU blocks: ", r"^# \w+ blocks: (\d+)(?:, # CPU blocks: (\d+))?", _read_blocks, "start-up"),
    rule(
        "Setting attention block size",
        r"^Setting attention block size to (\d+) tokens",
        _read_block_size,
        "start-up",
    ),
    rule(
        "Available KV cache memory: ",
        r"^Available KV cache memory: (-?[\d.]+) GiB",
        as_setting("kv_memory_gib", "Available KV cache memory"),
        "start-up",
    ),
    rule(
        "GiB for KV cache on node",
        r"^Explicitly set \(([\d.]+)/[\d.]+\) GiB for KV cache",
        as_setting("kv_memory_gib", "Explicitly set GiB for KV cache"),
        "start-up",
    ),
    rule(
        "reserved for KV Cache is ",
        r"reserved for KV Cache is (-?[\d.]+)GiB",
        as_setting("kv_memory_gib", "Memory profiling"),
        "start-up",
    ),
    rule(
        "odel weights take ",
        r"model weights take ([\d.]+)GiB",
        as_setting("weights_gib", "Memory profiling"),
        "start-up",
    ),
    rule(
        "Loading model weights took ",
        r"^Loading model weights took ([\d.]+) GB",
        as_setting("weights_gib", "Loading model weights took"),
        "start-up",
    ),
    rule(
        "Model loading took ",
        r"^Model loading took ([\d.]+) GiB(?: memory)? and ([\d.]+) seconds",
        several(as_setting("weights_gib", "Model loading took"), as_stage("load-weights", group=2)),
        "start-up",
    ),
    rule(
        "Time spent downloading weights",
        r"^Time spent downloading weights for .*: ([\d.]+) seconds",
        as_stage("download"),
        "start-up",
    ),
    rule(
        "Loading weights took ",
        r"^Loading weights took ([\d.]+) seconds",
        as_stage("load-weights"),
        "start-up",
    ),
    rule("torch.compile t", _COMPILE, as_stage("compile"), "start-up"),
    rule("Dynamo bytecode transform time", _COMPILE_PART, as_stage("compile"), "start-up"),
    rule("Compiling a graph for ", _COMPILE_PART, as_stage("compile"), "start-up"),
    rule("Directly load ", _FROM_CACHE, as_stage("compile-cache"), "start-up"),
    rule(
        "Memory profiling takes ",
        r"^Memory profiling takes ([\d.]+) seconds",
        as_stage("profile"),
        "start-up",
    ),
    rule(
        "Initial profiling/warmup run took ",
        r"^Initial profiling/warmup run took ([\d.]+) s",
        as_stage("profile"),
        "start-up",
    ),
    rule(
        "Graph capturing finished in ",
        r"^Graph capturing finished in ([\d.]+) secs?(?:, took (-?[\d.]+) GiB)",
        several(
            as_stage("graph-capture"), as_setting("graph_memory_gib", "Graph capturing finished", group=2)
        ),
        "start-up",
    ),
    rule(
        "Estimated CUDA graph memory: ",
        r"^Estimated CUDA graph memory: ([\d.]+) GiB",
        as_setting("graph_memory_estimate_gib", "Estimated CUDA graph memory"),
        "start-up",
    ),
    rule("init engine (", _INIT_ENGINE, as_stage("init-engine"), "start-up"),
    rule("(compilation: ", r"^init engine .*\(compilation: ([\d.]+) s\)", as_stage("compile"), "start-up"),
    rule("Starting vLLM ", r"^Starting vLLM (?:API )?server(?: \d+)? on ", as_ready, "start-up"),
    rule(
        "Application startup complete", r"Application startup complete", as_ready, "start-up", telling=False
    ),
    rule(
        "convertible to ",
        r"^The model is convertible to (?P<method>\S+) during runtime",
        as_event("startup-quantization"),
        "start-up",
    ),
    rule(": error: ", r"^(?:vllm(?: \w+)?|api_server\.py): error: (.+)", as_refusal, "warning"),
    rule("KV cache is needed", _REFUSED, as_event("kv-refused"), "warning"),
    rule("stored in KV cache (", _REFUSED_OLD, as_event("kv-refused"), "warning"),
    rule(
        "No available memory for the cache",
        r"No available memory for the cache blocks",
        as_event("kv-refused"),
        "warning",
    ),
    rule("Free memory on device", _NOT_FREE, as_event("memory-not-free"), "warning"),
    rule("ngine", _DEAD, as_event("engine-dead"), "warning"),
    rule("disabling stats logging", r"disabling stats logging", as_event("stats-disabled"), "warning"),
    rule(
        "must be divisible by tensor parallel size",
        r"Total number of attention heads \(\d+\) must be divisible by tensor parallel size",
        lambda _found, _body, _out: True,  # the event comes of the rules for every engine
        "warning",
    ),
    rule(
        "llreduce is disabled",
        r"To silence this warning, specify disable_custom_all_reduce=True explicitly",
        lambda _found, _body, _out: True,
        "warning",
    ),
    rule(
        "leveraging the Marlin kernel",
        r"^Your GPU does not have native support for FP\d computation but FP\d quantization is being used\.",
        lambda _found, _body, _out: True,
        "warning",
    ),
)
