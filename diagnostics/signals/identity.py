"""Who is who: (deployment, replica, rank) of every series, across carriers.

A replica is recognised, in this order, by a label that names it (pod, instance, ...), by the suffix of its file
(``.r1``), by the moment its process started, and, for a log that says nothing, by the course of its throughput.
Digits elsewhere in a name never decide.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

from diagnostics.engines import registry
from diagnostics.model.samples import Capture, InputKind
from diagnostics.signals import telemetry
from diagnostics.signals.telemetry import POD_LABELS, Gpus

REPLICA_LABELS = (*POD_LABELS, "instance", "service", "host", "hostname")
RANK_LABELS = ("engine", "dp_rank")
MODEL_SETTINGS = ("served_model_name", "model", "model_path")
MODEL_LABELS = ("model_name", "model")
# Every TP or PP rank of SGLang can repeat the values of rank 0.
_REPEATED_LABELS = ("tp_rank", "pp_rank")
# Two processes that start within a hundredth of a second of each other are taken for one.
_START_DECIMALS = 2
_RANK = re.compile(r"[0-9]{1,9}")
# Best correlation below which a log is not taken for the replica with that throughput.
_ALIGNED = 0.6
_HALF_HOUR = 1800.0
_CUT_OFF_SECONDS = 0.5
# Points that two courses must share to be compared.
MIN_ALIGNED = 4

Array = NDArray[np.float64]
# (replica, model, rank) -> number of the entity.
Seats = dict[tuple[int, str, str | None], int]


class Replica(Struct):
    """One server process as far as the carriers tell.

    Attributes:
        name: as the richest carrier names it.
        origin: what told it apart: a label, ``file suffix``, or ``the only one``.
        attributed: false when nothing tells it from other replicas; no fleet rule runs on it then.
        ranks: the data-parallel ranks seen of each model.
    """

    name: str
    origin: str
    attributed: bool = True
    models: Counter[str] = field(default_factory=Counter)
    job: str = ""
    namespace: str = ""
    engine: str | None = None
    ranks: dict[str, set[str]] = field(default_factory=dict)
    has_engine_series: bool = False
    is_router: bool = False


class Entity(Struct, frozen=True):
    """What is diagnosed: one scheduler, that is a replica, or one data-parallel rank of it.

    Attributes:
        named_by: the label that the replica's name is from, ``file suffix`` or ``the only one``.
    """

    number: int
    deployment: str
    model: str
    replica: str
    rank: str | None
    engine: str
    attributed: bool
    named_by: str = "the only one"

    @property
    def label(self) -> str:
        """The replica, with its rank where it has several."""
        return self.replica if self.rank is None else f"{self.replica} rank {self.rank}"


class Local(Struct):
    """One replica as one capture sees it."""

    capture: int
    key: str
    origin: str
    starts: set[float] = field(default_factory=set)
    suffix: str = ""


class Identities(Struct):
    """The outcome: entities, and for each capture the entities of each of its series.

    Attributes:
        entities: what is diagnosed.
        of_series: for each capture the numbers of the entities of each of its series.
        shifts: seconds by which the clock of a log is moved, by capture.
        replica_of_local: the name of the replica that (capture, key) is.
        apart: for each capture the places of GPU series that belong to no replica for certain.
    """

    entities: list[Entity]
    of_series: list[list[tuple[int, ...]]]
    shifts: dict[int, float]
    replica_of_local: dict[tuple[int, str], str]
    apart: dict[int, list[str]] = field(default_factory=dict)


def replica_key(labels: dict[str, str]) -> tuple[str, str]:
    """The label that names a replica, as (value, label name); empty strings when none does.

    Pods of one name in two namespaces are two, so the namespace stands before the name where it is known.
    """
    for name in REPLICA_LABELS:
        if labels.get(name):
            space = labels.get("namespace", "")
            return (f"{space}/{labels[name]}" if space else labels[name]), name
    return "", ""


def _rank(labels: dict[str, str]) -> str | None:
    for name in RANK_LABELS:
        value = labels.get(name)
        if value is not None and _RANK.fullmatch(value):
            return value
    return None


def is_repetition(labels: dict[str, str]) -> bool:
    """Whether a series repeats what rank 0 of its tensor- or pipeline-parallel group says."""
    return any(labels.get(name, "0") not in ("0", "") for name in _REPEATED_LABELS) or bool(
        labels.get("priority")
    )


class _Union:
    """Union-find over small integers."""

    def __init__(self, size: int) -> None:
        self.parent = list(range(size))

    def root(self, i: int) -> int:
        while self.parent[i] != i:
            self.parent[i] = self.parent[self.parent[i]]
            i = self.parent[i]
        return i

    def join(self, a: int, b: int) -> None:
        self.parent[max(self.root(a), self.root(b))] = min(self.root(a), self.root(b))


def _locals(captures: list[Capture], gpus_apart: bool) -> list[Local]:
    """Every (capture, replica label) pair, with when its processes started; that of GPUs only where nothing serves."""
    found: dict[tuple[int, str], Local] = {}
    for number, capture in enumerate(captures):
        seen: set[int] = set()
        for index, series in enumerate(capture.series):
            if gpus_apart and registry.is_of_gpu(series.name):
                continue
            is_start = series.name == "process_start_time_seconds"
            if id(series.labels) in seen and not is_start:
                continue
            seen.add(id(series.labels))
            key, origin = replica_key(series.labels)
            local = found.setdefault((number, key), Local(number, key, origin, suffix=capture.suffix))
            if is_start:
                local.starts |= _values_of(capture, index)
        if not capture.series and (capture.settings or capture.events or capture.runs):
            told = [*(s.labels for s in capture.settings), *(e.labels for e in capture.events)]
            key, origin = next((k for labels in told if (k := replica_key(labels))[0]), ("", ""))
            found.setdefault((number, key), Local(number, key, origin, suffix=capture.suffix))
    return list(found.values())


def _values_of(capture: Capture, index: int) -> set[float]:
    if capture.series_of is None or capture.values is None:
        return set()
    return {
        round(float(v), _START_DECIMALS) for v in set(capture.values[capture.series_of == index].tolist())
    }


def _activity(capture: Capture, key: str) -> tuple[Array, Array] | None:
    """Times and generated tokens of one replica in one capture: a running total, or a log's printed rates."""
    names = ("generation_throughput", "generation_tokens_total")
    if capture.series_of is None or capture.times is None or capture.values is None:
        return None
    for index, series in enumerate(capture.series):
        if series.name.endswith(names) and replica_key(series.labels)[0] == key:
            mask = capture.series_of == index
            times, values = capture.times[mask], capture.values[mask]
            if len(times) < MIN_ALIGNED or np.isnan(times).any():
                return None
            if series.name.endswith("_total"):
                growth = np.diff(values, prepend=values[0])
                values = np.cumsum(np.where(growth < 0, values, growth))
            return times, values
    return None


def alignment(log: tuple[Array, Array] | None, metrics: tuple[Array, Array] | None) -> tuple[float, float]:
    """How well a log's throughput follows a metric's, and the seconds to add to the log's clock.

    Zones differ by multiples of half an hour, so only such shifts are tried. A log prints whole seconds, cut off, so
    its lines are taken to lie half a second later.

    Args:
        log: times and printed tokens per second.
        metrics: times and a running total of tokens.

    Returns:
        (correlation, shift); (-1, 0) when they cannot be compared.
    """
    if log is None or metrics is None:
        return -1.0, 0.0
    (lt, rates), (mt, total) = log, metrics
    spacing = np.diff(lt, prepend=lt[0] - float(np.median(np.diff(lt))))
    middle = (mt[0] + mt[-1] - lt[0] - lt[-1]) / 2
    best = (-1.0, 0.0)
    for shift in {0.0, round(middle / _HALF_HOUR) * _HALF_HOUR}:
        ends = lt + shift + _CUT_OFF_SECONDS
        inside = (ends - spacing >= mt[0]) & (ends <= mt[-1]) & (spacing > 0)
        if inside.sum() < MIN_ALIGNED:
            continue
        grown = np.interp(ends[inside], mt, total) - np.interp(ends[inside] - spacing[inside], mt, total)
        best = max(best, (_correlation(rates[inside], grown / spacing[inside]), shift))
    return best


def _correlation(a: Array, b: Array) -> float:
    if np.std(a) == 0 or np.std(b) == 0:
        return 0.0
    return float(np.corrcoef(a, b)[0, 1])


def resolve(captures: list[Capture]) -> Identities:
    """Find the replicas of all captures and name the entity of every series."""
    sample_names = {series.name for capture in captures for series in capture.series}
    gpus_apart = any(map(_engine_of, sample_names)) and any(map(registry.is_of_gpu, sample_names))
    places = _locals(captures, gpus_apart)
    union = _Union(len(places))
    _join_by_keys(places, union)
    shifts = _join_logs(captures, places, union)
    _join_anonymous(captures, places, union)
    replicas: dict[int, Replica] = {}
    roots = {(p.capture, p.key): union.root(i) for i, p in enumerate(places)}
    for i, place in enumerate(places):
        _describe(replicas, union.root(i), place, captures)
    _gather(captures, roots, replicas)
    gpus = Gpus()
    if gpus_apart:
        gpus = telemetry.seat(captures, lambda number, labels: roots[(number, replica_key(labels)[0])])
    _mark_unattributed(captures, places, union, replicas)
    entities, numbers = _entities(captures, replicas)
    of_series = [
        _of_capture(capture, roots, numbers, number, gpus) for number, capture in enumerate(captures)
    ]
    names = {place: replicas[root].name for place, root in roots.items()}
    names |= {(number, place): f"GPUs of {place}" for number, place in gpus.places}
    return Identities(entities, of_series, shifts, names, gpus.apart())


def _join_by_keys(places: list[Local], union: _Union) -> None:
    """Join by equal label, equal process start, equal file suffix; never two of one capture."""
    for i, a in enumerate(places):
        for j in range(i):
            b = places[j]
            if a.capture == b.capture:
                continue
            same_suffix = bool(a.suffix) and a.suffix == b.suffix
            other_suffix = a.suffix and b.suffix and a.suffix != b.suffix
            if _same_name(a.key, b.key) or same_suffix or (a.starts & b.starts and not other_suffix):
                union.join(i, j)


def _same_name(a: str, b: str) -> bool:
    """Whether two keys name one replica; a carrier that knows no namespace may leave it out."""
    if not a or not b:
        return False
    return a == b or (("/" in a) != ("/" in b) and a.rpartition("/")[2] == b.rpartition("/")[2])


def _join_logs(captures: list[Capture], places: list[Local], union: _Union) -> dict[int, float]:
    """Give each log that names no replica the one whose throughput it follows; returns clock shifts by capture.

    The best pairs are joined first, and a replica takes one log only.
    """
    shifts: dict[int, float] = {}
    logs = [
        i
        for i, p in enumerate(places)
        if captures[p.capture].kind is InputKind.LOG and captures[p.capture].series
    ]
    metrics = [i for i, p in enumerate(places) if captures[p.capture].kind is not InputKind.LOG]
    scored = []
    for i in logs:
        log = _activity(captures[places[i].capture], places[i].key)
        for j in metrics:
            score, shift = alignment(log, _activity(captures[places[j].capture], places[j].key))
            scored.append((score, shift, i, j))
    taken: dict[int, int] = {}
    for score, shift, i, j in sorted(scored, key=lambda s: -s[0]):
        known = union.root(i) == union.root(j)
        free = places[i].capture not in shifts and taken.get(union.root(j), i) == i and not places[i].key
        if score >= _ALIGNED and (known or free):
            shifts.setdefault(places[i].capture, shift)
            union.join(i, j)
            taken[union.root(j)] = i
    roots = {union.root(j) for j in metrics if captures[places[j].capture].series}
    for i in logs:
        alone = len(roots) == 1 and _only_log(captures, places, i) and not places[i].key
        if places[i].capture not in shifts and alone and union.root(i) not in roots:
            union.join(i, next(j for j in metrics if union.root(j) in roots))
    return shifts


def _only_log(captures: list[Capture], places: list[Local], i: int) -> bool:
    logs = [j for j, p in enumerate(places) if captures[p.capture].kind is InputKind.LOG]
    return logs == [i]


def _join_anonymous(captures: list[Capture], places: list[Local], union: _Union) -> None:
    """Carriers with neither label, suffix nor start time belong together, and to the only replica there is."""
    bare = [i for i, p in enumerate(places) if not p.key and not p.suffix and not p.starts]
    named = {
        union.root(i) for i in range(len(places)) if i not in bare and captures[places[i].capture].series
    }
    # A carrier without samples (a launch command) speaks for whatever is there.
    target = min(named) if len(named) == 1 else None
    for i in bare:
        if captures[places[i].capture].kind is InputKind.LOG and captures[places[i].capture].series and named:
            continue
        if target is not None:
            union.join(i, target)
        elif bare and not named:
            union.join(i, bare[0])


def _describe(replicas: dict[int, Replica], root: int, place: Local, captures: list[Capture]) -> None:
    name, origin = place.key, place.origin
    if not name and place.suffix:
        name, origin = place.suffix, "file suffix"
    found = replicas.get(root)
    if found is None:
        replicas[root] = Replica(name or "replica", origin or "the only one")
    elif name and REPLICA_ORDER.index(_order(origin)) < REPLICA_ORDER.index(_order(found.origin)):
        found.name, found.origin = name, origin


REPLICA_ORDER = (*REPLICA_LABELS, "file suffix", "the only one")


def _order(origin: str) -> str:
    return origin if origin in REPLICA_ORDER else "the only one"


def _gather(captures: list[Capture], roots: dict[tuple[int, str], int], replicas: dict[int, Replica]) -> None:
    """Collect what the series say of each replica: model, job, ranks, engine."""
    for number, capture in enumerate(captures):
        seen: set[tuple[int, str]] = set()
        for series in capture.series:
            labels = series.labels
            engine = _engine_of(series.name)
            root = roots.get((number, replica_key(labels)[0]))
            if root is None or (id(labels), engine) in seen:
                continue  # without a root: of a GPU, which is seated later
            seen.add((id(labels), engine))
            replica = replicas[root]
            replica.job = replica.job or labels.get("job", "")
            replica.namespace = replica.namespace or labels.get("namespace", "")
            if not engine:
                continue
            if registry.is_of_router(series.name, labels):
                replica.is_router = True
                continue
            replica.has_engine_series = True
            replica.engine = replica.engine or engine
            model, rank = _model_label(labels), _rank(labels)
            if model:
                replica.models[model] += 1
            if rank is not None:
                replica.ranks.setdefault(model, set()).add(rank)


@cache
def _engine_of(name: str) -> str:
    """The engine that a series belongs to; empty for what every exporter has."""
    return registry.engine_of(name) or ""


def _mark_unattributed(
    captures: list[Capture], places: list[Local], union: _Union, replicas: dict[int, Replica]
) -> None:
    """Dumps that only differ in when their process started may be replicas, or one replica before and after."""
    unnamed = {
        union.root(i)
        for i, p in enumerate(places)
        if not p.key and not p.suffix and captures[p.capture].kind is InputKind.EXPOSITION
    }
    unnamed = {root for root in unnamed if replicas[root].origin == "the only one"}
    if len(unnamed) > 1:
        for number, root in enumerate(sorted(unnamed), start=1):
            replicas[root].attributed = False
            replicas[root].name = f"replica {number}"


def _entities(captures: list[Capture], replicas: dict[int, Replica]) -> tuple[list[Entity], Seats]:
    """Entities of the replicas that run an engine, and of targets of the same job that never answered."""
    jobs = {r.job for r in replicas.values() if r.has_engine_series}
    fallback = _model_in_settings(captures)
    named = [r for r in replicas.values() if r.models]
    common = named[0].models.most_common(1)[0][0] if named else fallback or "model"
    engine = next((r.engine for r in replicas.values() if r.engine), None) or _engine(captures)
    entities: list[Entity] = []
    numbers: Seats = {}
    models = {
        (r.namespace, r.job, model)
        for r in replicas.values()
        if r.has_engine_series
        for model in r.models or [common]
    }
    for root, replica in replicas.items():
        # Beside engines only a target of the same job counts that never answered; facts alone stand for a server
        # when nothing else does.
        silent = not replica.has_engine_series and jobs
        if silent and (not replica.job or replica.job not in jobs or replica.is_router):
            continue
        for model, rank in _seats(replica, common):
            numbers[(root, model, rank)] = len(entities)
            entities.append(
                Entity(len(entities), _deployment_name(model, replica, models), model, replica.name, rank,
                       replica.engine or engine, replica.attributed, replica.origin)
            )  # fmt: skip
    return entities, numbers


def _seats(replica: Replica, common: str) -> list[tuple[str, str | None]]:
    """(model, rank) of each scheduler of a replica; the rank is None where there is only one."""
    seats: list[tuple[str, str | None]] = []
    for model in sorted(replica.models) or [common]:
        ranks = replica.ranks.get(model, set()) | (
            replica.ranks.get("", set()) if len(replica.models) < 2 else set()
        )
        if len(ranks) < 2:
            seats.append((model, None))
        else:
            seats.extend((model, rank) for rank in sorted(ranks, key=int))
    return seats


def _model_label(labels: dict[str, str]) -> str:
    return next((labels[name] for name in MODEL_LABELS if labels.get(name)), "")


def _deployment_name(model: str, replica: Replica, models: set[tuple[str, str, str]]) -> str:
    """The model; with namespace and job where one model is served by several."""
    short = model.rstrip("/").rsplit("/", 1)[-1] or model
    same = [key for key in models if key[2] == model and (key[0] or key[1])]
    if len(same) < 2 or not (replica.namespace or replica.job):
        return short
    return "/".join(part for part in (replica.namespace, replica.job, short) if part)


def _model_in_settings(captures: list[Capture]) -> str:
    for name in MODEL_SETTINGS:
        for capture in captures:
            for setting in capture.settings:
                if setting.name == name and setting.value:
                    return setting.value
    return ""


def _engine(captures: list[Capture]) -> str:
    return next((c.engine for c in captures if c.engine), "unknown")


def _of_capture(
    capture: Capture, roots: dict[tuple[int, str], int], numbers: Seats, number: int, gpus: Gpus
) -> list[tuple[int, ...]]:
    """Entities of each series of a capture; looked up once for all series that share their labels."""
    by_root: dict[int, Seats] = {}
    for (root, model, rank), entity in numbers.items():
        by_root.setdefault(root, {})[(root, model, rank)] = entity
    known: dict[int, tuple[int, ...]] = {}
    found: list[tuple[int, ...]] = []
    for series in capture.series:
        labels = series.labels
        if (number, id(labels)) in gpus.seats and registry.is_of_gpu(series.name):
            seats = by_root.get(gpus.seats[(number, id(labels))], {})
            found.append(tuple(seats.values()))
        elif registry.is_of_router(series.name, labels):
            found.append(())
        else:
            if id(labels) not in known:
                known[id(labels)] = _of(labels, by_root.get(roots[(number, replica_key(labels)[0])], {}))
            found.append(known[id(labels)])
    return found


def _of(labels: dict[str, str], seats: Seats) -> tuple[int, ...]:
    """Entities of one replica that a series with these labels speaks of; several when it is of the whole process."""
    if is_repetition(labels):
        return ()
    mine = [(model, rank, number) for (_, model, rank), number in seats.items()]
    model, rank = _model_label(labels), _rank(labels)
    if len({m for m, _, _ in mine}) > 1 and model:
        mine = [seat for seat in mine if seat[0] == model]
    if len(mine) > 1 and rank is not None:
        mine = [seat for seat in mine if seat[1] is None or seat[1] == rank]
    return tuple(number for _, _, number in mine)
