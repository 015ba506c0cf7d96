"""How each engine spells its options: aliases, switches, lists, and values that are JSON."""

from __future__ import annotations

import ast
import json
import re
from typing import Any

VLLM, SGLANG, TGI, TRTLLM, LLAMACPP, LMDEPLOY = (
    "vllm",
    "sglang",
    "tgi",
    "tensorrt-llm",
    "llama.cpp",
    "lmdeploy",
)


def names(text: str) -> frozenset[str]:
    """Make a set of the words of a text."""
    return frozenset(text.split())


# What an engine accepts, without leading dashes and with underscores, and its own name for the option.
_ALIASES: dict[str, dict[str, str]] = {
    VLLM: {
        "tp": "tensor_parallel_size",
        "pp": "pipeline_parallel_size",
        "dp": "data_parallel_size",
        "dpl": "data_parallel_size_local",
        "dpn": "data_parallel_rank",
        "dpr": "data_parallel_rank",
        "dcp": "decode_context_parallel_size",
        "pcp": "prefill_context_parallel_size",
        "ep": "enable_expert_parallel",
        "q": "quantization",
        "O": "optimization_level",
        "cc": "compilation_config",
        "sc": "speculative_config",
        "n": "nnodes",
        "r": "node_rank",
        "model_tag": "model",
        "model_id": "model",
        "tensor_parallel": "tensor_parallel_size",
        "max_num_seq": "max_num_seqs",
        "gpu_memory_utilisation": "gpu_memory_utilization",
    },
    SGLANG: {
        "model_path": "model",
        "tp": "tp_size",
        "tensor_parallel_size": "tp_size",
        "pp": "pp_size",
        "pipeline_parallel_size": "pp_size",
        "dp": "dp_size",
        "data_parallel_size": "dp_size",
        "ep": "ep_size",
        "expert_parallel_size": "ep_size",
        "max_mamba_cache_size": "max_mamba_cache_size",
        "speculative_draft_model": "speculative_draft_model_path",
        "schedule_conservativeness": "schedule_conservativeness",
    },
    TGI: {"model_id": "model", "quantize": "quantize", "p": "port"},
    TRTLLM: {
        "model_path": "model",
        "tp": "tp_size",
        "pp": "pp_size",
        "ep": "ep_size",
        "kv_cache_free_gpu_memory_fraction": "free_gpu_memory_fraction",
        "config": "extra_llm_api_options",
    },
    LMDEPLOY: {
        "model_path": "model",
        "tensor_parallel": "tp",
        "max_concurrent_requests": "max_concurrent_requests",
    },
    LLAMACPP: {
        "m": "model",
        "hf": "hf_repo",
        "hfr": "hf_repo",
        "np": "parallel",
        "n_parallel": "parallel",
        "c": "ctx_size",
        "b": "batch_size",
        "ub": "ubatch_size",
        "ngl": "n_gpu_layers",
        "gpu_layers": "n_gpu_layers",
        "fa": "flash_attn",
        "ctk": "cache_type_k",
        "ctv": "cache_type_v",
        "kvu": "kv_unified",
        "nkvo": "no_kv_offload",
        "cb": "cont_batching",
        "nocb": "no_cont_batching",
        "sm": "split_mode",
        "ts": "tensor_split",
        "mg": "main_gpu",
        "md": "model_draft",
        "hfd": "hf_repo_draft",
        "ngld": "n_gpu_layers_draft",
        "cd": "ctx_size_draft",
        "draft": "draft_max",
        "draft_n": "draft_max",
        "draft_min_n": "draft_min",
        "t": "threads",
        "tb": "threads_batch",
        "n": "n_predict",
        "predict": "n_predict",
        "sps": "slot_prompt_similarity",
        "cram": "cache_ram",
        "ot": "override_tensor",
        "cmoe": "cpu_moe",
        "ncmoe": "n_cpu_moe",
        "a": "alias",
        "v": "verbose",
    },
}

# Options that never take a value although their name does not begin with enable, disable or no.
_SWITCHES = names(
    """enforce_eager trust_remote_code async_scheduling calculate_kv_scales fully_sharded_loras
    headless scheduler_reserve_full_isl use_v2_block_manager kv_cache_metrics
    aggregate_engine_logging skip_tokenizer_init multi_step_stream_outputs data_parallel_hybrid_lb
    data_parallel_external_lb worker_use_ray engine_use_ray log_requests show_time_cost is_embedding
    speculative_adaptive json_output metrics slots mlock kv_unified jinja cont_batching
    context_shift embedding embeddings reranking verbose swa_full cache_prompt cpu_moe
    return_tokens_as_token_ids skip_mm_profiling language_model_only save_result ignore_eos"""
)
_SWITCH_NAME = re.compile(r"^(?:enable|disable|no|use)_")
# These begin like switches and yet take a value.
_NOT_SWITCHES = frozenset(
    {"disable_by_batch_size", "no_proxy", "enable_layerwise_nvtx_path", "use_beam_width"}
)
_LISTS = names(
    """cudagraph_capture_sizes cuda_graph_sizes cuda_graph_bs served_model_name lora_modules lora_paths
    allowed_origins compile_sizes middleware"""
)
_SECRET = re.compile(
    r"(?:^|_)(?:api_?keys?|token|secret|password|passwd|credentials?|access_key|private_key)$", re.I
)
_TRUE = frozenset({"true", "on", "yes"})
_FALSE = frozenset({"false", "off", "no"})

# Members of JSON values that people also set, and rules also read, by a name of their own.
_PROMOTED = {
    "speculative_config.method": "speculative_method",
    "speculative_config.model": "speculative_model",
    "speculative_config.num_speculative_tokens": "num_speculative_tokens",
    "compilation_config.cudagraph_capture_sizes": "cudagraph_capture_sizes",
    "compilation_config.max_cudagraph_capture_size": "max_cudagraph_capture_size",
    "model_loader_extra_config.enable_multithread_load": "model_loader_extra_config.enable_multithread_load",
    "kv_cache_config.free_gpu_memory_fraction": "free_gpu_memory_fraction",
}
_JSON_LIMIT = 20_000
_JSON_MEMBERS = 200


def option_name(engine: str, flag: str) -> str:
    """Give the engine's own name of an option, in snake case.

    Args:
        engine: the engine, or ``bench:<tool>``.
        flag: as written, dashes included, without a value.
    """
    bare = flag.lstrip("-").replace("-", "_")
    aliases = _ALIASES.get(engine, {})
    if bare in aliases:  # short options tell capitals apart
        return aliases[bare]
    bare = bare if "." in bare else bare.lower()
    head, dot, rest = bare.partition(".")
    if dot and engine == VLLM and head in {"O", "cc", "sc"}:
        head = {"O": "compilation_config", "cc": "compilation_config", "sc": "speculative_config"}[head]
    return aliases.get(bare, f"{head}{dot}{rest}")


def is_switch(name: str) -> bool:
    """Tell whether an option stands alone, so that the next word is not its value."""
    return name not in _NOT_SWITCHES and (name in _SWITCHES or bool(_SWITCH_NAME.match(name)))


def is_list(name: str) -> bool:
    """Tell whether an option takes every word up to the next option."""
    return name in _LISTS


def is_secret(name: str) -> bool:
    """Tell whether a value must not be kept."""
    return bool(_SECRET.search(name))


def truth(text: str) -> str | None:
    """Give ``True`` or ``False`` for a word that means one of them."""
    word = text.strip().lower()
    return "True" if word in _TRUE else "False" if word in _FALSE else None


def settle(name: str, value: str | None) -> tuple[str, str]:
    """Bring a switch into its positive form.

    ``--no-enable-x`` becomes ``enable_x`` False; a bare option becomes True.
    """
    if value is None:
        if name.startswith("no_") and name != "no_proxy":
            return name[3:], "False"
        return name, "True"
    return name, truth(value) or value


def parse_object(text: str) -> dict[str, Any] | None:
    """Read a JSON object, also in the form of a Python literal; None when it is neither."""
    text = text.strip()
    if not text.startswith("{") or len(text) > _JSON_LIMIT:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(text)
        except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
            continue
        if isinstance(found, dict):
            return {str(key): value for key, value in found.items()}
    return None


def as_text(value: object) -> str:
    """Write a value from JSON or YAML as an engine's own output would show it."""
    if isinstance(value, str):
        return truth(value) or value if value.lower() in {"true", "false"} else value
    if isinstance(value, (list, tuple, dict)):
        return json.dumps(value, default=str, separators=(",", ":"))[:_JSON_LIMIT]
    return str(value)


def flatten(name: str, value: object, depth: int = 3) -> list[tuple[str, str]]:
    """Turn nested values into dotted names; members with a name of their own get that one."""
    if isinstance(value, dict) and depth > 0:
        found: list[tuple[str, str]] = []
        for key, member in list(value.items())[:_JSON_MEMBERS]:
            if not is_secret(str(key)):
                found += flatten(f"{name}.{key}" if name else str(key), member, depth - 1)
        return found
    if value is None:
        return []
    return [(_PROMOTED.get(name, name), as_text(value))]


def expand(name: str, value: str) -> list[tuple[str, str]]:
    """Give every setting that one option makes: itself, and the members of its value if that is JSON."""
    members = parse_object(value)
    if members is not None:
        return [(name, value), *flatten(name, members)]
    return [(_PROMOTED.get(name, name), value)]
