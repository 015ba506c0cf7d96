"""Captures cut by time: the same series with the samples, settings and events of one stretch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from diagnostics.engines import registry
from diagnostics.model.catalog import Kind
from diagnostics.model.errors import OptionError
from diagnostics.model.moments import moment, written
from diagnostics.model.samples import Capture, Setting
from diagnostics.signals.identity import Identities
from diagnostics.sources.exposition import info_settings

Span = tuple[float, float]
_FOREVER = float("inf")
_GROWING = (Kind.COUNTER, Kind.HISTOGRAM)
_FROM_LABELS = "labels of "


class Material(Struct):
    """What a diagnosis is made from: captures with a time at every sample, whether these are true, who is who."""

    captures: list[Capture]
    timed: list[bool]
    identities: Identities

    def between(self, span: Span) -> Material:
        """The same, of one stretch of time only."""
        cut = [within(c, span, timed=t) for c, t in zip(self.captures, self.timed, strict=True)]
        return Material(cut, self.timed, seen_in(self.identities, self.captures, cut))

    @property
    def has_more_than_runs(self) -> bool:
        """Whether there is anything beside benchmark results."""
        return any(c.series or c.settings or c.events for c in self.captures)


class Pair(Struct, frozen=True):
    """Both sides of a comparison.

    Attributes:
        before, after: the earlier side, or the baseline, and the later one.
        asked: the question, as the user put it.
        same_servers: whether both are the same processes at two times, so that a restart between can be seen.
    """

    before: Material
    after: Material
    asked: str
    same_servers: bool


def window_of(text: str) -> Span | None:
    """A window written ``FROM..TO`` as Unix seconds; None for what is a path or an address.

    Raises:
        OptionError: the window is empty, or neither a window nor there.
    """
    if Path(text).exists() or text.startswith(("http://", "https://")):
        return None
    first, dots, last = text.partition("..")
    if not (first and dots and last):
        raise OptionError(f"--baseline {text}: no such file or folder, and no window FROM..TO")
    try:
        span = moment(first), moment(last)
    except OptionError as error:
        raise OptionError(
            f"--baseline {text}: no such file or folder, and no window FROM..TO: {error}"
        ) from error
    if span[1] <= span[0]:
        raise OptionError(f"--baseline {text}: FROM must lie before TO")
    return span


def around(change: float, data: Material) -> tuple[Material, Material]:
    """Before and after a moment.

    Raises:
        OptionError: the moment does not lie inside the data, or the data has no times.
    """
    first, last = _extent(data, "--after")
    if not first < change <= last:
        raise OptionError(
            f"--after {written(change)}: not inside the data, which goes from {written(first)} to {written(last)};"
            " give a time between"
        )
    return data.between((-_FOREVER, change)), data.between((change, _FOREVER))


def inside(window: Span, data: Material) -> Material:
    """What there is of a baseline window.

    Raises:
        OptionError: the window lies outside the data, or the data has no times.
    """
    first, last = _extent(data, "--baseline")
    if window[1] <= first or window[0] > last:
        raise OptionError(
            f"{_named(window)}: no data there; the data goes from {written(first)} to {written(last)}, give a window"
            " inside"
        )
    return data.between(window)


def beside(window: Span, asked: Span | None, data: Material) -> Material:
    """What a baseline window is compared with: what was asked for, else what follows it, else what precedes it.

    Raises:
        OptionError: nothing lies outside the window.
    """
    first, last = _extent(data, "--baseline")
    if asked is not None:
        return data.between(asked)
    if window[1] <= first or window[0] > last:
        return data
    if window[1] < last:
        return data.between((window[1], _FOREVER))
    if window[0] > first:
        return data.between((-_FOREVER, window[0]))
    raise OptionError(
        f"{_named(window)}: covers all of the data; give a shorter one, so that something is left"
    )


def _named(window: Span) -> str:
    return f"--baseline {written(window[0])}..{written(window[1])}"


def _extent(data: Material, option: str) -> Span:
    """First and last moment of the samples that have true times."""
    pairs = zip(data.captures, data.timed, strict=True)
    times = [c.times for c, timed in pairs if timed and c.times is not None and len(c.times)]
    if not times:
        raise OptionError(
            f"{option}: the inputs carry no times; give a metrics API, or dumps with --interval between them"
        )
    return min(float(np.nanmin(t)) for t in times), max(float(np.nanmax(t)) for t in times)


def within(capture: Capture, span: Span, *, timed: bool) -> Capture:
    """What a capture holds of a stretch of time.

    The series keep their numbers. A counter keeps its last sample before the stretch too, so that its growth up to
    the first sample inside is known; a gauge of before says nothing of the stretch.

    Args:
        capture: in whatever order its samples came.
        span: Unix seconds.
        timed: whether the times are true; what has no time belongs to no stretch.
    """
    cut = replace(
        capture,
        events=[e for e in capture.events if e.time is None or span[0] <= e.time < span[1]],
        runs=[r for r in capture.runs if r.started_at is None or span[0] <= r.started_at < span[1]],
    )
    if capture.series_of is not None and capture.times is not None and capture.values is not None:
        keep = _kept(capture, span) if timed else np.zeros(len(capture.times), dtype=bool)
        cut.series_of, cut.times, cut.values = (
            capture.series_of[keep], capture.times[keep], capture.values[keep],
        )  # fmt: skip
    cut.settings = _settings(cut, span[1])
    cut.engine_version = next(
        (s.value for s in reversed(cut.settings) if s.name == "engine_version"), capture.engine_version
    )
    return cut


def _kept(capture: Capture, span: Span) -> NDArray[np.bool_]:
    assert capture.series_of is not None  # noqa: S101  arrays come together, and the caller has them
    assert capture.times is not None  # noqa: S101
    keep = (capture.times >= span[0]) & (capture.times < span[1])
    counts = np.zeros(len(capture.series), dtype=bool)
    for i in np.unique(capture.series_of[keep]):
        counts[i] = _grows(capture.series[i].name)
    before = np.flatnonzero((capture.times < span[0]) & counts[capture.series_of])
    if len(before):
        order = before[np.lexsort((capture.times[before], capture.series_of[before]))]
        numbers = capture.series_of[order]
        keep[order[np.append(numbers[1:] != numbers[:-1], True)]] = True
    return keep


def _grows(name: str) -> bool:
    return any(metric.kind in _GROWING for _, metric, _ in registry.meanings(name))


def _settings(cut: Capture, end: float) -> list[Setting]:
    """Settings as they held at the end of the stretch; those of labels come from series that are seen in it."""
    latest: dict[tuple[str, str, str], Setting] = {}
    for setting in cut.settings:
        if setting.where.startswith(_FROM_LABELS) or (setting.time is not None and setting.time >= end):
            continue
        latest[setting.name, repr(sorted(setting.labels.items())), setting.where] = setting
    seen = set(np.unique(cut.series_of).tolist()) if cut.series_of is not None else set()
    return [*latest.values(), *(s for i in seen for s in info_settings(cut.series[i]))]


def seen_in(identities: Identities, whole: Sequence[Capture], cut: Sequence[Capture]) -> Identities:
    """Who is there in a stretch: an entity that has samples, but none of them in it, is not.

    Args:
        identities: of the whole.
        whole: the captures before they were cut.
        cut: the same captures, cut.
    """
    gone = _owners(identities, whole) - _owners(identities, cut)
    kept = [e for e in identities.entities if e.number not in gone]
    number = {e.number: i for i, e in enumerate(kept)}
    return replace(
        identities,
        entities=[replace(e, number=number[e.number]) for e in kept],
        of_series=[
            [tuple(number[e] for e in owners if e in number) for owners in of] for of in identities.of_series
        ],
    )


def _owners(identities: Identities, captures: Sequence[Capture]) -> set[int]:
    return {
        entity
        for of, capture in zip(identities.of_series, captures, strict=True)
        if capture.series_of is not None
        for i in np.unique(capture.series_of).tolist()
        for entity in of[i]
    }
