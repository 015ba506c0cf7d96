"""Gathers what the readers of a log find, and turns it into a capture at the end."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from diagnostics.model.samples import Capture, LogEvent, Provenance, Series, Setting
from diagnostics.sources.logs.message import NO_RANK, Body, Line
from diagnostics.sources.logs.times import Clock, Stamp

EVENT_KINDS = frozenset(
    {
        "block-size",
        "engine-dead",
        "http-disconnect",
        "http-error",
        "kv-refused",
        "marlin-fallback",
        "memory-not-free",
        "nccl-error",
        "no-native-fp8",
        "out-of-memory",
        "pcie-allreduce-disabled",
        "preemption",
        "ready",
        "retraction",
        "stage",
        "startup",
        "startup-quantization",
        "stats-disabled",
        "tp-indivisible",
        "xid",
    }
)
# These are told once a start and replica: engines repeat them for every rank, request or traceback line.
_ONCE = EVENT_KINDS - {"preemption", "retraction", "startup", "ready", "stage", "xid"}
_MAX_TEXT = 500
_MAX_EVENTS_A_KIND = 2000

Labels = dict[str, str]
Key = tuple[tuple[str, str], ...]


class _Draft(Struct):
    """An event whose time and rank are not settled yet."""

    kind: str
    stamp: Stamp | None
    text: str
    fields: Labels
    labels: Labels
    rank: int


class _Process(Struct):
    """Where the current start of one replica stands."""

    markers: set[str] = field(default_factory=set)
    ready: bool = False
    stages: dict[str, tuple[float, _Draft]] = field(default_factory=dict)
    told: set[tuple[str, Key]] = field(default_factory=set)
    notes: dict[str, object] = field(default_factory=dict)
    last_stamp: Stamp | None = None


class Collector:
    """What one log holds, as far as it has been read."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.warnings: list[str] = []
        self.unused: Counter[str] = Counter()
        self.lines_by_engine: Counter[str] = Counter()
        self.families: Counter[str] = Counter()
        self.engine_version: str | None = None
        self._series: dict[tuple[str, Key, int], int] = {}
        self._series_of = array("q")
        self._times = array("d")
        self._yearless = array("b")
        self._values = array("d")
        self._totals: defaultdict[tuple[str, Key], float] = defaultdict(float)
        self._settings: list[Setting] = []
        self._setting_stamps: list[Stamp | None] = []
        self._current: dict[tuple[str, Key], str] = {}
        self._drafts: list[_Draft] = []
        self._drafts_of_kind: Counter[str] = Counter()
        self._processes: dict[int, _Process] = {}
        # Apart: the rank that prints batches need not be the first that prints while starting.
        self._ranks: dict[Key, int] = {}
        self._setting_ranks: dict[Key, int] = {}
        self._counted: dict[tuple[str, Key, Key], tuple[int, _Draft]] = {}

    # What readers of engines call.

    def sample(self, name: str, value: float, body: Body) -> None:
        """Keep one value of a series."""
        self.samples(((name, value),), body)

    def samples(self, values: Iterable[tuple[str, float]], body: Body) -> None:
        """Keep the values that one line holds."""
        identity, rank, stamp = _identity(body), body.rank, body.stamp
        seconds = stamp.seconds if stamp else np.nan
        yearless = bool(stamp and stamp.yearless)
        for name, value in values:
            key = (name, identity, rank)
            self._series_of.append(self._series.setdefault(key, len(self._series)))
            self._times.append(seconds)
            self._yearless.append(yearless)
            self._values.append(value)

    def totals(self, growth: dict[str, float], body: Body) -> None:
        """Add to running totals, by name, and keep where they stand now."""
        identity = _identity(body)
        for name, more in growth.items():
            self._totals[name, identity] += more
        self.samples([(name, self._totals[name, identity]) for name in growth], body)

    def observed(self, values: dict[str, float], body: Body) -> None:
        """Take one observation of each of some histograms, by name; sums and counts are kept, buckets are not."""
        self.totals({f"{name}_sum": value for name, value in values.items()}, body)
        self.totals({f"{name}_count": 1.0 for name in values}, body)

    def repeat(
        self,
        series: list[int],
        values: list[float],
        stamp: Stamp | None,
        stream: Labels,
        interval: Labels | None,
    ) -> None:
        """Take in what ``samples``, ``serving`` and the note of the interval do for a line like one before.

        Args:
            series: numbers of series that exist.
            values: one for each.
            stamp: the line's time.
            stream: the labels of the stream that the line is from, the shared object.
            interval: labels that the lines after it inherit, or None.
        """
        size = len(series)
        self._series_of.extend(series)
        self._values.extend(values)
        self._times.extend([stamp.seconds if stamp else np.nan] * size)
        self._yearless.extend([bool(stamp and stamp.yearless)] * size)
        process = self._processes.get(id(stream))
        if process is not None:
            process.last_stamp = stamp or process.last_stamp
            process.markers.clear()
            if interval is not None:
                process.notes["interval"] = (interval, stamp)

    def mark(self) -> int:
        """How many values there are so far."""
        return len(self._values)

    def rows_since(self, mark: int) -> list[tuple[int, float]]:
        """Series and value of everything kept since a mark."""
        return list(zip(self._series_of[mark:], self._values[mark:], strict=True))

    def series_key(self, number: int) -> tuple[str, Key, int]:
        """What a series is: name, labels, rank."""
        return list(self._series)[number]

    def last_stamp(self) -> Stamp | None:
        """The time of the newest value."""
        seconds = self._times[-1] if self._times else np.nan
        return None if np.isnan(seconds) else Stamp(seconds, bool(self._yearless[-1]))

    def interval_of(self, line: Line) -> Labels | None:
        """The labels that the lines after a statistics line of this stream inherit, or None."""
        process = self._processes.get(id(line.labels))
        noted = process.notes.get("interval") if process else None
        return dict(noted[0]) if isinstance(noted, tuple) else None

    def speaks_for(self, body: Body) -> bool:
        """Tell whether this is the lowest rank of its group so far; the others repeat what it prints."""
        return _is_lowest(self._ranks, body)

    def setting(self, name: str, value: str, where: str, body: Body) -> None:
        """Keep a setting unless it repeats what already holds for this replica."""
        identity = _identity(body)
        if not _is_lowest(self._setting_ranks, body):
            return
        if self._current.get((name, identity)) == value:
            return
        self._current[name, identity] = value
        self._settings.append(Setting(name, value, Provenance.CONFIGURED, where, dict(identity)))
        self._setting_stamps.append(body.stamp or self._process(body).last_stamp)

    def known(self, name: str, body: Body) -> str | None:
        """Return the value of a setting as it now holds."""
        return self._current.get((name, _identity(body)))

    def note(self, body: Body, name: str, value: object) -> None:
        """Remember something until the next start of the replica that this line is from."""
        self._process(body).notes[name] = value

    def noted(self, body: Body, name: str) -> object:
        """Return what was remembered, or None."""
        return self._process(body).notes.get(name)

    def event(self, kind: str, body: Body, fields: Labels | None = None) -> None:
        """Keep an event, once a start where the engine is known to repeat itself."""
        if kind not in EVENT_KINDS:
            raise ValueError(f"not in the vocabulary of events: {kind}")
        fields = fields or {}
        if kind in _ONCE:
            told = self._process(body).told
            mark = (kind, _key({**body.labels, **fields}))
            if mark in told:
                return
            told.add(mark)
        self._keep(self._draft(kind, body, fields))

    def started(self, marker: str, body: Body) -> None:
        """Note a line that only a starting process prints; one event a start, whatever it prints."""
        process = self._process(body)
        if marker in process.markers or not process.markers:
            self._flush_stages(process)
            process = _Process(last_stamp=process.last_stamp)
            self._processes[id(body.line.labels)] = process
            self.event("startup", body)
        process.markers.add(marker)

    def became_ready(self, body: Body) -> None:
        """Note that the server takes requests; several lines may say so."""
        process = self._process(body)
        self._flush_stages(process)
        if not process.ready:
            process.ready = True
            self.event("ready", body)

    def serving(self, body: Body) -> None:
        """Note a line that only a running server prints, so the next start-up line is a restart."""
        process = self._process(body)
        process.last_stamp = body.stamp or process.last_stamp
        process.markers.clear()

    def stage(self, stage: str, seconds: float, body: Body) -> None:
        """Note how long a stage of the start took: the slowest rank counts, and a total beats its parts."""
        stages = self._process(body).stages
        if stage not in stages or seconds > stages[stage][0]:
            fields = {"stage": stage, "seconds": f"{seconds:g}"}
            stages[stage] = (seconds, self._draft("stage", body, fields))

    def count(self, kind: str, what: Labels, body: Body) -> None:
        """Count lines that would be too many as events; one event with the count comes of them."""
        key = (kind, _key(what), _identity(body))
        known = self._counted.get(key)
        if known is None:
            self._counted[key] = (1, self._draft(kind, body, what))
        else:
            self._counted[key] = (known[0] + 1, known[1])

    # How it ends.

    def finish(self, capture: Capture) -> None:
        """Write everything into the capture."""
        for process in self._processes.values():
            self._flush_stages(process)
        for number, draft in self._counted.values():
            draft.fields = {**draft.fields, "count": str(number)}
            self._keep(draft)
        self._finish_samples(capture)
        self._finish_settings(capture)
        capture.events = self._finished_events()
        capture.engine_version = self.engine_version
        for kind, number in self._drafts_of_kind.items():
            if number > _MAX_EVENTS_A_KIND:
                self.warnings.append(
                    f"only the first {_MAX_EVENTS_A_KIND} of {number} {kind} events are kept"
                )
        capture.warnings = self.warnings
        capture.unused = dict(self.unused)
        capture.time_basis = self.clock.basis()

    def _finish_samples(self, capture: Capture) -> None:
        keys = list(self._series)
        engines = self._engines_of_replicas()
        series: dict[tuple[str, Key], int] = {}
        target = np.full(len(keys), -1, dtype=np.int64)
        for index, (name, labels, rank) in enumerate(keys):
            if rank != NO_RANK and self._ranks.get(labels) != rank:
                continue
            whole = _with_only_engine(labels, engines.get(_without_engine(labels), set()))
            target[index] = series.setdefault((name, whole), len(series))
        series_of = target[np.frombuffer(self._series_of, dtype=np.int64)] if keys else np.empty(0, np.int64)
        times = np.array(self._times, dtype=np.float64)
        dated = ~np.isnan(times)
        keep = series_of >= 0
        if dated.any() and not dated.all():
            self.warnings.append(f"{int((~dated).sum())} values on lines without a time are left out")
            keep &= dated
        times = self.clock.settle(times, np.array(self._yearless, dtype=np.bool_))
        capture.series = [Series(name, dict(labels)) for name, labels in series]
        capture.series_of = series_of[keep]
        capture.times = times[keep]
        capture.values = np.array(self._values, dtype=np.float64)[keep]

    def _engines_of_replicas(self) -> dict[Key, set[str]]:
        """Map labels without a rank to the ranks that occur beside them."""
        engines: dict[Key, set[str]] = {}
        for _, labels, _ in self._series:
            engine = dict(labels).get("engine")
            if engine is not None:
                engines.setdefault(_without_engine(labels), set()).add(engine)
        return engines

    def _finish_settings(self, capture: Capture) -> None:
        """Drop the rank from settings of replicas that turn out to have only one."""
        engines = self._engines_of_replicas()
        for setting in self._settings:
            if "engine" in setting.labels:
                replica = _without_engine(_key(setting.labels))
                engines.setdefault(replica, set()).add(setting.labels["engine"])
        for setting in self._settings:
            replica = _without_engine(_key(setting.labels))
            if "engine" in setting.labels and len(engines[replica]) == 1:
                setting.labels.pop("engine")
        moments = self._settled(self._setting_stamps)
        capture.settings = [
            replace(setting, time=moment) for setting, moment in zip(self._settings, moments, strict=True)
        ]

    def _finished_events(self) -> list[LogEvent]:
        drafts = [
            draft
            for draft in self._drafts
            if draft.kind != "retraction"
            or draft.rank == NO_RANK
            or self._ranks.get(_key(draft.labels)) == draft.rank
        ]
        moments = self._settled([draft.stamp for draft in drafts])
        return [
            LogEvent(draft.kind, moment, draft.text, draft.fields, draft.labels)
            for draft, moment in zip(drafts, moments, strict=True)
        ]

    def _settled(self, stamps: list[Stamp | None]) -> list[float | None]:
        """Unix seconds of stamps, once the year of all is known."""
        times = np.array([stamp.seconds if stamp else np.nan for stamp in stamps])
        yearless = np.array([bool(stamp and stamp.yearless) for stamp in stamps], dtype=np.bool_)
        settled = self.clock.settle(times, yearless) if stamps else times
        return [None if np.isnan(moment) else float(moment) for moment in settled]

    # Helpers.

    def _process(self, body: Body) -> _Process:
        # The labels of a stream are one shared object (see Peeler), so its identity is a cheap key.
        process = self._processes.get(id(body.line.labels))
        if process is None:
            process = self._processes[id(body.line.labels)] = _Process()
        return process

    def _draft(self, kind: str, body: Body, fields: Labels) -> _Draft:
        """Prepare an event; a line without a time has that of the last dated one of its stream."""
        process = self._process(body)
        process.last_stamp = body.stamp or process.last_stamp
        text = body.text.strip()[:_MAX_TEXT]
        return _Draft(kind, process.last_stamp, text, fields, dict(_identity(body)), body.rank)

    def _keep(self, draft: _Draft) -> None:
        self._drafts_of_kind[draft.kind] += 1
        if self._drafts_of_kind[draft.kind] <= _MAX_EVENTS_A_KIND:
            self._drafts.append(draft)

    def _flush_stages(self, process: _Process) -> None:
        for _, draft in process.stages.values():
            self._keep(draft)
        process.stages.clear()


def _key(labels: Labels) -> Key:
    return tuple(sorted(labels.items()))


def _identity(body: Body) -> Key:
    return _key({**body.line.labels, **body.labels})


def _is_lowest(ranks: dict[Key, int], body: Body) -> bool:
    if body.rank == NO_RANK:
        return True
    lowest = ranks.setdefault(_identity(body), body.rank)
    if body.rank < lowest:
        ranks[_identity(body)] = lowest = body.rank
    return body.rank == lowest


def _without_engine(labels: Key) -> Key:
    return tuple(pair for pair in labels if pair[0] not in {"engine", "position"})


def _with_only_engine(labels: Key, engines: set[str]) -> Key:
    """Give a line without a rank the only rank that its replica has."""
    if len(engines) == 1 and not any(name == "engine" for name, _ in labels):
        return tuple(sorted((*labels, ("engine", next(iter(engines))))))
    return labels
