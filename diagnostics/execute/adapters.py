"""LoRA adapters: how many a batch may mix, and how many different ones took turns."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.engines import defaults
from diagnostics.execute.facts import Facts
from diagnostics.execute.sql import Array
from diagnostics.model.requests import Stat
from diagnostics.signals.regimes import HALF_WINDOW_SCRAPES, HALF_WINDOW_SECONDS

# Names of settings that say how many adapters a batch may mix.
MAX_NAMES = ("max_loras", "max_loras_per_batch")

# Stretches in which, over a sliding window, requests are held back for another reason than capacity.
_AROUND = f"greatest({HALF_WINDOW_SECONDS}, {HALF_WINDOW_SCRAPES} * step)"
_HELD = f"""
WITH windows AS (
    SELECT e, t, step, deferred, kv, avg(deferred) OVER w AS held, avg(waiting) OVER w AS waits
    FROM frame WHERE deferred IS NOT NULL
    WINDOW w AS (PARTITION BY e ORDER BY t RANGE BETWEEN {_AROUND} PRECEDING AND {_AROUND} FOLLOWING)
), judged AS (
    SELECT *, held >= $mean AND held >= $share * waits AS is_held FROM windows
), streaks AS (
    SELECT *, sum((NOT is_held)::INT) OVER (PARTITION BY e ORDER BY t) AS streak FROM judged
)
SELECT e, min(t) AS start, max(t) + any_value(step) AS stop, avg(deferred) AS held,
       quantile_cont(kv, 0.9) AS kv, count(*) AS n
FROM streaks WHERE is_held GROUP BY e, streak ORDER BY stop - start
"""


class Held(Struct, frozen=True):
    """The longest stretch of one replica: Unix seconds, mean of requests held back, p90 of KV usage, scrapes."""

    start: float
    end: float
    mean: float
    kv: float
    scrapes: int


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


def held_back(facts: Facts, mean: float, share: float) -> list[Held | None]:
    """For each replica the longest stretch in which requests are held back for another reason than capacity.

    Args:
        facts: the deployment.
        mean: requests held back over a minute or so, at least.
        share: of all that wait, at least.
    """
    rows = facts.answers.db.execute(_HELD, {"mean": mean, "share": share}).fetchall()
    longest = {
        int(e): Held(start, end, held, float("nan") if kv is None else kv, int(n))
        for e, start, end, held, kv, n in rows
    }
    return [longest.get(entity.number) for entity in facts.entities]
