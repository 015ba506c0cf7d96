"""Courses over time, where one number for a whole window hides what matters: stalls and bands of load."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute.facts import Facts, Mask
from diagnostics.execute.sql import Array

# Usual spacings between two scrapes beyond which the time between them was not seen.
_BLIND = 5

_FRAME = """
SELECT coalesce(COLUMNS(*)::DOUBLE, 'nan'::DOUBLE) FROM (
WITH gaps AS (
    SELECT p.e, floor(p.t / s.step + 0.5)::BIGINT AS slot,
           sum(inc) FILTER (part = 'sum') AS gap_seconds, sum(inc) FILTER (part = 'count') AS gap_count
    FROM points p JOIN steps s USING (e) WHERE p.timed AND p.signal = 'itl' GROUP BY ALL
)
SELECT f.e, f.t, f.step, f.running, greatest(f.waiting - coalesce(f.deferred, 0), 0) AS waiting, f.kv, f.generated,
       f.prompt, f.step_tokens, f.engine_steps, f.preempted, g.gap_seconds, g.gap_count,
       f.t - lag(f.t) OVER w AS dt, lag(f.running) OVER w AS before
FROM frame f LEFT JOIN gaps g USING (e, slot) WHERE f.running IS NOT NULL
WINDOW w AS (PARTITION BY f.e ORDER BY f.t) ORDER BY f.e, f.t)
"""

_STALLS = f"""
WITH moved AS (
    SELECT p.e, floor(p.t / s.step + 0.5)::BIGINT AS slot, sum(inc) AS moved, count(inc) AS n
    FROM points p JOIN steps s USING (e)
    WHERE p.timed AND list_contains($signals, p.signal) AND p.part IN ('value', 'count') GROUP BY ALL
), scrapes AS (
    SELECT f.e, f.t, f.step, f.running, m.moved, m.n, lag(f.t) OVER (PARTITION BY f.e ORDER BY f.t) AS before
    FROM frame f LEFT JOIN moved m USING (e, slot) WHERE f.running IS NOT NULL
), judged AS (
    SELECT *, coalesce(running >= 1 AND n > 0 AND moved = 0 AND t - before <= {_BLIND} * step, false) AS flat
    FROM scrapes
), streaks AS (
    SELECT *, sum((NOT flat)::INT) OVER (PARTITION BY e ORDER BY t) AS streak FROM judged
)
SELECT e, min(before) AS start, max(t) AS stop, min(running) AS running, count(*) AS n
FROM streaks WHERE flat GROUP BY e, streak ORDER BY stop - start
"""

_BITS = """
SELECT e, key, avg(((value::BIGINT & $mask) <> 0)::INT) AS share
FROM points WHERE signal = $signal AND part = 'value' AND value >= 0 GROUP BY e, key
"""


class Course(Struct, frozen=True):
    """The scrapes of one replica in time order; counters as growth since the scrape before, NaN where absent.

    ``waiting`` leaves out requests that are held back for another reason than capacity; ``before`` is what
    ran at the scrape before.
    """

    t: Array
    step: Array
    running: Array
    waiting: Array
    kv: Array
    generated: Array
    prompt: Array
    step_tokens: Array
    engine_steps: Array
    preempted: Array
    gap_seconds: Array
    gap_count: Array
    dt: Array
    before: Array

    def between(self, low: float, high: float) -> Mask:
        """Scrapes at which more than ``low`` and at most ``high`` requests ran, and at the one before too."""
        return np.asarray(
            (self.running > low) & (self.running <= high) & (self.before > low) & (self.before <= high)
        )

    def token_seconds(self, at: Mask) -> tuple[float, float]:
        """Mean time between two tokens of a request at these scrapes, and how many gaps that rests on.

        Without a histogram of the gaps it is what ran by the tokens made each second.
        """
        if not np.isnan(self.gap_count).all():
            count = float(np.nansum(self.gap_count[at]))
            return (float(np.nansum(self.gap_seconds[at])) / count if count else float("nan")), count
        tokens = float(np.nansum(self.generated[at]))
        held = float(np.nansum((self.running * self.dt)[at]))
        return (held / tokens if tokens else float("nan")), tokens


class Stall(Struct, frozen=True):
    """The longest time without progress of one replica: Unix seconds, requests running, scrapes."""

    start: float
    end: float
    running: float
    scrapes: int


def course(facts: Facts, i: int) -> Course:
    """The scrapes of replica i. Those of all replicas are fetched at once, by the first that asks."""
    known = facts.answers.courses
    if known is None:
        rows = facts.answers.db.execute(_FRAME).fetchnumpy()
        numbers = rows.pop("e").astype(np.int64)
        edges = np.flatnonzero(np.diff(numbers)) + 1
        known = facts.answers.courses = {
            int(numbers[part[0]]): {name: column[part] for name, column in rows.items()}
            for part in np.split(np.arange(len(numbers)), edges)
            if len(part)
        }
    empty = np.empty(0, dtype=np.float64)
    found = known.get(facts.entities[i].number)
    return Course(**(found if found is not None else dict.fromkeys(Course.__struct_fields__, empty)))


def stalls(facts: Facts, signals: tuple[str, ...]) -> list[Stall | None]:
    """For each replica the longest time in which requests ran and none of these counters moved."""
    rows = facts.answers.db.execute(_STALLS, {"signals": list(signals)}).fetchall()
    longest = {int(e): Stall(start, end, running, int(n)) for e, start, end, running, n in rows}
    return [longest.get(entity.number) for entity in facts.entities]


def share_with_bits(facts: Facts, signal: str, mask: int) -> list[dict[str, float]]:
    """For each replica and key the share of readings of a bit mask that have any of these bits."""
    rows = facts.answers.db.execute(_BITS, {"signal": signal, "mask": mask}).fetchall()
    found: dict[int, dict[str, float]] = {}
    for e, key, share in rows:
        found.setdefault(int(e), {})[str(key)] = float(share)
    return [found.get(entity.number, {}) for entity in facts.entities]
