"""From inputs to material: every input is read into a capture, gets its times, and is known by replica."""

from __future__ import annotations

import zoneinfo
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct, field

from diagnostics.engines import registry
from diagnostics.engines.base import FROM_SOURCE
from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.report import InputSummary
from diagnostics.model.samples import Capture, InputKind
from diagnostics.options import Options
from diagnostics.signals import identity, timebase
from diagnostics.signals.settings import conflicts
from diagnostics.sources.content import Content
from diagnostics.sources.merge import merge
from diagnostics.sources.recognise import ReadOptions, files_of, read_content

_SHOWN_PLACES = 5


class Loaded(Struct):
    """Captures of all inputs, and what became of the inputs that could not be read."""

    captures: list[Capture] = field(default_factory=list)
    modified: list[float | None] = field(default_factory=list)
    failed: list[InputSummary] = field(default_factory=list)

    def add(self, content: Content, options: ReadOptions) -> None:
        """Read one input; a bad one is noted and the rest goes on."""
        try:
            self.captures.append(read_content(content, options))
            self.modified.append(content.modified)
        except InputError as error:
            self.failed.append(
                InputSummary(content.source, InputKind.UNKNOWN, None, None, 0, 0, "not read", (str(error),))
            )


class Material(Struct):
    """What a diagnosis is made from: captures with a time at every sample, whether these are true, who is who."""

    captures: list[Capture]
    timed: list[bool]
    identities: identity.Identities

    @property
    def has_more_than_runs(self) -> bool:
        """Whether there is anything beside benchmark results."""
        return any(c.series or c.settings or c.events for c in self.captures)


def load(inputs: Sequence[str], options: Options, stdin: bytes | None = None) -> Loaded:
    """Read every input into captures."""
    loaded = Loaded()
    reading = ReadOptions(_zone(options.timezone))
    for source in inputs:
        if source == "-":
            loaded.add(Content("standard input", data=stdin or b""), reading)
        elif source.startswith(("http://", "https://")):
            _load_live(source, options, loaded)
        elif "://" in source:
            raise OptionError(f"{source}: only http and https addresses are read; give a file by its path")
        else:
            _load_path(Path(source), source, reading, loaded)
    return loaded


def _load_path(path: Path, source: str, reading: ReadOptions, loaded: Loaded) -> None:
    if not path.exists():
        loaded.failed.append(
            InputSummary(source, InputKind.UNKNOWN, None, None, 0, 0, "not read", (
                str(InputError(source, "", "does not exist", "check the path")),))
        )  # fmt: skip
        return
    if path.is_dir():
        for file in files_of(path):
            loaded.add(Content(f"{source.rstrip('/')}/{file.relative_to(path)}", path=file), reading)
        return
    loaded.add(Content(source, path=path), reading)


def _load_live(source: str, options: Options, loaded: Loaded) -> None:
    from diagnostics.sources import live  # noqa: PLC0415  the HTTP client is only loaded when it is used

    try:
        captures = live.read_live(source, options)
    except InputError as error:
        loaded.failed.append(
            InputSummary(source, InputKind.PROMETHEUS, None, None, 0, 0, "not read", (str(error),))
        )
        return
    loaded.captures.extend(captures)
    loaded.modified.extend(None for _ in captures)


def _zone(name: str | None) -> zoneinfo.ZoneInfo | None:
    if name is None:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise OptionError(f"--timezone {name}: no such zone; write it like Europe/Berlin") from error


def with_times(loaded: Loaded, interval: float | None) -> Material:
    """Captures with a time at every sample, whether these are true times, and who is who in them.

    The dumps of one replica become one capture; a log takes the clock of the metrics that it follows.
    """
    identities = identity.resolve(loaded.captures)
    for i, places in identities.apart.items():
        loaded.captures[i].warnings.append(_apart(places))
    captures: list[Capture] = []
    timed: list[bool] = []
    dumps: dict[tuple[str, ...], list[timebase.Untimed]] = {}
    for i, capture in enumerate(loaded.captures):
        if shift := identities.shifts.get(i, 0.0):
            timebase.move_clock(capture, shift)
        if timebase.has_times(capture):
            captures.append(capture)
            timed.append(True)
            continue
        names = tuple(sorted({name for (c, _), name in identities.replica_of_local.items() if c == i}))
        dumps.setdefault(names, []).append(timebase.Untimed(capture, loaded.modified[i]))
    for members in dumps.values():
        timed.append(timebase.give_times(members, interval))
        ordered = [d.capture for d in timebase.order(members)]
        captures.append(merge(ordered) if len(ordered) > 1 else ordered[0])
    # Merging renumbers captures; where nothing was merged the first answer still holds.
    merged = [a is not b for a, b in zip(captures, loaded.captures, strict=False)]
    return Material(captures, timed, identity.resolve(captures) if any(merged) else identities)


def _apart(places: list[str]) -> str:
    """What is said of GPU series that nobody can be charged with."""
    shown = ", ".join(places[:_SHOWN_PLACES]) + (", ..." if len(places) > _SHOWN_PLACES else "")
    return (
        f"GPU series of {shown} belong to no replica for certain and are not judged: no label names the pod of an "
        "engine here, nor a host on which exactly one of them lives"
    )


def summary(capture: Capture) -> InputSummary:
    """What became of one input, for the report."""
    engines = [series for series in capture.series if not registry.is_of_gpu(series.name)]
    replicas = {identity.replica_key(series.labels)[0] for series in engines or capture.series}
    samples = 0 if capture.values is None else int(np.size(capture.values))
    engine = registry.engine_named(capture.engine) if capture.engine and capture.series else None
    if engine is not None and not engine.recorded:
        capture.warnings.append(f"what the names of {engine.title} mean is known {FROM_SOURCE}")
    notes = capture.warnings + (conflicts([capture]) if capture.settings else [])
    return InputSummary(
        capture.source, capture.kind.value, capture.engine, capture.engine_version, len(replicas), samples,
        capture.recognised, tuple(notes),
    )  # fmt: skip
