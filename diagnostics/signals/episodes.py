"""Stretches of trouble beside the regimes: what does not limit admission and yet is felt.

Statistics over a whole window dilute a few bad minutes of an hour; an episode names the minutes.
"""

from __future__ import annotations

import duckdb
from msgspec import Struct

from diagnostics.signals.quantiles import histogram_quantile

# Mean gap between tokens over a sliding window by the median gap of all (see the rule on prefill stalls).
STALLING = 3.0
# Episodes so close together are one.
JOIN_SECONDS = 90.0
MIN_SECONDS = 20.0


class Episode(Struct, frozen=True):
    """One stretch of one entity, Unix seconds."""

    entity: int
    name: str
    start: float
    end: float


def stalls(db: duckdb.DuckDBPyConnection, entities: int) -> list[Episode]:
    """Stretches in which the mean gap between tokens lies far above the median gap.

    Args:
        db: the store, with regimes decided.
        entities: how many entities there are.
    """
    medians = _medians(db, entities)
    if not medians:
        return []
    rows = db.execute(
        "SELECT w.e, w.t, w.step FROM windows w JOIN (SELECT unnest(?::INTEGER[]) AS e, unnest(?::DOUBLE[]) AS median) m"
        " USING (e) WHERE w.gap_mean >= ? * m.median ORDER BY w.e, w.t",
        [list(medians), list(medians.values()), STALLING],
    ).fetchall()
    found: list[list[float]] = []
    for e, t, step in rows:
        if found and found[-1][0] == e and t - found[-1][2] <= max(JOIN_SECONDS, 3 * step):
            found[-1][2] = t + step
        else:
            found.append([e, t, t + step])
    return [Episode(int(e), "stalling", a, b) for e, a, b in found if b - a >= MIN_SECONDS]


def _medians(db: duckdb.DuckDBPyConnection, entities: int) -> dict[int, float]:
    """Median gap between tokens of each entity over everything seen."""
    rows = db.execute(
        "SELECT m.e, m.le, sum(s.increment) FROM samples s JOIN signal_series m USING (series_id)"
        " WHERE m.signal = 'itl' AND m.part = 'bucket' AND m.timed GROUP BY m.e, m.le ORDER BY m.e, m.le"
    ).fetchall()
    medians = {}
    for e in range(entities):
        mine = [(le, n) for entity, le, n in rows if entity == e and n is not None]
        value = histogram_quantile(0.5, [le for le, _ in mine], [n for _, n in mine])
        if value > 0:
            medians[e] = value
    return medians
