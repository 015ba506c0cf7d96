"""Counting parameters from the structure of a decoder."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.structure import Structure, needed, number

# Families that add a bias to the query, key and value projections without a field that says so.
_QKV_BIAS = ("qwen2", "qwen2_moe")


class ParameterCount(Struct, frozen=True):
    """Parameters by where they sit.

    Attributes:
        total: all.
        active: those one token passes (input embeddings counted, as model cards do).
        embeddings: input embeddings and output head.
        experts: all routed experts of all layers.
        assumptions: what the estimate leaves out, in words.
    """

    total: float
    active: float
    embeddings: float
    experts: float
    assumptions: tuple[str, ...] = ()


def count_parameters(text: Structure) -> ParameterCount:
    """Count the parameters of a decoder.

    Formula: ``embeddings + layers x (attention + norms) + dense layers x MLP + expert layers x (router
    + shared experts + E x expert)``; active counts k of E experts.

    Args:
        text: the structure.

    Returns:
        The counts, usually within 1 % of the model card.

    Raises:
        CapacityError: when a field of latent attention is missing.

    Source: S02.
    """
    tables = text.vocabulary * text.hidden * (1 if text.tied else 2)
    per_layer = _attention(text) + 2 * text.hidden
    matrices = 3 if text.gated else 2
    dense_mlp = matrices * text.hidden * text.intermediate
    if text.experts is None:
        total = tables + text.layers * (per_layer + dense_mlp) + text.hidden
        return ParameterCount(total, total, tables, 0, _notes())
    experts = text.experts
    one_expert = matrices * text.hidden * experts.intermediate
    always = (
        tables
        + text.hidden
        + text.layers * per_layer
        + (text.layers - experts.layers) * dense_mlp
        + experts.layers * text.hidden * (experts.count + matrices * experts.shared_intermediate)
    )
    routed = experts.layers * experts.count * one_expert
    active = always + experts.layers * experts.active * one_expert
    return ParameterCount(always + routed, active, tables, routed, _notes())


def _notes() -> tuple[str, ...]:
    return ("parameters are counted from the configuration; small biases and extra heads are left out",)


def _attention(text: Structure) -> int:
    if text.latent is not None:
        return _latent_attention(text, *text.latent)
    query, keys = text.heads * text.head_size, text.kv_heads * text.head_size
    matrices = text.hidden * (2 * query + 2 * keys)
    family = str(text.fields.get("model_type") or "")
    biased = family in _QKV_BIAS or bool(text.fields.get("attention_bias"))
    return matrices + (query + 2 * keys if biased else 0)


def _latent_attention(text: Structure, rank: int, rope: int) -> int:
    """Down and up projections of latent attention; queries are compressed too in the larger models."""
    plain, value = needed(text.fields, "qk_nope_head_dim"), needed(text.fields, "v_head_dim")
    query_rank = number(text.fields, "q_lora_rank")
    query_out = text.heads * (plain + rope)
    query = text.hidden * query_out if query_rank is None else query_rank * (text.hidden + query_out)
    keys = text.hidden * (rank + rope) + rank * text.heads * (plain + value)
    return query + keys + text.heads * value * text.hidden
