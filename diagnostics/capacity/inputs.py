"""The inputs of a plan as a person sees and edits them, and the plan that they give."""

from __future__ import annotations

import json
from collections.abc import Mapping

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.hardware import find_gpu
from diagnostics.capacity.model import ModelShape, shape_from_config
from diagnostics.capacity.plan import PlanRequest
from diagnostics.capacity.plan_assumed import (
    DEFAULT_BATCHED_TOKENS,
    DEFAULT_MAX_SEQUENCES,
    DEFAULT_UTILISATION,
)
from diagnostics.capacity.precision import precision


class Field(Struct, frozen=True):
    """One input.

    Attributes:
        name: stands for it in addresses.
        group: what it is about.
        title: with its unit.
        assumed: what a plan takes where nothing is known; empty where nothing is taken.
    """

    name: str
    group: str
    title: str
    assumed: str = ""


FIELDS = (
    Field("parameters", "Model", "parameters, billions"),
    Field("layers", "Model", "layers"),
    Field("kv_heads", "Model", "KV heads"),
    Field("heads", "Model", "attention heads"),
    Field("head_size", "Model", "size of a head"),
    Field("hidden", "Model", "hidden size"),
    Field("stored", "Model", "format of the weights", "bf16"),
    Field("gpu", "Hardware", "GPU"),
    Field("gpus", "Hardware", "GPUs of the deployment", "replicas x degree"),
    Field("tp", "Hardware", "tensor-parallel degree"),
    Field("hourly", "Hardware", "price of a GPU, USD an hour"),
    Field("utilisation", "Engine", "share of memory it may use", f"{DEFAULT_UTILISATION:g}"),
    Field("kv_dtype", "Engine", "format of the KV cache", "as the model"),
    Field("max_model_len", "Engine", "longest sequence, tokens"),
    Field("max_sequences", "Engine", "most sequences together", str(DEFAULT_MAX_SEQUENCES)),
    Field("batched_tokens", "Engine", "most tokens a step", str(DEFAULT_BATCHED_TOKENS)),
    Field("kv_tokens", "Engine", "KV cache of a replica, tokens"),
    Field("prompt", "Load", "mean prompt, tokens"),
    Field("answer", "Load", "mean answer, tokens"),
    Field("longest", "Load", "long request, prompt and answer, tokens"),
    Field("cached", "Load", "prompt tokens from the prefix cache, %", "0"),
    Field("rate", "Load", "output tokens/s of all replicas"),
    Field("batch", "Load", "requests running on a replica"),
)
SHAPE = ("parameters", "layers", "kv_heads", "head_size")
"""Without config.json, these four describe a model well enough; two more allow limits on the TP degree."""
STAGE = "stage: "
"""Begins the name of a known stage of the last start; its value is in seconds."""
_TITLES = {field.name: field.title for field in FIELDS}


class MissingError(CapacityError):
    """Nothing can be planned yet; ``titles`` says exactly what is missing."""

    def __init__(self, titles: tuple[str, ...]) -> None:
        super().__init__("missing: " + ", ".join(titles))
        self.titles = titles


def request_of(values: Mapping[str, str]) -> PlanRequest:
    """What a plan is asked, from texts by name of field, and ``config`` for the model's config.json.

    Raises:
        MissingError: the model or the GPU is not known.
        CapacityError: a value is none; the message names the input.
    """
    given = {k: v.strip() for k, v in values.items() if v.strip()}
    lacking = [] if "config" in given else [_TITLES[name] for name in SHAPE if name not in given]
    lacking += [] if "gpu" in given else [_TITLES["gpu"]]
    if lacking:
        raise MissingError(tuple(lacking))
    cached = _number(given, "cached")
    tp = _whole(given, "tp")
    return PlanRequest(
        shape=_shape(given),
        gpu=find_gpu(given["gpu"]),
        gpu_count=_whole(given, "gpus") or (tp or 1) * (_whole(given, "replicas") or 1),
        tp=tp,
        stored=precision(given["stored"]) if "stored" in given else None,
        kv_dtype=given.get("kv_dtype"),
        utilisation=_number(given, "utilisation"),
        mean_prompt=_number(given, "prompt"),
        mean_output=_number(given, "answer"),
        high_total=_whole(given, "longest"),
        max_model_len=_whole(given, "max_model_len"),
        max_sequences=_whole(given, "max_sequences"),
        batched_tokens=_whole(given, "batched_tokens"),
        cached_prompt_share=None if cached is None else cached / 100,
        measured_kv_tokens=_whole(given, "kv_tokens"),
        measured_tokens_per_second=_number(given, "rate"),
        gpu_hourly=_number(given, "hourly"),
    )


def _shape(given: Mapping[str, str]) -> ModelShape:
    if "config" in given:
        return shape_from_config(json.loads(given["config"]))
    parameters, sizes = _number(given, "parameters"), {name: _whole(given, name) for name in SHAPE[1:]}
    return ModelShape(
        parameters=(parameters or 0.0) * 1e9,
        layers=sizes["layers"] or 0,
        kv_heads=sizes["kv_heads"] or 0,
        head_size=sizes["head_size"] or 0,
        heads=_whole(given, "heads"),
        hidden=_whole(given, "hidden"),
        assumptions=("the model is dense, with a KV cache in every layer",),
    )


def _number(given: Mapping[str, str], name: str) -> float | None:
    text = given.get(name)
    try:
        return None if text is None else float(text.replace(",", "").replace("_", ""))
    except ValueError:
        raise CapacityError(f"{_TITLES[name]}: {text!r} is no number") from None


def _whole(given: Mapping[str, str], name: str) -> int | None:
    value = _number(given, name)
    if value is None:
        return None
    if value != int(value):
        raise CapacityError(f"{_TITLES.get(name, name)}: {given[name]!r} is no whole number")
    return int(value)
