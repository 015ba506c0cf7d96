"""Changes that several rules recommend, in one wording."""

from __future__ import annotations

from diagnostics.engines import flags
from diagnostics.execute.facts import Facts
from diagnostics.model.findings import Remedy


def more_kv_memory(facts: Facts, i: int) -> tuple[Remedy, ...]:
    """What helps when KV memory is short, cheapest first."""
    fraction = flags.flag_for(facts.engine, facts.version, "kv-memory-fraction")
    dtype = flags.flag_for(facts.engine, facts.version, "kv-dtype")
    override = facts.setting(i, "num_gpu_blocks_override")
    found = [
        Remedy(
            "Route long requests elsewhere, or limit prompt and answer length at the gateway.",
            "now",
            expected="fewer tokens held at once, the queue drains",
            risk="long requests are refused or go to other replicas",
            undo="lift the limit",
        )
    ]
    if override is not None and override.value.isdigit():
        found.append(
            Remedy(
                "Remove --num-gpu-blocks-override: it fixes the pool below what memory allows.",
                "next-rollout", True, facts.engine, "--num-gpu-blocks-override", override.value, "remove it",
                "the pool grows to what the memory fraction allows", "none beyond the restart", "set it back",
            )
        )  # fmt: skip
    if dtype:
        current = facts.setting(i, "kv_cache_dtype")
        found.append(
            Remedy(
                f"Store the KV cache in 8 bit: {dtype} fp8.",
                "next-rollout", True, facts.engine, dtype, current.value if current else "auto", "fp8",
                "about twice the tokens in the same memory",
                "small loss of accuracy; the attention backend must support it", f"set {dtype} back",
            )
        )  # fmt: skip
    if fraction:
        known = facts.setting(i, fraction.lstrip("-").replace("-", "_"))
        found.append(
            Remedy(
                f"Give the engine more of the GPU memory with {fraction}, if the GPU has it to spare.",
                "next-rollout", True, facts.engine, fraction, known.value if known else None, None,
                "more blocks", "out of memory at start or under load when set too high", "set it back",
            )
        )  # fmt: skip
    found.append(
        Remedy(
            "Otherwise add replicas, a GPU with more memory, or tensor parallelism over more GPUs.",
            "capacity-plan",
            expected="KV capacity in proportion to the memory that weights leave",
            risk="cost",
        )
    )
    return tuple(found)
