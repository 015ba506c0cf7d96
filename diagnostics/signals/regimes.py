"""Which constraint was binding on each replica at each time, decided over sliding windows.

A decision table in SQL over all replicas at once. One gauge reading never decides: under memory pressure KV cache
usage swings between 0.6 and 1.0 within seconds. Numbers marked "recordings" were read off recordings of a real vLLM
under each constraint, where the classes lie far apart (the margin is given).
"""

from __future__ import annotations

import duckdb
import numpy as np
from msgspec import Struct, field

from diagnostics.model.report import Regime, Segment

# Window: at least a minute and four scrapes, centred, so that a stretch's edges are not delayed.
HALF_WINDOW_SECONDS = 30.0
# Scrapes on each side: at the edges of the data three neighbours and the scrape itself still make four.
HALF_WINDOW_SCRAPES = 3.5
MIN_SCRAPES = 4
# A backlog: on average more than one request waits, in at least half of the scrapes. One waiting request is none.
BACKLOG_MEAN = 1.0
BACKLOG_SHARE = 0.5
# An inferred cap: this share of the scrapes with a queue show running at its top (recordings: 0.80 to 0.92, else < 0.45).
PLATEAU_SHARE = 0.7
# Or running is at its top this often and else one below: a seat stands empty between two requests, and few scrapes may meet
# that moment by chance (recordings thinned to 15 s: at the top in 0.56 to 1.0, never two below). Of few seats one is many.
PLATEAU_SHARE_ONE_SEAT = 0.55
ONE_SEAT_SHARE = 0.93
ONE_SEAT_FROM = 4
# At the cap: mean of running while requests wait, by the cap (recordings: 0.95 to 0.98; memory-bound 0.15).
PINNED_MEAN = 0.9
# Running counts as "at the cap" within this share of it; a chunked prefill can hold one seat of a large cap.
CAP_TOLERANCE = 0.05
# KV cache counts as spare below this mean while requests wait (recordings: cap-bound 0.01, memory-bound 0.74 and more).
KV_SPARE = 0.7
# KV cache is the limit from this mean on, while requests wait (recordings: 0.74 to 0.97 with admission watermarks).
KV_FULL = 0.72
# Preempted requests by finished ones in the window (recordings: storms 1.2 to 3.2, memory-bound 0.15 and less).
STORM_RATIO = 0.3
STORM_MIN = 4
# Steps are prefill: share of a step's tokens that are prompt tokens (recordings: 0.96 to 0.99, others 0.85 and less).
PREFILL_SHARE = 0.9
# Somebody is being prefilled all the time: seconds of prefill finished each second (recordings: 0.9 to 1.3, others 0.75).
PREFILL_BUSY = 0.85
# By elimination: seats and memory are free, somebody is being prefilled all the time, and prompts are most of the work.
PREFILL_MOST = 0.5
# Steps sit at a known token budget from this share of it on (mean of all steps).
BUDGET_SHARE = 0.75
# A carrier without step counts: prompt tokens were computed in this share of its lines or more.
PROMPT_ACTIVE = 0.75
# An outage: so many failed scrapes in a row and so many seconds; a single failed scrape is none.
OUTAGE_SCRAPES = 2
OUTAGE_SECONDS = 15.0
# Without scrapes for so long, a window is not decided.
STALE_SCRAPES = 5

SATURATED = (Regime.CAP, Regime.KV_MEMORY, Regime.PREEMPTING, Regime.TOKEN_BUDGET, Regime.QUEUEING)


class EntityRegimes(Struct):
    """The course of one entity.

    Attributes:
        segments: stretches in time order, without gaps between them.
        plateau: the value at which running was flat while requests waited, or None.
        restarts: Unix seconds at which a new process was first seen.
        observed: seconds from the first to the last sample.
        decided: seconds under a regime other than ``undecided``.
    """

    segments: list[Segment] = field(default_factory=list)
    plateau: float | None = None
    plateau_share: float = 0.0
    restarts: list[float] = field(default_factory=list)
    observed: float = 0.0
    decided: float = 0.0

    def seconds(self, *regimes: Regime) -> float:
        """Time spent under these regimes."""
        return sum(s.end - s.start for s in self.segments if s.regime in regimes)

    def share(self, *regimes: Regime) -> float:
        """Share of the observed time spent under these regimes, 0 to 1."""
        return self.seconds(*regimes) / self.observed if self.observed else 0.0

    def stretches(self, *regimes: Regime) -> list[Segment]:
        """The segments under these regimes, in time order."""
        return [s for s in self.segments if s.regime in regimes]


def decide(
    db: duckdb.DuckDBPyConnection,
    entities: int,
    caps: dict[int, float],
    budgets: dict[int, float],
) -> list[EntityRegimes]:
    """Decide the regimes of all entities.

    Args:
        db: the store with the tables of ``signals.build``.
        entities: how many entities there are.
        caps: configured concurrency cap by entity, where known.
        budgets: configured token budget by entity, where known.

    Returns:
        One course an entity, in order.
    """
    db.execute(
        "CREATE OR REPLACE TEMP TABLE limits AS SELECT e, caps[e] AS cap, budgets[e] AS budget FROM"
        " (SELECT ?::MAP(INTEGER, DOUBLE) AS caps, ?::MAP(INTEGER, DOUBLE) AS budgets), range(0, ?) AS r(e)",
        [caps, budgets, entities],
    )
    db.execute(_PLATEAUS)
    db.execute(_WINDOWS)
    db.execute(_DECISION)
    results = [EntityRegimes() for _ in range(entities)]
    for e, plateau, share in db.execute("SELECT e, plateau, share FROM plateaus").fetchall():
        results[e].plateau, results[e].plateau_share = plateau, share
    for e, at in db.execute(_RESTARTS).fetchall():
        results[e].restarts.append(at)
    _segments(db, results)
    return results


def _segments(db: duckdb.DuckDBPyConnection, results: list[EntityRegimes]) -> None:
    rows = db.execute("SELECT e, t, step, regime, inferred FROM decided ORDER BY e, t").fetchnumpy()
    names = [r.value for r in Regime]
    code_of = {name: i for i, name in enumerate(names)}
    e, t, step = rows["e"], rows["t"], rows["step"]
    codes = np.array([code_of[str(name)] for name in rows["regime"]], dtype=np.int64)
    inferred = np.asarray(rows["inferred"], dtype=bool)
    edges = np.flatnonzero(np.diff(e)) + 1 if len(e) else np.empty(0, dtype=np.int64)
    for part in np.split(np.arange(len(e)), edges):
        if len(part):
            course = results[int(e[part[0]])]
            course.segments = _runs(t[part], float(step[part[0]]), codes[part], inferred[part], names)
            course.observed = sum(s.end - s.start for s in course.segments)
            course.decided = course.observed - course.seconds(Regime.UNDECIDED)


def _runs(
    t: np.ndarray,
    step: float,
    codes: np.ndarray,
    inferred: np.ndarray,
    names: list[str],
) -> list[Segment]:
    """Runs of equal regimes; a run ends where the next begins, stretches shorter than the dwell are absorbed."""
    stale = np.diff(t) > STALE_SCRAPES * step
    starts = np.concatenate([[0], np.flatnonzero((np.diff(codes) != 0) | stale) + 1])
    ends = np.concatenate([starts[1:], [len(codes)]])
    runs: list[Segment] = []
    for a, b in zip(starts, ends, strict=True):
        seen = float(t[b - 1]) + step
        end = float(t[b]) if b < len(t) and not stale[b - 1] else seen
        runs.append(Segment(float(t[a]), end, Regime(names[codes[a]]), bool(inferred[a:b].any())))
        if b < len(t) and stale[b - 1]:
            runs.append(Segment(seen, float(t[b]), Regime.UNDECIDED, False))
    dwell = max(2 * step, HALF_WINDOW_SECONDS / 2)
    merged: list[Segment] = []
    for run in runs:
        short = run.end - run.start < dwell and run.regime not in (Regime.DOWN, Regime.UNDECIDED)
        if short and merged and len(runs) > 1:
            run = Segment(run.start, run.end, merged[-1].regime, merged[-1].inferred)  # noqa: PLW2901
        if merged and merged[-1].regime is run.regime:
            last = merged.pop()
            run = Segment(last.start, run.end, run.regime, last.inferred or run.inferred)  # noqa: PLW2901
        merged.append(run)
    return merged


# Where requests waited: the most frequent running count, and how often it was that one and nothing above it.
_PLATEAUS = f"""
CREATE OR REPLACE TEMP TABLE plateaus AS
WITH queued AS (
    SELECT e, running, kv, coalesce(waiting, 0) - coalesce(deferred, 0) AS held FROM frame
    WHERE running IS NOT NULL
), tops AS (
    SELECT e, mode(running) AS plateau, max(running) AS top, count(*) AS n, avg(kv) AS kv
    FROM queued WHERE held >= 1 GROUP BY e
)
SELECT t.e, t.plateau,
       avg((q.running >= t.plateau * (1 - {CAP_TOLERANCE}))::INT) AS share,
       avg((q.running >= t.plateau - 1)::INT) AS one_seat
FROM tops t JOIN queued q ON q.e = t.e AND q.held >= 1
WHERE t.top <= t.plateau * (1 + {CAP_TOLERANCE}) AND t.n >= {MIN_SCRAPES}
GROUP BY ALL
HAVING share >= {PLATEAU_SHARE}
    OR (share >= {PLATEAU_SHARE_ONE_SEAT} AND one_seat >= {ONE_SEAT_SHARE} AND t.plateau >= {ONE_SEAT_FROM})
"""

_WINDOWS = f"""
CREATE OR REPLACE TEMP TABLE windows AS
WITH prefill AS (
    SELECT e, t, sum(inc) AS prefill_seconds FROM points
    WHERE timed AND signal = 'prefill_time' AND part = 'sum' GROUP BY ALL
), gaps AS (
    SELECT e, t, sum(inc) FILTER (part = 'sum') AS gap_seconds, sum(inc) FILTER (part = 'count') AS gap_count
    FROM points WHERE timed AND signal = 'itl' GROUP BY ALL
), f AS (
    -- dt: the time that the increments of this scrape cover.
    SELECT f.*, f.t - lag(f.t) OVER (PARTITION BY f.e ORDER BY f.t) AS dt, gap_seconds, gap_count,
           greatest(f.waiting - coalesce(f.deferred, 0), 0) AS held, p.prefill_seconds,
           l.cap, l.budget, a.plateau,
           coalesce(l.cap, a.plateau) AS seats
    FROM frame f LEFT JOIN prefill p USING (e, t) LEFT JOIN gaps g USING (e, t)
    LEFT JOIN limits l USING (e) LEFT JOIN plateaus a USING (e)
)
SELECT e, slot, t, step, up, start_time, cap, budget, plateau,
       count(running) OVER w AS n,
       count(waiting) OVER w AS n_waiting,
       count(kv) OVER w AS n_kv,
       avg(held) OVER w AS held_mean,
       avg((held >= 1)::INT) OVER w AS held_share,
       avg(running / seats) FILTER (held >= 1) OVER w AS pinned,
       avg(kv) FILTER (held >= 1) OVER w AS kv_held,
       max(running) OVER w AS running_max,
       avg(running) OVER w AS running_mean,
       sum(preempted) OVER w AS preempted,
       sum(finished) OVER w AS finished,
       sum(generated) OVER w AS generated,
       sum(prompt) OVER w AS prompt,
       avg((prompt > 0)::INT) OVER w AS prompt_active,
       sum(step_tokens) OVER w AS step_tokens,
       sum(engine_steps) OVER w AS engine_steps,
       sum(prefill_seconds) OVER w / nullif(sum(dt) FILTER (prefill_seconds IS NOT NULL) OVER w, 0) AS prefill_busy,
       sum(gap_seconds) OVER w / nullif(sum(gap_count) OVER w, 0) AS gap_mean
FROM f
WINDOW w AS (PARTITION BY e ORDER BY t
    RANGE BETWEEN greatest({HALF_WINDOW_SECONDS}, {HALF_WINDOW_SCRAPES} * step) PRECEDING
              AND greatest({HALF_WINDOW_SECONDS}, {HALF_WINDOW_SCRAPES} * step) FOLLOWING)
"""

_DECISION = f"""
CREATE OR REPLACE TEMP TABLE decided AS
WITH streaks AS (
    -- Failed scrapes in a row share a number.
    SELECT *, sum((coalesce(up, 1) > 0)::INT) OVER (PARTITION BY e ORDER BY t) AS streak FROM windows
), outages AS (
    SELECT *, count(*) FILTER (up = 0) OVER (PARTITION BY e, streak) AS failed,
           max(t) FILTER (up = 0) OVER (PARTITION BY e, streak)
           - min(t) FILTER (up = 0) OVER (PARTITION BY e, streak) + step AS failed_seconds
    FROM streaks
), judged AS (
    SELECT *,
        up = 0 AND failed >= {OUTAGE_SCRAPES} AND failed_seconds >= {OUTAGE_SECONDS} AS is_down,
        held_mean >= {BACKLOG_MEAN} AND held_share >= {BACKLOG_SHARE} AS backlog,
        1 - generated / nullif(step_tokens, 0) AS prefill_share,
        step_tokens / nullif(engine_steps, 0) AS step_size,
        (running_mean < 0.02 OR running_max = 0) AND coalesce(generated, 0) = 0 AS is_idle,
        preempted >= {STORM_MIN} AND preempted >= {STORM_RATIO} * greatest(finished, 1) AS storm,
        pinned >= {PINNED_MEAN} AND coalesce(kv_held, 0) < {KV_SPARE} AS at_cap
    FROM outages
), ruled AS (
    SELECT *,
        coalesce(budget IS NOT NULL AND step_size >= {BUDGET_SHARE} * budget, false) AS at_budget,
        coalesce(prefill_busy >= {PREFILL_BUSY} AND (prefill_share >= {PREFILL_SHARE}
            OR (prefill_share >= {PREFILL_MOST} AND kv_held < {KV_SPARE})), false) AS all_prefill,
        -- Without step counts: nearly all tokens of the window were prompt tokens, and prompts never paused.
        coalesce(step_tokens IS NULL AND prompt_active >= {PROMPT_ACTIVE}
            AND prompt >= {PREFILL_SHARE} * (prompt + generated), false) AS mostly_prefill
    FROM judged
)
SELECT e, t, step,
    CASE
        WHEN is_down THEN '{Regime.DOWN}'
        WHEN n < {MIN_SCRAPES} OR n_waiting < {MIN_SCRAPES} THEN '{Regime.UNDECIDED}'
        WHEN storm THEN '{Regime.PREEMPTING}'
        -- A flat top of few scrapes can be chance; prefill that never pauses is not.
        WHEN backlog AND at_cap AND NOT (cap IS NULL AND all_prefill) THEN '{Regime.CAP}'
        WHEN backlog AND (at_budget OR all_prefill OR (mostly_prefill AND kv_held < {KV_SPARE}))
            THEN '{Regime.TOKEN_BUDGET}'
        -- Prefill or memory: without step counts a full cache beside steps of prompts cannot be told apart.
        WHEN backlog AND mostly_prefill THEN '{Regime.QUEUEING}'
        WHEN backlog AND n_kv = 0 THEN '{Regime.UNDECIDED}'
        WHEN backlog AND kv_held >= {KV_FULL} THEN '{Regime.KV_MEMORY}'
        WHEN backlog THEN '{Regime.QUEUEING}'
        WHEN is_idle THEN '{Regime.IDLE}'
        ELSE '{Regime.UNSATURATED}'
    END AS regime,
    CASE WHEN backlog AND at_cap AND NOT (cap IS NULL AND all_prefill) THEN cap IS NULL
         WHEN backlog AND (all_prefill OR mostly_prefill) THEN NOT at_budget
         ELSE false END AS inferred
FROM ruled
"""

_RESTARTS = """
WITH seen AS (
    SELECT e, t, start_time, lag(start_time) OVER (PARTITION BY e ORDER BY t) AS before
    FROM frame WHERE start_time IS NOT NULL
)
SELECT e, t FROM seen WHERE abs(start_time - before) > 1 ORDER BY e, t
"""
