"""Reading how a checkpoint is quantized out of its configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.precision import DEFAULT_GROUP, Precision, precision, weight_only
from diagnostics.capacity.structure import Fields, number


def quantization_of(config: Fields, text: Fields) -> Precision | None:
    """Read ``quantization_config`` of a checkpoint.

    Args:
        config: the whole configuration.
        text: its text part, which may carry the section instead.

    Returns:
        The stored format, or None for a checkpoint that is not quantized.

    Raises:
        CapacityError: when the method is not known; a quantized model is never taken for a plain one.

    Source: S08, S15, S24.
    """
    for part in (config, text):
        for key in ("quantization_config", "compression_config"):
            section = part.get(key)
            if isinstance(section, Mapping):
                return _precision(cast(Fields, section))
    return None


def _precision(section: Fields) -> Precision:
    method = str(section.get("quant_method") or section.get("quant_algo") or "").lower()
    if method in ("gptq", "awq", "awq_marlin", "gptq_marlin", "auto-round", "auto_round", "hqq"):
        bits = number(section, "bits", "w_bit", "nbits") or 4
        return weight_only(bits, _group(section, default=DEFAULT_GROUP))
    if method in ("fp8", "fbgemm_fp8"):
        return _fp8(section)
    if method == "mxfp4":
        return precision("mxfp4")
    if method == "bitsandbytes":
        return weight_only(4, 64) if section.get("load_in_4bit") else weight_only(8, None)
    if method in ("modelopt", "nvfp4", "modelopt_fp4") or "fp4" in method:
        algorithm = str(section.get("quant_algo") or method).lower()
        return precision("fp8" if "fp8" in algorithm else "nvfp4")
    if method in ("compressed-tensors", "compressed_tensors"):
        return _compressed(section)
    raise CapacityError(
        f"model configuration: quantization method {method or 'without a name'!r} is not known; "
        "name the precision of the weights"
    )


def _fp8(section: Fields) -> Precision:
    """FP8, with the block of its scales as group: a shard must hold whole blocks."""
    block = section.get("weight_block_size")
    size = int(block[0]) if isinstance(block, list) and block else None
    # One 32-bit scale for a square block: its share of the bytes is below a thousandth.
    return Precision("fp8", 8, "fp8", size, 4.0 / size if size else 0.0)


def _group(section: Fields, *, default: int | None) -> int | None:
    size = number(section, "group_size", "q_group_size")
    if size is None:
        return default
    return size if size > 0 else None  # -1 means one scale a channel


def _compressed(section: Fields) -> Precision:
    """Read the first group of a compressed-tensors section."""
    groups = section.get("config_groups")
    first = next(iter(groups.values()), None) if isinstance(groups, Mapping) else None
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(first, Mapping) or not isinstance(weights, Mapping):
        raise CapacityError(
            "model configuration: compressed-tensors without config_groups; name the precision"
        )
    bits, floating = number(weights, "num_bits"), weights.get("type") == "float"
    if bits is None:
        raise CapacityError("model configuration: compressed-tensors without num_bits; name the precision")
    if floating and bits == 4:
        return precision("nvfp4")
    if not isinstance(first.get("input_activations"), Mapping):
        return weight_only(bits, _group(weights, default=None))
    return precision("fp8" if floating else "int8")
