"""The DuckDB executor: every statistic of every signal and window in one pass over the points.

Answers come as one array a statistic, one place an entity; absent is NaN, never 0.
"""

from __future__ import annotations

import duckdb
import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from diagnostics.model.report import Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.signals.episodes import Episode
from diagnostics.signals.quantiles import histogram_quantile
from diagnostics.signals.regimes import SATURATED, EntityRegimes

Array = NDArray[np.float64]

CALM = (Regime.UNSATURATED, Regime.IDLE)

_STATISTICS = {
    "count": "count(value)",
    "last": "arg_max(value, t)",
    "max": "max(value)",
    "min": "min(value)",
    "mean": "avg(value)",
    "p50": "quantile_cont(value, 0.5)",
    "p90": "quantile_cont(value, 0.9)",
    "p99": "quantile_cont(value, 0.99)",
    "increase": "sum(inc)",
    "slope": "CASE WHEN count(value) > 2 AND max(t) > min(t) THEN regr_slope(value, t) END",
}
# NULL leaves the database as NaN: a column with NULLs comes out as a masked array, whose module takes longer to load
# than a small diagnosis takes to answer.
_POINTS = f"""
SELECT w.name, p.e, p.signal, p.part, p.key,
       {", ".join(f"coalesce({term}, 'nan'::DOUBLE) AS {name}" for name, term in _STATISTICS.items())}
FROM points p JOIN spans w ON p.e = w.e AND p.t BETWEEN w.t0 AND w.t1
GROUP BY ALL
"""

_BUCKETS = """
SELECT w.name, m.e, m.signal, m.le, coalesce(sum(s.increment), 'nan'::DOUBLE) AS n
FROM samples s JOIN signal_series m USING (series_id) JOIN spans w ON m.e = w.e AND s.t BETWEEN w.t0 AND w.t1
WHERE m.part = 'bucket'
GROUP BY ALL
ORDER BY w.name, m.e, m.signal, m.le
"""


def write_spans(db: duckdb.DuckDBPyConnection, courses: list[EntityRegimes], episodes: list[Episode]) -> None:
    """Lay out the windows that statistics run over: ``all``, ``saturated``, ``calm``, each regime and episode."""
    names: list[str] = []
    entities: list[int] = []
    starts: list[float] = []
    ends: list[float] = []
    for e, course in enumerate(courses):
        rows = [("all", -np.inf, np.inf)]
        for segment in course.segments:
            rows.append((segment.regime.value, segment.start, segment.end))
            if segment.regime in SATURATED:
                rows.append(("saturated", segment.start, segment.end))
            elif segment.regime in CALM:
                rows.append(("calm", segment.start, segment.end))
        rows.extend((x.name, x.start, x.end) for x in episodes if x.entity == e)
        for name, start, end in rows:
            names.append(name)
            entities.append(e)
            starts.append(start)
            ends.append(end)
    db.execute(
        "CREATE OR REPLACE TEMP TABLE spans AS SELECT unnest(?::VARCHAR[]) AS name, unnest(?::INTEGER[]) AS e,"
        " unnest(?::DOUBLE[]) AS t0, unnest(?::DOUBLE[]) AS t1",
        [names, entities, starts, ends],
    )


class Answers(Struct):
    """Statistics of all entities, computed once and looked up by request.

    ``courses`` holds the scrapes of each entity by column, once somebody has asked for them.
    """

    db: duckdb.DuckDBPyConnection
    entities: int
    _table: dict[tuple[str, str, str, str, str], Array] = field(default_factory=dict)
    _quantiles: dict[tuple[str, str, Stat], Array] | None = None
    keys: dict[str, set[str]] = field(default_factory=dict)
    courses: dict[int, dict[str, Array]] | None = None

    def load(self) -> None:
        """Run the one query over all points."""
        rows = self.db.execute(_POINTS).fetchnumpy()
        groups: dict[tuple[str, str, str, str], list[int]] = {}
        places = zip(rows["name"], rows["signal"], rows["part"], rows["key"], strict=True)
        for i, (name, signal, part, key) in enumerate(places):
            groups.setdefault((str(name), str(signal), str(part), str(key)), []).append(i)
            self.keys.setdefault(str(signal), set()).add(str(key))
        entity = np.asarray(rows["e"], dtype=np.int64)
        columns = {c: rows[c] for c in _STATISTICS}
        for group, indices in groups.items():
            at = np.array(indices)
            for name, values in columns.items():
                column = np.full(self.entities, np.nan)
                column[entity[at]] = values[at]
                self._table[(*group, name)] = column

    def has(self, signal: str) -> bool:
        """Whether any entity has this signal at all."""
        return signal in self.keys

    def get(self, request: Request, key: str = "") -> Array:
        """Answer a request for all entities.

        Args:
            request: signal, statistic and window.
            key: value of the splitting label, for signals that have one.

        Returns:
            Array of shape (entities,); NaN where the signal is absent.
        """
        if request.over is not None:
            top = self.get(Request(request.signal, Stat.INCREASE, request.during), key)
            below = self.get(Request(request.over, Stat.INCREASE, request.during))
            return _ratio(top, below)
        stat = request.stat
        if stat.quantile is not None:
            return self._quantile(request)
        if stat is Stat.HIST_MEAN:
            return _ratio(self._cell(request, "sum", "increase"), self._cell(request, "count", "increase"))
        if stat is Stat.HIST_MEAN_LIFETIME:
            return _ratio(self._cell(request, "sum", "last"), self._cell(request, "count", "last"))
        if stat is Stat.HIST_COUNT:
            return self._cell(request, "count", "increase")
        if stat is Stat.HIST_SUM:
            return self._cell(request, "sum", "increase")
        return self._cell(request, "value", stat.column if stat is Stat.LIFETIME else stat.value, key)

    def _cell(self, request: Request, part: str, column: str, key: str = "") -> Array:
        found = self._table.get((request.during, request.signal, part, key, column))
        return np.full(self.entities, np.nan) if found is None else found

    def _quantile(self, request: Request) -> Array:
        if self._quantiles is None:
            self._quantiles = self._load_buckets()
        found = self._quantiles.get((request.during, request.signal, request.stat))
        return np.full(self.entities, np.nan) if found is None else found

    def _load_buckets(self) -> dict[tuple[str, str, Stat], Array]:
        rows = self.db.execute(_BUCKETS).fetchnumpy()
        groups: dict[tuple[str, int, str], list[int]] = {}
        for i, place in enumerate(zip(rows["name"], rows["e"], rows["signal"], strict=True)):
            groups.setdefault((str(place[0]), int(place[1]), str(place[2])), []).append(i)
        les = np.asarray(rows["le"], dtype=np.float64)
        counts = np.asarray(rows["n"], dtype=np.float64)
        result: dict[tuple[str, str, Stat], Array] = {}
        for (name, e, signal), indices in groups.items():
            at = np.array(indices)
            for stat in (Stat.HIST_P50, Stat.HIST_P90, Stat.HIST_P99):
                assert stat.quantile is not None  # noqa: S101  these three have one
                column = result.setdefault((name, signal, stat), np.full(self.entities, np.nan))
                column[e] = histogram_quantile(stat.quantile, les[at], counts[at])
        return result


def _ratio(top: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, top / below, np.nan)
