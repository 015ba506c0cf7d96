"""What a file of engine facts must say."""

from __future__ import annotations

from msgspec import Struct, field

from diagnostics.model.catalog import Kind

# How an engine is marked whose names nobody here has seen in use.
FROM_SOURCE = "from its source, not yet seen in a recording"


class Metric(Struct, frozen=True):
    """One native metric and the canonical signal it carries.

    Attributes:
        native: name on the wire, without histogram suffixes; counters with their ``_total``.
        signal: canonical signal.
        kind: counter, gauge, rate (a gauge of events per second) or histogram.
        scale: multiply native values by this to reach the canonical unit.
        where: only series whose label has one of these values; an empty tuple keeps all.
        key: label whose value splits the signal (a draft position, for example).
        preference: of several names for one signal on one replica, the lowest is used (old and new
            names stand side by side during a rolling upgrade).
    """

    native: str
    signal: str
    kind: Kind
    scale: float = 1.0
    where: tuple[str, tuple[str, ...]] | None = None
    key: str | None = None
    preference: int = 0


class InfoMetric(Struct, frozen=True):
    """A metric whose labels are settings.

    ``settings`` maps a label to the setting it means.
    """

    native: str
    settings: dict[str, str]


class Engine(Struct, frozen=True):
    """The facts of one serving engine.

    Attributes:
        name: the word used in reports.
        title: the name as its makers write it.
        prefixes: how its metric names begin.
        metrics: every native metric that carries a canonical signal.
        infos: metrics whose labels are settings.
        not_exported: canonical signals that this engine never publishes, with where to look instead.
        never_preempts: it reserves at admission, so running work is never thrown away.
        options: setting names as this engine spells them, by canonical meaning.
        at_finish: signals whose counters move only when a request finishes, so that a flat one is no stall.
        serves: whether it is a serving engine; an exporter beside one is none.
        recorded: whether its names were seen in recordings of the engine; else they are known from its source only.
        devices: whether it tells of GPUs, whoever uses them.
    """

    name: str
    title: str
    prefixes: tuple[str, ...]
    metrics: tuple[Metric, ...]
    infos: tuple[InfoMetric, ...] = ()
    not_exported: dict[str, str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    never_preempts: bool = False
    at_finish: frozenset[str] = frozenset()
    serves: bool = True
    recorded: bool = False
    devices: bool = False
