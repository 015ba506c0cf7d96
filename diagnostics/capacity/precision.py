"""How many bytes a weight or a cached value takes, and in which format it is multiplied."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError, whole

Compute = Literal["fp32", "16-bit", "fp8", "int8", "fp4"]

# A 16-bit scale and a zero point held in 16 bits per group: with groups of 128 that is 0.53 bytes a
# parameter, with groups of 64 it is 0.56, the range seen in published checkpoints.
GROUP_OVERHEAD_BYTES = 4.0
DEFAULT_GROUP = 128

_SIXTEEN_BIT = ("bf16", "bfloat16", "fp16", "float16", "half")
_KV_BYTES = {
    **dict.fromkeys(_SIXTEEN_BIT, 2),
    **dict.fromkeys(("fp32", "float32", "float"), 4),
    **dict.fromkeys(("fp8", "fp8_e4m3", "fp8_e5m2", "fp8_inc", "int8", "e4m3", "e5m2"), 1),
}


class Precision(Struct, frozen=True):
    """The stored format of the weights.

    Attributes:
        name: a short name for people, for example ``bf16`` or ``4-bit, groups of 128``.
        bits: bits of one stored parameter, without scales.
        compute: the format the multiplication runs in where the hardware has it.
        group_size: parameters that share a scale, or None for one scale a channel or none at all.
        group_overhead: bytes of scale and zero point a group.
    """

    name: str
    bits: float
    compute: Compute
    group_size: int | None = None
    group_overhead: float = 0.0

    @property
    def bytes_per_parameter(self) -> float:
        """Bytes of one parameter, scales included: ``bits / 8 + overhead / group size``."""
        overhead = self.group_overhead / self.group_size if self.group_size else 0.0
        return self.bits / 8 + overhead

    @property
    def weight_only(self) -> bool:
        """Whether the weights are expanded to 16 bits before they are multiplied (S08)."""
        return self.compute == "16-bit" and self.bits < 16


def weight_only(bits: int, group_size: int | None = DEFAULT_GROUP) -> Precision:
    """Describe weight-only quantization, which is stored small and computed in 16 bits.

    Formula: ``bytes per parameter = bits / 8 + 4 / group size``.

    Args:
        bits: bits of a stored weight, 2 to 8.
        group_size: weights that share a scale, or None for one scale a channel.

    Returns:
        The precision.

    Raises:
        CapacityError: for bits outside 2 to 8 or a group below 1.

    Source: S08, S15.
    """
    if not 2 <= bits <= 8:
        raise CapacityError(f"weight-only quantization has 2 to 8 bits, not {bits}")
    if group_size is None:
        return Precision(f"{bits}-bit weights", bits, "16-bit")
    whole("group size", group_size)
    name = f"{bits}-bit weights, groups of {group_size}"
    return Precision(name, bits, "16-bit", group_size, GROUP_OVERHEAD_BYTES)


def precision(name: str) -> Precision:
    """Turn a name that people and engines use into a precision.

    Formula: bf16 and fp16 take 2 bytes, fp8 and int8 take 1, 4-bit with groups of 128 takes 0.53.

    Args:
        name: for example ``bfloat16``, ``fp8``, ``w8a8``, ``awq``, ``gptq``, ``int4``, ``nvfp4``.

    Returns:
        The precision.

    Raises:
        CapacityError: when the name is not known; nothing is assumed for it.

    Source: S08, S15, S24.
    """
    key = name.strip().lower().replace("-", "_")
    if key in _SIXTEEN_BIT:
        return Precision("fp16" if key in ("fp16", "float16", "half") else "bf16", 16, "16-bit")
    fixed = {
        "fp32": Precision("fp32", 32, "fp32"),
        "float32": Precision("fp32", 32, "fp32"),
        "fp8": Precision("fp8", 8, "fp8"),
        "fp8_e4m3": Precision("fp8", 8, "fp8"),
        "fp8_e5m2": Precision("fp8", 8, "fp8"),
        "int8": Precision("int8 weights and activations", 8, "int8"),
        "w8a8": Precision("int8 weights and activations", 8, "int8"),
        "w8a16": weight_only(8, None),
        # One 8-bit scale for 16 (nvfp4) or 32 (mxfp4) values; mxfp4 is mostly computed in 16 bits.
        "nvfp4": Precision("nvfp4", 4, "fp4", 16, 1.0),
        "mxfp4": Precision("mxfp4", 4, "16-bit", 32, 1.0),
    }
    if key in fixed:
        return fixed[key]
    if key in ("awq", "awq_marlin", "gptq", "gptq_marlin", "int4", "w4a16", "4bit", "4_bit"):
        return weight_only(4)
    if key in ("bitsandbytes", "bnb", "nf4"):
        return weight_only(4, 64)
    raise CapacityError(
        f"precision {name!r} is not known; use bf16, fp16, fp32, fp8, int8, awq, gptq, nvfp4 or mxfp4"
    )


def kv_value_bytes(dtype: str) -> int:
    """Give the bytes of one cached key or value number.

    Formula: 16-bit formats 2, 8-bit formats 1, fp32 4.

    Args:
        dtype: the format of the cache, for example ``bfloat16`` or ``fp8_e4m3``.

    Returns:
        Bytes.

    Raises:
        CapacityError: when the format is not known; ``auto`` must be resolved to the model's first.

    Source: S02, S03.
    """
    key = dtype.strip().lower()
    if key not in _KV_BYTES:
        raise CapacityError(f"KV cache format {dtype!r} is not known; use bf16, fp16, fp32, fp8 or int8")
    return _KV_BYTES[key]
