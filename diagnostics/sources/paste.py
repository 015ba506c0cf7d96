"""A paste: prose, commands, log lines, metrics and tables in one text, taken apart.

Each line goes to the reader that knows it; what nobody knows is counted and passed over.
"""

from __future__ import annotations

import re
from datetime import tzinfo

import numpy as np

from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind, Provenance, Setting
from diagnostics.sources.bench import reader as bench
from diagnostics.sources.config import manifest
from diagnostics.sources.config.command import CommandSettings, find_commands, read_command
from diagnostics.sources.config.remarks import is_remark, read_remark
from diagnostics.sources.exposition import read_exposition
from diagnostics.sources.logs import reader as logs

_METRIC = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})?\s+[-+0-9.eEInfNa]+(\s+\d+(\.\d+)?)?$")
_COMMENT = re.compile(r"^#\s*(HELP|TYPE|UNIT|EOF)\b")


def read_paste(source: str, text: str, timezone: tzinfo | None = None) -> Capture:
    """Take a mixed text apart.

    Returns:
        One capture of kind ``paste``, or of the only kind that was found in it; of kind ``unknown``
        when nothing was known.
    """
    lines = text.splitlines()
    metrics = [line for line in lines if _METRIC.match(line.strip()) and _is_metric_name(line)]
    others = [line for line in lines if not _COMMENT.match(line) and line not in set(metrics)]
    parts: list[Capture] = []
    if metrics:
        parts.append(read_exposition(source, metrics))
    said_so = _settings(text, others)
    settings = said_so.settings
    log_lines = [line for line in others if not line.lstrip().startswith(("$ ", "# "))]
    if logs.recognise(log_lines) is not None:
        parts.append(logs.read_log(source, log_lines, timezone=timezone))
    whole = _joined(source, parts)
    whole.settings.extend(settings)
    whole.warnings.extend(said_so.notices)
    whole.engine = whole.engine or said_so.engine
    whole.engine_version = whole.engine_version or said_so.engine_version
    _add_runs(whole, text)
    said = ", ".join(
        f"{count} {what}"
        for count, what in (
            (len(metrics), "metric lines"), (len(parts) - bool(metrics), "log"), (len(settings), "settings"),
            (len(whole.runs), "benchmark runs"),
        )
        if count
    )  # fmt: skip
    whole.recognised = f"{said or 'nothing known'} in {len(lines)} lines"
    if not said:
        whole.kind = InputKind.UNKNOWN
    return whole


def _is_metric_name(line: str) -> bool:
    """A line ``word number`` is a metric only when its name looks like one."""
    name = line.strip().split("{")[0].split(" ")[0]
    return ":" in name or "_" in name or "{" in line


def _settings(text: str, lines: list[str]) -> CommandSettings:
    """What commands, manifests and remarks say: settings, notices on flags, the engine that is started."""
    said = CommandSettings()
    if manifest.recognise(text):
        found = manifest.read_manifest(text, "manifest")
        said.settings.extend(found.settings)
        said.notices.extend(found.notices)
        said.engine = found.engine
    else:
        for command in find_commands(text):
            read = read_command(command.text, "launch command")
            said.settings.extend(read.settings)
            said.notices.extend(read.notices)
            if read.model:
                said.settings.append(Setting("model", read.model, Provenance.CONFIGURED, "launch command"))
            if read.engine and not read.engine.startswith("bench:"):
                said.engine = said.engine or read.engine
                said.engine_version = said.engine_version or read.engine_version
    for line in lines:
        if is_remark(line):
            said.settings.extend(read_remark(line))
        elif "#" in line and line.lstrip().startswith("$"):
            said.settings.extend(read_remark("#" + line.split("#", 1)[1]))
    return said


def _add_runs(capture: Capture, text: str) -> None:
    name = bench.recognise(text)
    if name is None:
        return
    try:
        capture.runs.extend(bench.read(capture.source, text, name))
    except InputError as error:
        capture.warnings.append(str(error))


def _joined(source: str, parts: list[Capture]) -> Capture:
    """One capture of several parts of the same text."""
    if len(parts) == 1:
        return parts[0]
    whole = Capture(source, InputKind.PASTE if parts else InputKind.CONFIG)
    offset = 0
    series_of, times, values = [], [], []
    for part in parts:
        if part.series_of is not None and part.times is not None and part.values is not None:
            series_of.append(part.series_of + offset)
            times.append(part.times)
            values.append(part.values)
        offset += len(part.series)
        whole.series.extend(part.series)
        whole.settings.extend(part.settings)
        whole.events.extend(part.events)
        whole.warnings.extend(part.warnings)
        whole.engine = whole.engine or part.engine
        whole.engine_version = whole.engine_version or part.engine_version
    if series_of:
        whole.series_of = np.concatenate(series_of)
        whole.times, whole.values = np.concatenate(times), np.concatenate(values)
    return whole
