"""Reading the structure of a model out of its configuration, family by family."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError

Fields = Mapping[str, object]

# Families whose configuration class ties the head to the embeddings when the file is silent.
_TIED = ("gemma", "gpt2", "gpt_bigcode", "opt", "bloom", "falcon", "cohere", "starcoder2", "mpt", "phi4mm")
# Families whose MLP has two matrices instead of three (no gate).
_UNGATED = ("gpt2", "gpt_bigcode", "gpt_neox", "gptj", "opt", "bloom", "falcon", "starcoder2", "mpt", "phi")
_STATELESS_WORDS = ("linear", "mamba", "conv", "recurrent", "ssm", "lightning", "mlp")


class ExpertStructure(Struct, frozen=True):
    """Routed experts as the configuration gives them.

    Attributes:
        count: routed experts a layer.
        active: experts a token uses.
        intermediate: size of one expert's MLP.
        shared_intermediate: summed size of the experts every token uses, 0 for a model without.
        layers: layers that have experts.
    """

    count: int
    active: int
    intermediate: int
    shared_intermediate: int
    layers: int


class Structure(Struct, frozen=True):
    """What a configuration says, under one set of names; units as in ``ModelShape``."""

    fields: Fields
    name: str | None
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_size: int
    intermediate: int
    vocabulary: int
    gated: bool
    tied: bool
    latent: tuple[int, int] | None
    window: int | None
    window_layers: int
    stateless_layers: int
    experts: ExpertStructure | None
    dtype: str | None
    max_positions: int | None
    assumptions: tuple[str, ...]


def number(fields: Fields, *names: str) -> int | None:
    """Read the first of several whole numbers that is present and not null.

    Args:
        fields: the configuration.
        names: field names that mean the same, in order of preference.

    Returns:
        The number in the field's own unit, or None when no name is present.

    Raises:
        CapacityError: when the value is not a whole number.
    """
    for name in names:
        value = fields.get(name)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, float)) or int(value) != value:
            raise CapacityError(f"model configuration, {name}: a whole number is needed, not {value!r}")
        return int(value)
    return None


def needed(fields: Fields, *names: str) -> int:
    """Read a number that must be there.

    Args:
        fields: the configuration.
        names: field names that mean the same.

    Returns:
        The number, above zero.

    Raises:
        CapacityError: when it is absent or not above zero.
    """
    value = number(fields, *names)
    if value is None:
        raise CapacityError(f"model configuration: {' or '.join(names)} is missing")
    if value <= 0:
        raise CapacityError(f"model configuration, {names[0]}: must be above zero, not {value}")
    return value


def structure_of(config: Fields) -> Structure:
    """Bring a configuration of any decoder family under one set of names.

    Args:
        config: the decoded ``config.json``.

    Returns:
        The structure, with what was assumed where the file is silent.

    Raises:
        CapacityError: when a needed field is missing, and for an encoder-decoder.

    Source: S02, S23.
    """
    fields, notes = _text_part(config)
    if fields.get("is_encoder_decoder"):
        raise CapacityError("model configuration: encoder-decoder models are not covered")
    layers = needed(fields, "num_hidden_layers", "n_layer", "n_layers", "num_layers")
    hidden = needed(fields, "hidden_size", "n_embd", "d_model")
    heads = needed(fields, "num_attention_heads", "n_head", "n_heads")
    family = str(fields.get("model_type") or "")
    window, window_layers, stateless = _layer_kinds(fields, layers, family, notes)
    return Structure(
        fields=fields,
        name=_name(config, family),
        layers=layers,
        hidden=hidden,
        heads=heads,
        kv_heads=_kv_heads(fields, heads, notes),
        head_size=_head_size(fields, hidden, heads),
        intermediate=_intermediate(fields, hidden, family, notes),
        vocabulary=needed(fields, "vocab_size"),
        gated=family not in _UNGATED,
        tied=_tied(config, fields, family, notes),
        latent=_latent(fields),
        window=window,
        window_layers=window_layers,
        stateless_layers=stateless,
        experts=_experts(fields, layers, family),
        dtype=_dtype(config, fields),
        max_positions=number(fields, "max_position_embeddings", "n_positions", "max_seq_len", "seq_length"),
        assumptions=tuple(notes),
    )


def _text_part(config: Fields) -> tuple[Fields, list[str]]:
    for key in ("text_config", "llm_config", "language_config"):
        inner = config.get(key)
        if isinstance(inner, Mapping):
            return inner, ["parameters of image or audio encoders are not counted"]
    thinker = config.get("thinker_config")
    return _text_part(thinker) if isinstance(thinker, Mapping) else (config, [])


def _name(config: Fields, family: str) -> str | None:
    path = config.get("_name_or_path")
    if isinstance(path, str) and path:
        return path
    architectures = config.get("architectures")
    if isinstance(architectures, list) and architectures:
        return str(architectures[0])
    return family or None


def _kv_heads(fields: Fields, heads: int, notes: list[str]) -> int:
    # multi_query is the older spelling of one KV head; falcon sets it beside a field that then has no effect.
    if fields.get("multi_query") and not fields.get("new_decoder_architecture"):
        return 1
    found = number(fields, "num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv")
    if found is None:
        notes.append(f"no KV-head count in the configuration: one KV head for each of the {heads} heads")
        return heads
    return found


def _head_size(fields: Fields, hidden: int, heads: int) -> int:
    found = number(fields, "head_dim", "kv_channels", "attention_head_dim")
    if found is None and hidden % heads:
        raise CapacityError(
            f"model configuration: hidden size {hidden} is no multiple of {heads} heads, "
            "and head_dim is missing"
        )
    return found if found is not None else hidden // heads


def _intermediate(fields: Fields, hidden: int, family: str, notes: list[str]) -> int:
    # Llama 4 gives the dense MLP apart; its plain intermediate size is that of one expert.
    names = ("intermediate_size", "ffn_hidden_size", "n_inner", "ffn_dim", "moe_intermediate_size")
    found = number(fields, *(("intermediate_size_mlp", *names) if family.startswith("llama4") else names))
    if found is None:
        notes.append(f"no MLP size in the configuration: four times the hidden size, {4 * hidden}")
        return 4 * hidden
    return found


def _tied(config: Fields, fields: Fields, family: str, notes: list[str]) -> bool:
    for part in (fields, config):
        if isinstance(value := part.get("tie_word_embeddings"), bool):
            return value
    tied = family.startswith(_TIED)
    notes.append(
        f"tie_word_embeddings is not set: taken as {'tied' if tied else 'not tied'}, usual for the family"
    )
    return tied


def _latent(fields: Fields) -> tuple[int, int] | None:
    rank = number(fields, "kv_lora_rank")
    return None if rank is None else (rank, needed(fields, "qk_rope_head_dim"))


def _dtype(config: Fields, fields: Fields) -> str | None:
    for part in (config, fields):
        for key in ("dtype", "torch_dtype"):
            if isinstance(value := part.get(key), str):
                return value.removeprefix("torch.")
    return None


def _listed_kinds(fields: Fields, layers: int) -> list[str] | None:
    """The kind of every layer, where the configuration lists them."""
    for key in ("layer_types", "layers_block_type"):
        if isinstance(kinds := fields.get(key), list) and kinds:
            return [str(kind) for kind in kinds[:layers]]
    pattern = fields.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        return ["full_attention" if letter == "*" else "mamba" for letter in pattern[:layers]]
    if (every := number(fields, "full_attention_interval")) is not None:
        return ["linear" if (i + 1) % every else "full_attention" for i in range(layers)]
    if (period := number(fields, "attn_layer_period")) is not None:
        offset = number(fields, "attn_layer_offset") or 0
        return ["full_attention" if i % period == offset else "mamba" for i in range(layers)]
    return None


def _layer_kinds(fields: Fields, layers: int, family: str, notes: list[str]) -> tuple[int | None, int, int]:
    """Find the window, the layers that have it, and the layers without a cache."""
    window = number(fields, "sliding_window", "attention_chunk_size")
    if fields.get("use_sliding_window") is False:
        window = None
    if kinds := _listed_kinds(fields, layers):
        stateless = sum(kind.startswith(_STATELESS_WORDS) for kind in kinds)
        windowed = sum(kind.startswith(("sliding", "chunked", "local")) for kind in kinds)
        return (window, windowed, stateless) if window and windowed else (None, 0, stateless)
    if not window:
        return None, 0, 0
    windowed = _window_layers(fields, layers, family, notes)
    return (window, windowed, 0) if windowed else (None, 0, 0)


def _window_layers(fields: Fields, layers: int, family: str, notes: list[str]) -> int:
    """Count the layers with the window in files that do not list them."""
    pattern = number(fields, "sliding_window_pattern")
    usual = {"gemma2": 2, "gemma3": 6, "llama4": 4}
    if pattern is None and (known := next((n for key, n in usual.items() if family.startswith(key)), None)):
        pattern = known
        notes.append(f"every layer but each {known}. has the sliding window, as in the family")
    if pattern:
        return layers - layers // pattern
    first = number(fields, "max_window_layers") if fields.get("use_sliding_window") else None
    return layers if first is None else max(0, layers - first)


def _experts(fields: Fields, layers: int, family: str) -> ExpertStructure | None:
    count = number(fields, "num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts")
    if count is None or count < 2:
        return None
    active = needed(fields, "num_experts_per_tok", "experts_per_token", "moe_topk", "moe_top_k", "moe_k")
    size = needed(
        fields, "moe_intermediate_size", "expert_ffn_hidden_size", "intermediate_size", "ffn_hidden_size"
    )
    shared = number(fields, "shared_expert_intermediate_size")
    if shared is None:
        shared = size * (number(fields, "n_shared_experts", "num_shared_experts") or 0)
    if family.startswith("llama4"):
        shared = size  # every Llama 4 expert layer has one shared expert and no field for it
    return ExpertStructure(count, min(active, count), size, shared, layers - _dense_layers(fields, layers))


def _dense_layers(fields: Fields, layers: int) -> int:
    """How many layers of an expert model have an ordinary MLP."""
    listed = fields.get("moe_layer_freq")
    if isinstance(listed, list):
        return sum(not flag for flag in listed[:layers])
    first = number(fields, "first_k_dense_replace") or 0
    only = fields.get("mlp_only_layers")
    dense = set(range(first)) | {int(i) for i in only} if isinstance(only, list) else set(range(first))
    step = number(fields, "decoder_sparse_step", "interleave_moe_layer_step") or 1
    dense |= {i for i in range(layers) if (i + 1) % step}
    return len(dense & set(range(layers)))
