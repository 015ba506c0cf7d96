"""Replicas of one deployment side by side: how evenly load lies on them."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute.facts import Facts
from diagnostics.execute.sql import Array
from diagnostics.model.report import Regime
from diagnostics.model.requests import Stat

# Share of the time that a replica may be down and still be compared.
MAX_DOWN = 0.02
# Mean waiting requests from which a replica queues, and below which another has room.
QUEUES, HAS_ROOM = 3.0, 0.5


class Balance(Struct, frozen=True):
    """One measure over the replicas compared.

    Attributes:
        values: one place a replica.
        ratio: largest by smallest, infinite when the smallest is 0; NaN when the measure is absent somewhere.
    """

    values: Array
    ratio: float


def comparable(facts: Facts) -> list[int]:
    """Replicas that can be compared: attributed, up all the time, one process throughout."""
    down = facts.share(Regime.DOWN)
    return [
        i
        for i, entity in enumerate(facts.entities)
        if entity.attributed and down[i] <= MAX_DOWN and not facts.courses[i].restarts
    ]


def balance(values: Array, chosen: list[int]) -> Balance:
    """How far a measure differs between replicas."""
    picked = values[chosen]
    if len(picked) < 2 or np.isnan(picked).any():
        return Balance(values, float("nan"))
    low, high = float(picked.min()), float(picked.max())
    return Balance(values, high / low if low > 0 else (float("inf") if high > 0 else 1.0))


def work(facts: Facts) -> Array:
    """Tokens worked on by each replica over the window: prompt and generated."""
    return np.asarray(facts.increase("prompt_tokens") + facts.increase("generation_tokens"))


def in_flight(facts: Facts) -> Array:
    """Mean requests inside each replica, running or waiting."""
    return np.asarray(facts.column("running", Stat.MEAN) + facts.column("waiting", Stat.MEAN))


def queues_beside_room(facts: Facts, chosen: list[int]) -> tuple[int, int] | None:
    """(the replica that queues most, one that has room), or None when that is not so."""
    waiting = facts.column("waiting", Stat.MEAN)[chosen]
    if len(chosen) < 2 or np.isnan(waiting).any():
        return None
    busy, free = int(np.argmax(waiting)), int(np.argmin(waiting))
    if waiting[busy] >= QUEUES and waiting[free] <= HAS_ROOM:
        return chosen[busy], chosen[free]
    return None
