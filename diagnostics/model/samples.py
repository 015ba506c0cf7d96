"""What sources hand to the store: captures of one input, in native names and original units."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from diagnostics.model.bench import BenchRun


class Resolution(IntEnum):
    """How finely a carrier shows time; a higher value can answer everything a lower one can."""

    SNAPSHOT = 1
    PAIR = 2
    RANGE = 3


class Provenance(StrEnum):
    """Where a number comes from. These words are public: they appear in every report."""

    MEASURED = "measured"
    CONFIGURED = "configured"
    INFERRED = "inferred"
    LIFETIME = "lifetime"
    ASSUMED = "assumed"


class InputKind(StrEnum):
    """The kinds of carriers that are told apart from their content."""

    PROMETHEUS = "prometheus"
    EXPOSITION = "exposition"
    OPENMETRICS = "openmetrics"
    LOG = "log"
    BENCH = "bench"
    CONFIG = "config"
    TELEMETRY = "telemetry"
    QUALITY = "quality"
    PASTE = "paste"
    UNKNOWN = "unknown"


class Series(Struct, frozen=True):
    """One time series under its native name.

    Log lines become series too: the name is then ``<engine>:log:<field>``, for example
    ``vllm:log:running``, and the labels hold what the line's prefix said (``engine``, ``pod``, ...).

    Attributes:
        name: as it was on the wire.
        labels: without ``le``. Series that differ only in their bucket share one dictionary: never change it.
        le: upper edge of a histogram bucket, or None.
    """

    name: str
    labels: dict[str, str]
    le: float | None = None


class Setting(Struct, frozen=True):
    """One engine setting and where it was learnt.

    Attributes:
        name: the engine's own option in snake case without dashes, for example ``max_num_seqs``.
        value: text as written (``64``, ``True``, ``fp8``).
        provenance: ``configured`` for flags, logs and metrics labels; ``assumed`` for remarks.
        where: words for a person, for example ``launch command`` or ``start-up line 'non-default args'``.
        labels: identity labels (``pod``, ``instance``, ``engine``) when the setting belongs to one replica.
        time: Unix seconds at which a log said it; None for what says no time.
    """

    name: str
    value: str
    provenance: Provenance
    where: str
    labels: dict[str, str] = field(default_factory=dict)
    time: float | None = None


class LogEvent(Struct, frozen=True):
    """One notable log line that is not a sample: a start, a preemption, an error, a warning.

    Attributes:
        kind: a closed vocabulary, one word a kind, for example ``startup``, ``ready``, ``preemption``,
            ``out-of-memory``, ``kv-refused``, ``tp-indivisible``, ``no-native-fp8``, ``pcie-allreduce-disabled``.
        time: Unix seconds, or None when the line has no usable time.
        text: the message as printed, prefix removed, at most 500 characters. Hostile text.
        fields: numbers and words taken from the line, as text.
        labels: identity labels from the line's prefix.
    """

    kind: str
    time: float | None
    text: str
    fields: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)


class Capture(Struct):
    """Everything that one input holds.

    Samples are three parallel arrays: ``series_of`` (index into ``series``), ``times`` (Unix seconds,
    or NaN where the carrier has no time) and ``values``. Their order is the order of the carrier.
    """

    source: str
    kind: InputKind
    series: list[Series] = field(default_factory=list)
    series_of: NDArray[np.int64] | None = None
    times: NDArray[np.float64] | None = None
    values: NDArray[np.float64] | None = None
    settings: list[Setting] = field(default_factory=list)
    events: list[LogEvent] = field(default_factory=list)
    runs: list[BenchRun] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    engine: str | None = None
    engine_version: str | None = None
    recognised: str = ""
    unused: dict[str, int] = field(default_factory=dict)
    time_basis: str = "sample times"
    suffix: str = ""
