"""Reads JSON answers of engines, and a model's own configuration, as settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diagnostics.model.samples import Provenance, Setting
from diagnostics.sources.config.options import (
    LLAMACPP,
    SGLANG,
    TGI,
    VLLM,
    as_text,
    flatten,
    is_secret,
    option_name,
)

SGLANG_INFO, VLLM_INFO, MODELS, TGI_INFO, PROPS, MODEL_CONFIG = (
    "sglang server_info",
    "vllm server_info",
    "models",
    "tgi info",
    "llama.cpp props",
    "model config",
)
_ENGINES = {SGLANG_INFO: SGLANG, VLLM_INFO: VLLM, TGI_INFO: TGI, PROPS: LLAMACPP}
_MODEL_KEYS = (
    "architectures",
    "model_type",
    "num_attention_heads",
    "num_key_value_heads",
    "hidden_size",
    "num_hidden_layers",
    "head_dim",
    "intermediate_size",
    "moe_intermediate_size",
    "kv_lora_rank",
    "qk_rope_head_dim",
    "sliding_window",
    "use_sliding_window",
    "layer_types",
    "full_attention_interval",
    "vocab_size",
    "tie_word_embeddings",
    "max_position_embeddings",
    "torch_dtype",
    "dtype",
    "n_routed_experts",
    "num_experts",
    "num_local_experts",
    "num_experts_per_tok",
    "first_k_dense_replace",
    "quantization_config",
)
_TGI_KEYS = (
    "model_dtype",
    "max_concurrent_requests",
    "max_input_tokens",
    "max_input_length",
    "max_total_tokens",
    "max_batch_total_tokens",
    "max_batch_size",
    "waiting_served_ratio",
    "max_waiting_tokens",
    "validation_workers",
)
# Of what SGLang's scheduler adds to its answer, the parts that describe the pool.
_SGLANG_STATE = ("max_total_num_tokens", "max_req_input_len", "effective_max_running_requests_per_dp")
# Where a person keeps names of hosts, paths or keys; nothing in there configures the engine.
_PRIVATE = ("host", "port", "log_", "ssl_", "dist_init_addr", "nccl_init_addr", "file_storage", "crash_dump")
_MOST = 1000


def recognise(obj: object) -> str | None:
    """Tell which answer a parsed JSON value is, or None when it is none of those that are known."""
    if not isinstance(obj, dict):
        return None
    return next((kind for kind, fits in _SHAPES.items() if fits(obj)), None)


def _is_models(obj: dict[str, Any]) -> bool:
    data = obj.get("data")
    return obj.get("object") == "list" and isinstance(data, list) and bool(data) and _is_model_card(data[0])


def _is_model_config(obj: dict[str, Any]) -> bool:
    inner = obj.get("text_config") if isinstance(obj.get("text_config"), dict) else obj
    return isinstance(inner, dict) and {"num_hidden_layers", "hidden_size"} <= inner.keys()


_SHAPES: dict[str, Callable[[dict[str, Any]], bool]] = {
    SGLANG_INFO: lambda obj: (
        "max_running_requests" in obj and bool({"mem_fraction_static", "chunked_prefill_size"} & obj.keys())
    ),
    VLLM_INFO: lambda obj: (
        isinstance(obj.get("vllm_config"), dict) or {"scheduler_config", "cache_config"} <= obj.keys()
    ),
    MODELS: _is_models,
    TGI_INFO: lambda obj: (
        "model_id" in obj and bool({"max_concurrent_requests", "max_total_tokens"} & obj.keys())
    ),
    PROPS: lambda obj: {"total_slots", "default_generation_settings"} <= obj.keys(),
    MODEL_CONFIG: _is_model_config,
}


def engine_of(kind: str) -> str | None:
    """Give the engine that gives such an answer, where only one does."""
    return _ENGINES.get(kind)


def read(obj: object, where: str) -> list[Setting]:
    """Read an answer.

    Args:
        obj: the parsed JSON.
        where: where it was found, in words for a person.

    Returns:
        Settings in the engine's own names; empty when the answer is not known.
    """
    kind = recognise(obj)
    if kind is None or not isinstance(obj, dict):
        return []
    pairs = [(name, value) for name, value in _READERS[kind](obj) if value not in {"", "None"}]
    kept = {name: value[:2000] for name, value in pairs[:_MOST] if not is_secret(name.rpartition(".")[2])}
    return [Setting(name, value, Provenance.CONFIGURED, where) for name, value in kept.items()]


def _is_model_card(card: object) -> bool:
    return isinstance(card, dict) and "id" in card and card.get("object", "model") == "model"


def _picked(obj: dict[str, Any], keys: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(key, as_text(obj[key])) for key in keys if obj.get(key) is not None]


def _sglang(obj: dict[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in obj.items():
        scalar = isinstance(value, (str, int, float, bool)) or (isinstance(value, list) and _is_flat(value))
        if scalar and not str(key).startswith(_PRIVATE) and key != "version":
            found.append((option_name(SGLANG, str(key)), as_text(value)))
    found += [("engine_version", as_text(obj["version"]))] if obj.get("version") else []
    states = obj.get("internal_states")
    if isinstance(states, list) and states and isinstance(states[0], dict):
        found += _picked(states[0], _SGLANG_STATE)
    return found


def _is_flat(values: list[Any]) -> bool:
    return len(values) <= 200 and all(isinstance(value, (str, int, float)) for value in values)


def _vllm(obj: dict[str, Any]) -> list[tuple[str, str]]:
    config = obj["vllm_config"] if isinstance(obj.get("vllm_config"), dict) else obj
    found: list[tuple[str, str]] = []
    for section in ("model_config", "scheduler_config", "cache_config", "parallel_config", "lora_config"):
        members = config.get(section)
        for key, value in members.items() if isinstance(members, dict) else []:
            if isinstance(value, (str, int, float, bool)):
                found.append((_VLLM_NAMES.get(f"{section}.{key}", str(key)), as_text(value)))
    for section in ("speculative_config", "compilation_config"):
        if isinstance(config.get(section), dict):
            found += flatten(section, config[section])
    version = obj.get("version") or obj.get("vllm_version")
    return [*found, ("engine_version", as_text(version))] if version else found


# Members of vLLM's configuration objects whose options have another name.
_VLLM_NAMES = {
    "cache_config.cache_dtype": "kv_cache_dtype",
    "scheduler_config.policy": "scheduling_policy",
    "scheduler_config.chunked_prefill_enabled": "enable_chunked_prefill",
    "lora_config.rank": "max_lora_rank",
}


def _models(obj: dict[str, Any]) -> list[tuple[str, str]]:
    """A list of models; adapters have a parent and no length of their own."""
    cards = [card for card in obj["data"] if isinstance(card, dict) and not card.get("parent")]
    lengths = {card["max_model_len"] for card in cards if isinstance(card.get("max_model_len"), int)}
    found = [("max_model_len", str(lengths.pop()))] if len(lengths) == 1 else []
    roots = {str(card.get("root") or card["id"]) for card in cards if card.get("id")}
    if len(roots) == 1:
        found.append(("model", roots.pop()))
    adapters = sum(1 for card in obj["data"] if isinstance(card, dict) and card.get("parent"))
    return [*found, ("lora_adapters_listed", str(adapters))] if adapters else found


def _tgi(obj: dict[str, Any]) -> list[tuple[str, str]]:
    found = [("model", as_text(obj["model_id"])), *_picked(obj, _TGI_KEYS)]
    return [*found, ("engine_version", as_text(obj["version"]))] if obj.get("version") else found


def _props(obj: dict[str, Any]) -> list[tuple[str, str]]:
    """llama.cpp: ``parallel`` is its option for slots; ``n_ctx`` in the answer is what one slot has."""
    found = [("parallel", as_text(obj["total_slots"])), ("total_slots", as_text(obj["total_slots"]))]
    settings = obj["default_generation_settings"]
    if isinstance(settings, dict) and isinstance(settings.get("n_ctx"), int):
        found.append(("n_ctx_slot", str(settings["n_ctx"])))
    model = obj.get("model_path") or obj.get("model_alias")
    found += [("model", as_text(model))] if model else []
    return [*found, ("engine_version", as_text(obj["build_info"]))] if obj.get("build_info") else found


def _model_config(obj: dict[str, Any]) -> list[tuple[str, str]]:
    """A model's configuration; models that also see keep that of their language part inside."""
    inner = obj.get("text_config")
    merged = {**obj, **inner} if isinstance(inner, dict) else obj
    found: list[tuple[str, str]] = []
    for key in _MODEL_KEYS:
        value = merged.get(key)
        if key == "quantization_config" and isinstance(value, dict):
            members = {name: member for name, member in value.items() if not isinstance(member, list)}
            found += flatten(key, members, depth=2)
        elif value is not None:
            found.append((key, as_text(value)))
    if "torch_dtype" not in merged and merged.get("dtype") is not None:
        found.append(("torch_dtype", as_text(merged["dtype"])))
    return found


_READERS: dict[str, Callable[[dict[str, Any]], list[tuple[str, str]]]] = {
    SGLANG_INFO: _sglang,
    VLLM_INFO: _vllm,
    MODELS: _models,
    TGI_INFO: _tgi,
    PROPS: _props,
    MODEL_CONFIG: _model_config,
}
