"""Where the time to first token goes: API server, queue, prefill; before the trouble and during it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from diagnostics.execute.facts import Facts
from diagnostics.model.report import TimeToFirstToken


def _stages(facts: Facts, i: int, during: str) -> dict[str, float] | None:
    """Mean seconds by stage; None when the engine does not tell them over this window."""
    total = float(facts.hist_mean("ttft", during)[i])
    queue = float(facts.hist_mean("queue_time", during)[i])
    prefill = float(facts.hist_mean("prefill_time", during)[i])
    if np.isnan(total) or np.isnan(queue):
        return None
    stages = {"queue": queue}
    if not np.isnan(prefill):
        stages["prefill"] = prefill
        # Queue and prefill are booked when a request finishes, the first token when it comes. Where the rest is
        # negative the two speak of different requests, and the API server's share is unknown, not 0.
        if total >= queue + prefill:
            stages["api_server"] = total - queue - prefill
    return {k: round(v, 4) for k, v in stages.items()}


def time_to_first_token(facts: Facts) -> Iterator[TimeToFirstToken]:
    """For each replica the stages before and during saturation; without trouble only ``before``."""
    for i, entity in enumerate(facts.entities):
        during = _stages(facts, i, "saturated")
        before = _stages(facts, i, "calm" if during else "all")
        if before or during:
            yield TimeToFirstToken(entity.label, before, during)
