"""The roofline of decoding over the batch, for a picture of it."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.plan_assumed import occupancy_of
from diagnostics.capacity.plan_types import Plan
from diagnostics.capacity.sizing import step_estimate


class Point(Struct, frozen=True):
    """Output tokens/s of one replica at a batch: as reading, computing and both allow; None when not known."""

    batch: int
    reading: float
    computing: float | None
    limit: float


def roofline(plan: Plan) -> tuple[Point, ...]:
    """The limits at batches from 1 to beyond what the replica may run, each about 1.4 times the one before.

    Formula: ``batch / step`` of ``step_estimate``.

    Source: S08.
    """
    request, settings = plan.request, plan.settings
    held, most = occupancy_of(request) or 0.0, max(2 * settings.max_sequences, 512)
    batches = sorted({round(2 ** (i / 2)) for i in range(2 * most.bit_length())})
    points = []
    for batch in batches:
        step = step_estimate(request.shape, request.gpu, settings, tp=plan.tp, batch=batch, held_tokens=held)
        compute = step.floor.compute_seconds
        points.append(
            Point(
                batch,
                batch / step.floor.read_seconds,
                None if compute is None else batch / compute,
                step.tokens_per_second,
            )
        )
    return tuple(points)
