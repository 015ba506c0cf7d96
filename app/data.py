"""Where pages get their reports. Only this module runs diagnoses; results are cached, bounded in number."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import time
import tomllib
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Literal

import streamlit as st
from msgspec import Struct, field
from msgspec.structs import replace

from app.settings import Settings, current, origin
from app.telemetry import TELEMETRY
from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.report import Diagnosis, InputSummary, Report
from diagnostics.options import Options
from diagnostics.sources.history import History

Kind = Literal["sample", "inputs", "live", "upload", "paste"]
REFRESH_SECONDS = 15
"""How often a live source is read again while somebody looks at it."""
_KEPT = 8
_GATE = threading.BoundedSemaphore(max(1, os.cpu_count() or 1))
_LOG = logging.getLogger(__name__)
_HISTORY = History()


class Source(Struct, frozen=True):
    """Something that can be diagnosed; ``key`` stands for it in addresses."""

    key: str
    title: str
    kind: Kind
    inputs: tuple[str, ...]

    @property
    def live(self) -> bool:
        """Whether its data grows while one looks."""
        return any(i.startswith(("http://", "https://")) for i in self.inputs)


class Outcome(Struct, frozen=True):
    """A diagnosis, or the reason why there is none; ``number`` is its own in this process."""

    diagnosis: Diagnosis | None
    error: str = ""
    number: int = field(default_factory=count(1).__next__)


class Named(Struct, frozen=True):
    """Content that a person gave, by name. Kept in the session, never on disk for longer than a diagnosis."""

    name: str
    content: bytes


class Against(Struct, frozen=True):
    """What to compare with: the time before a moment, a window (Unix seconds), or another source."""

    after: float | None = None
    window: tuple[float, float] | None = None
    source: Source | None = None


def sources() -> tuple[Source, ...]:
    """What everybody may choose: inputs of the start or samples, then the addresses people connected."""
    settings = current()
    given = settings.inputs
    if given:
        title = given[0] if len(given) == 1 else f"{given[0]} and {len(given) - 1} more"
        fixed: tuple[Source, ...] = (Source("inputs", title, "inputs", given),)
    else:
        fixed = samples(settings)
    return (*fixed, *(Source(a, a, "live", (a,)) for a in _connected()))


def samples(settings: Settings) -> tuple[Source, ...]:
    """The sample data; empty where there is none."""
    file = settings.samples / "index.toml"
    try:
        entries = tomllib.loads(file.read_text("utf-8")).get("sample", [])
    except (OSError, tomllib.TOMLDecodeError):
        return ()
    found = []
    for entry in entries:
        folder, title = str(entry.get("folder", "")), str(entry.get("title", ""))
        path = settings.samples / folder
        if folder and path.is_dir() and path.resolve().is_relative_to(settings.samples.resolve()):
            found.append(Source(folder, title or folder, "sample", (str(path),)))
    return tuple(found)


@st.cache_resource(show_spinner=False)
def _connections() -> list[str]:
    return []


def _connected() -> tuple[str, ...]:
    return tuple(_connections())


def connect(address: str) -> str | None:
    """Make an address available to choose.

    Returns:
        Why it may not be read, or None when it may.
    """
    if origin(address) is None:
        return "Write the address like http://prometheus:9090, without a password in it."
    if not current().may_read(address):
        return "This server may not read that address. Who runs it can allow it with --allow and the address."
    known = _connections()
    if address not in known:
        known.append(address)
        del known[:-20]
    return None


def find(key: str | None) -> Source | None:
    """The source of a key; the first one without a key; None when there is none.

    An address in a link is only followed when it was named at the start or connected by a person before.
    """
    offered = sources()
    if key is None:
        return offered[0] if offered else None
    found = next((s for s in offered if s.key == key), None)
    if found is None and key.startswith(("http://", "https://")):
        settings = current()
        if replace(settings, local=False).may_read(key):
            return Source(key, key, "live", (key,))
    return found


def outcome(source: Source, *, since: float, select: str, start: float | None, end: float | None) -> Outcome:
    """Diagnose a source, or recall its diagnosis.

    Args:
        source: what to diagnose.
        since: seconds to look back, for live sources.
        select: PromQL matchers, for live sources.
        start: Unix seconds: judge what lies after it only.
        end: Unix seconds: judge what lies before it only.
    """
    options = current().options
    if not source.live:
        options = replace(options, start=start, end=end)
        key = repr((source.inputs, _stamp(source.inputs), start, end))
        return _recalled(key, source.inputs, options)
    options = replace(
        options, since=since, select=select or options.select, start=start, end=end, history=_HISTORY
    )
    key = repr((source.inputs, since, options.select, start, end))
    recall = _followed if end is None else _recalled
    return recall(key, source.inputs, options)


def compared(source: Source, against: Against, *, since: float, select: str) -> Outcome:
    """Diagnose a source beside what it is compared with, or recall that.

    Args:
        source: what to diagnose.
        against: what with.
        since: seconds to look back, for live sources.
        select: PromQL matchers, for live sources.
    """
    options = _beside(current().options, against)
    options = replace(options, since=since, select=select or options.select, history=_HISTORY)
    stamps = _stamp(source.inputs), _stamp(against.source.inputs) if against.source else ()
    key = repr((source.inputs, stamps, options.after, options.baseline, since, options.select))
    recall = _followed if source.live else _recalled
    return recall(key, source.inputs, options)


def _beside(options: Options, against: Against) -> Options:
    """The options with what to compare with."""
    baseline = f"{against.window[0]}..{against.window[1]}" if against.window else None
    if against.source is not None:
        baseline = against.source.inputs[0]
    return replace(options, after=against.after, baseline=baseline)


def _stamp(inputs: Sequence[str]) -> tuple[float, ...]:
    """Changes when a file changes."""
    files = [f for i in inputs for f in ([Path(i)] if not Path(i).is_dir() else sorted(Path(i).rglob("*")))]
    stats = [f.stat() for f in files if f.exists()]
    return (len(stats), sum(s.st_size for s in stats), max((s.st_mtime for s in stats), default=0.0))


@st.cache_resource(show_spinner=False, max_entries=_KEPT, ttl=1800)
def _recalled(key: str, _inputs: tuple[str, ...], _options: Options) -> Outcome:
    return run(_inputs, _options)


@st.cache_resource(show_spinner=False, max_entries=_KEPT, ttl=REFRESH_SECONDS, refresh_mode="background")
def _followed(key: str, _inputs: tuple[str, ...], _options: Options) -> Outcome:
    """A live source: who looks gets the last result at once, and the next one is made meanwhile."""
    return run(_inputs, _options)


def run(inputs: Sequence[str], options: Options, stdin: bytes | None = None) -> Outcome:
    """Diagnose now, a bounded number at a time; what goes wrong becomes an outcome too."""
    from diagnostics.pipeline import diagnose  # noqa: PLC0415  loaded beside the server, not before it listens

    with _GATE:
        began = time.perf_counter()
        try:
            made = diagnose(list(inputs), options, stdin=stdin, charts=True)
        except (InputError, OptionError) as error:
            TELEMETRY.failed(time.perf_counter() - began, unusable=True)
            return Outcome(None, str(error))
        except Exception as error:
            TELEMETRY.failed(time.perf_counter() - began, unusable=False)
            _LOG.exception("a diagnosis failed")
            said = (
                f"The diagnosis failed in this program ({type(error).__name__}); the server's log says where."
            )
            return Outcome(None, said)
        TELEMETRY.diagnosed(time.perf_counter() - began, made.report)
    return Outcome(made)


def run_given(
    files: Sequence[Named],
    pasted: str,
    stretch: tuple[float, float] | None = None,
    against: Against | None = None,
) -> Outcome:
    """Diagnose what a person uploaded or pasted. Files live on disk only while they are read.

    Args:
        files: with their content.
        pasted: text.
        stretch: judge this stretch of time only, Unix seconds.
        against: compare with this.
    """
    start, end = stretch or (None, None)
    options = replace(current().options, start=start, end=end)
    if against is not None:
        options = _beside(options, against)
    with tempfile.TemporaryDirectory(prefix="diagnose-") as folder:
        _write(files, folder)
        inputs = [folder] if files else []
        if pasted.strip():
            inputs.append("-")
        made = run(inputs, options, pasted.encode() if pasted.strip() else None)
    return _without_folder(made, folder)


def compared_with_given(source: Source, files: Sequence[Named], pasted: str) -> Outcome:
    """Diagnose a source beside what a person uploaded or pasted, as its baseline."""
    with tempfile.TemporaryDirectory(prefix="diagnose-") as folder:
        _write([*files, *([Named("pasted text", pasted.encode())] if pasted.strip() else [])], folder)
        made = run(source.inputs, replace(current().options, baseline=folder, history=_HISTORY))
    return _without_folder(made, folder)


def _write(files: Sequence[Named], folder: str) -> None:
    for number, file in enumerate(files):
        place = Path(folder) / f"{number:03d}"
        place.mkdir()
        (place / (Path(file.name).name or "file")).write_bytes(file.content)


def _without_folder(made: Outcome, folder: str) -> Outcome:
    """The outcome with the names that people gave, in place of where the files lay."""

    def named(text: str) -> str:
        for prefix in (folder + os.sep, folder):
            text = text.replace(prefix, "")
        head, slash, rest = text.partition("/")
        return rest if slash and head.isdigit() and len(head) == 3 else text

    def cleaned(entry: InputSummary) -> InputSummary:
        warnings = tuple(named(w) for w in entry.warnings)
        return replace(
            entry, source=named(entry.source), recognised=named(entry.recognised), warnings=warnings
        )

    if made.diagnosis is None:
        return replace(made, error=named(made.error))
    report = made.diagnosis.report
    report = replace(report, inputs=tuple(cleaned(i) for i in report.inputs))
    return replace(made, diagnosis=replace(made.diagnosis, report=report))


def narrowed(diagnosis: Diagnosis, deployment: str | None, replica: str | None) -> Diagnosis:
    """The part of a diagnosis that is about one deployment, one replica, or both."""
    report = diagnosis.report
    if deployment and len(report.deployments) > 1 and any(d.name == deployment for d in report.deployments):
        report = _of_deployment(report, deployment)
    if not replica or all(r.replica != replica for r in report.regimes):
        return replace(diagnosis, report=report)
    report = replace(
        report,
        findings=tuple(f for f in report.findings if not f.scope.replicas or replica in f.scope.replicas),
        regimes=tuple(r for r in report.regimes if r.replica == replica),
        time_to_first_token=tuple(t for t in report.time_to_first_token if t.replica == replica),
    )
    return replace(
        diagnosis, report=report, series=tuple(s for s in diagnosis.series if s.replica == replica)
    )


def _of_deployment(report: Report, name: str) -> Report:
    """The report with one deployment's findings; the verdict is of this deployment."""
    chosen = next(d for d in report.deployments if d.name == name)
    findings = tuple(f for f in report.findings if f.scope.deployment == name)
    verdict = report.verdict
    if report.deployments[0].name != name:
        first = next((f for f in findings if f.severity.rank < 2), None)
        calm = "Nothing is wrong here" if chosen.status == "healthy" else "Too little was seen here to judge"
        verdict = replace(
            verdict,
            status=chosen.status,
            primary=first.rule if first else None,
            runner_up=None,
            told_apart_by="",
            headline=first.summary if first else f"{calm}: {chosen.name}.",
        )
    return replace(report, deployments=(chosen,), findings=findings, verdict=verdict)
