"""What a rule may read of one deployment: columns of statistics, settings, regimes. One place a replica."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from diagnostics.execute.sql import Answers, Array
from diagnostics.model.bench import BenchRun
from diagnostics.model.catalog import SIGNALS
from diagnostics.model.findings import Evidence, Window
from diagnostics.model.report import Regime, Segment
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import LogEvent, Provenance, Resolution, Setting
from diagnostics.signals.episodes import Episode
from diagnostics.signals.identity import Entity
from diagnostics.signals.regimes import EntityRegimes

Mask = NDArray[np.bool_]
# Share of a rise that is cut off at each end when its stretch is named.
RISE_EDGE = 0.05


class Options(Struct, frozen=True):
    """Facts that no input carries, as the user gave them.

    ``slo`` maps a name like ``ttft_p99`` to seconds.
    """

    slo: dict[str, float] = field(default_factory=dict)
    gpu: str | None = None
    gpu_hourly: float | None = None


class Facts(Struct):
    """One deployment as rules see it.

    Every column has the shape (replicas,), in the order of ``entities``; an absent number is NaN.

    Attributes:
        entities: the replicas, or ranks, of this deployment.
        courses: regimes of each.
        resolution: how finely each is seen.
        settings: for each, setting name -> setting; the most trustworthy source wins.
        events: notable log lines of the deployment.
        episodes: for each, stretches of trouble beside the regimes.
        runs: benchmark results given beside, load levels of one run grouped.
    """

    deployment: str
    model: str
    engine: str
    version: str | None
    entities: list[Entity]
    courses: list[EntityRegimes]
    resolution: list[Resolution]
    settings: list[dict[str, Setting]]
    events: list[LogEvent]
    episodes: list[list[Episode]]
    runs: list[BenchRun]
    options: Options
    answers: Answers
    observed: Window

    @property
    def size(self) -> int:
        """How many replicas (or ranks)."""
        return len(self.entities)

    def column(self, signal: str, stat: Stat, during: str = "all", key: str = "") -> Array:
        """A statistic of a signal over a window, one place a replica; NaN where absent."""
        return self.ask(Request(signal, stat, during), key)

    def ask(self, request: Request, key: str = "") -> Array:
        """Answer a request, one place a replica; NaN where absent."""
        return self.answers.get(request, key)[[e.number for e in self.entities]]

    def increase(self, signal: str, during: str = "all", key: str = "") -> Array:
        """Growth of a counter over a window."""
        return self.column(signal, Stat.INCREASE, during, key)

    def hist_mean(self, signal: str, during: str = "all") -> Array:
        """Mean observation of a histogram over a window (sum by count; exact, unlike a quantile)."""
        return self.column(signal, Stat.HIST_MEAN, during)

    def keys(self, signal: str) -> list[str]:
        """Values of the splitting label of a signal, numbers in numeric order."""
        found = [k for k in self.answers.keys.get(signal, set()) if k]
        # Padded, numbers sort as text.
        return sorted(found, key=lambda k: (not k.isdecimal(), k.rjust(20, "0") if k.isdecimal() else k))

    def has(self, signal: str) -> Mask:
        """Replicas that have a signal."""
        value = self.column(signal, Stat.COUNT)
        total = self.column(signal, Stat.HIST_COUNT)
        lifetime = self.column(signal, Stat.HIST_MEAN_LIFETIME)
        split = np.zeros(self.size, dtype=bool)
        for key in self.keys(signal):
            split |= self.column(signal, Stat.COUNT, key=key) > 0
        return np.asarray((value > 0) | ~np.isnan(total) | ~np.isnan(lifetime) | split)

    def is_range(self) -> Mask:
        """Replicas that are seen over time."""
        return np.array([r is Resolution.RANGE for r in self.resolution], dtype=bool)

    def is_thin(self) -> Mask:
        """Replicas that are seen at single moments only."""
        return ~self.is_range()

    def share(self, *regimes: Regime) -> Array:
        """Share of each replica's time under these regimes, 0 to 1."""
        return np.array([c.share(*regimes) for c in self.courses])

    def seconds(self, *regimes: Regime) -> Array:
        """Seconds of each replica under these regimes."""
        return np.array([c.seconds(*regimes) for c in self.courses])

    def setting(self, i: int, *names: str) -> Setting | None:
        """The first of these settings that is known of replica i."""
        return next((s for name in names if (s := self.settings[i].get(name))), None)

    def number(self, i: int, *names: str) -> float | None:
        """A setting as a number, or None when unknown or no number."""
        setting = self.setting(i, *names)
        try:
            return float(setting.value.replace(",", "").replace("_", "")) if setting else None
        except ValueError:
            return None

    def flag(self, i: int, *names: str) -> bool | None:
        """A setting as yes or no, or None when unknown."""
        setting = self.setting(i, *names)
        if setting is None:
            return None
        word = setting.value.strip().lower()
        return True if word in ("true", "1", "yes") else False if word in ("false", "0", "no") else None

    def numbers(self, *names: str) -> Array:
        """A setting as a column of numbers; NaN where unknown."""
        found = [self.number(i, *names) for i in range(self.size)]
        return np.array([np.nan if n is None else n for n in found])

    def names(self, indices: Iterable[int]) -> tuple[str, ...]:
        """Labels of replicas, as reports show them."""
        return tuple(self.entities[i].label for i in indices)

    def window(self, indices: Iterable[int], *regimes: Regime) -> Window:
        """From the first to the last moment that any of these replicas spent under these regimes."""
        chosen = list(indices)
        stretches = [s for i in chosen for s in self.courses[i].stretches(*regimes)]
        observed = sum(self.courses[i].observed for i in chosen)
        if not stretches or not observed:
            return Window(self.observed.start, self.observed.end, None)
        held = sum(s.end - s.start for s in stretches)
        longest = _longest(stretches)
        return Window(longest[0], longest[1], min(1.0, held / observed))

    def episode_window(self, indices: Iterable[int], name: str) -> Window:
        """From the first to the last moment of these replicas' episodes; the whole time seen when there is none."""
        chosen = list(indices)
        found = [x for i in chosen for x in self.episodes[i] if x.name == name]
        observed = sum(self.courses[i].observed for i in chosen)
        if not found or not observed:
            return Window(self.observed.start, self.observed.end, None)
        held = sum(x.end - x.start for x in found)
        return Window(min(x.start for x in found), max(x.end for x in found), min(1.0, held / observed))

    def rise(self, i: int, counted: str, less: str) -> Window:
        """When the growth of one counter ran away from another's on replica i: from a twentieth to all but one of it.

        Args:
            i: the replica.
            counted: the counter (or the count of a histogram) that ran ahead.
            less: the counter that should have followed.
        """
        rows = self.answers.db.execute(
            "SELECT t, coalesce(sum(CASE WHEN signal = ? THEN inc ELSE -inc END), 0) AS d FROM points WHERE timed AND e = ?"
            " AND ((signal = ? AND part IN ('value', 'count')) OR (signal = ? AND part = 'value')) GROUP BY t ORDER BY t",
            [counted, self.entities[i].number, counted, less],
        ).fetchnumpy()
        ahead = np.cumsum(np.asarray(rows["d"], dtype=np.float64))
        if len(ahead) < 2 or ahead[-1] <= 0:
            return Window(self.observed.start, self.observed.end, None)
        times = np.asarray(rows["t"], dtype=np.float64)
        start = float(times[int(np.argmax(ahead >= RISE_EDGE * ahead[-1]))])
        end = float(times[int(np.argmax(ahead >= (1 - RISE_EDGE) * ahead[-1]))])
        observed = self.courses[i].observed
        return Window(start, end, min(1.0, (end - start) / observed) if observed else None)

    def evidence(
        self, i: int, request: Request, comparison: str, threshold: float | None,
        provenance: Provenance = Provenance.MEASURED,
    ) -> Evidence:  # fmt: skip
        """The number that a request gives for replica i, beside its limit."""
        spec = SIGNALS.get(request.signal)
        stat = request.stat.value if request.over is None else f"increase by increase of {request.over}"
        unit = (spec.unit if spec else "") if request.over is None else "ratio"
        value = float(self.ask(request)[i])
        return Evidence(
            request.signal, stat, value, unit, comparison, threshold, self.entities[i].label, provenance
        )


def _longest(stretches: list[Segment]) -> tuple[float, float]:
    """The longest union of overlapping or nearly touching stretches."""
    gap = 60.0
    spans: list[list[float]] = []
    for s in sorted(stretches, key=lambda s: s.start):
        start, end = s.start, s.end
        if spans and start - spans[-1][1] <= gap:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    best = max(spans, key=lambda s: s[1] - s[0])
    return best[0], best[1]
