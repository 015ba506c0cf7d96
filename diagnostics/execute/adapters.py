"""LoRA adapters: how many a batch may mix, and how many different ones took turns."""

from __future__ import annotations

import numpy as np

from diagnostics.engines import defaults
from diagnostics.execute.facts import Facts
from diagnostics.execute.sql import Array
from diagnostics.model.requests import Stat

# Names of settings that say how many adapters a batch may mix.
MAX_NAMES = ("max_loras", "max_loras_per_batch")


def most_in_a_batch(facts: Facts, i: int) -> float:
    """Adapters that one batch may mix; NaN where nothing says that adapters are served."""
    known = facts.number(i, *MAX_NAMES)
    if known is None and facts.flag(i, "enable_lora"):
        default = defaults.default_of(facts.engine, facts.version, None, "max_loras")
        known = float(default.value) if default else None
    published = float(facts.column("lora_max", Stat.MAX)[i])
    return known if known is not None else published


def in_use(facts: Facts) -> Array:
    """Different adapters that were in a batch within the window, by the names in the engine's own labels."""
    names: list[set[str]] = [set() for _ in range(facts.size)]
    counts = {key: facts.column("lora_running", Stat.COUNT, key=key) for key in facts.keys("lora_running")}
    scrapes = (
        np.nanmax([np.nan_to_num(c) for c in counts.values()], axis=0) if counts else np.zeros(facts.size)
    )
    for key, count in counts.items():
        used = (facts.increase("lora_running", key=key) > 0) | ((count > 0) & (count < scrapes))
        for i in np.flatnonzero(used):
            names[i].update(name for name in key.split(",") if name)
    return np.array([float(len(found)) for found in names])
