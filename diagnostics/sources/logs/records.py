"""Reads log lines that come wrapped in JSON: container runtimes, log stores, engines' own JSON logging."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from msgspec import Struct

from diagnostics.sources.logs.times import Clock, Stamp

_TEXT_KEYS = ("log", "line", "message", "msg", "MESSAGE")
_TIME_KEYS = ("time", "timestamp", "ts", "@timestamp", "asctime", "date", "_time", "__REALTIME_TIMESTAMP")
_NESTED_KEYS = ("kubernetes", "labels", "stream", "fields", "resource")
_IDENTITY = {
    "pod": "pod",
    "pod_name": "pod",
    "k8s_pod_name": "pod",
    "container": "container",
    "container_name": "container",
    "host": "host",
    "hostname": "host",
    "_HOSTNAME": "host",
    "node_name": "host",
    "service": "service",
    "service_name": "service",
    "compose_service": "service",
    "_SYSTEMD_UNIT": "service",
}
# Container runtimes split a line at 16 KiB and mark the parts only by the missing line end.
_SPLIT_BYTES = 16_000
_CUT_TEXT = re.compile(r'"(?:log|line|message|msg)": ?"((?:[^"\\]|\\.)*)')
_DECODER = msgspec.json.Decoder()


class Record(Struct, frozen=True):
    """One unwrapped line."""

    text: str
    stamp: Stamp | None
    labels: dict[str, str]
    process: str = ""
    stream: str = ""
    partial: bool = False


def read_record(text: str, clock: Clock) -> Record | None:
    """Unwrap a JSON object that carries a log line; None when it carries none."""
    try:
        record = _DECODER.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return _read_cut(text)
    if not isinstance(record, dict):
        return None
    line = next((record[key] for key in _TEXT_KEYS if isinstance(record.get(key), str)), None)
    if line is None:
        return None
    line = _as_traced(record, line)
    stamp = None
    for key in _TIME_KEYS:
        if key in record and (stamp := clock.anything(record[key])) is not None:
            break
    stream = record.get("stream")
    process = record.get("processName")
    return Record(
        text=line,
        stamp=stamp,
        labels=identity(record),
        process=process if isinstance(process, str) else "",
        stream=stream if isinstance(stream, str) else "",
        partial="log" in record and not line.endswith("\n") and len(line.encode()) >= _SPLIT_BYTES,
    )


def _as_traced(record: dict[str, Any], message: str) -> str:
    """A record of Rust's tracing as the same library writes it as text: span, target, message."""
    target, span = record.get("target"), record.get("span")
    if not isinstance(target, str):
        return message
    if isinstance(span, dict):
        fields = " ".join(f'{key}="{value}"' for key, value in span.items() if isinstance(value, str))
        target = f"{span.get('name', 'span')}{{{fields}}}: {target}"
    return f"{target}: {message}"


def _read_cut(text: str) -> Record | None:
    """Save the message of an object whose end is missing."""
    found = _CUT_TEXT.search(text)
    if found is None:
        return None
    try:
        line = json.loads(f'"{found[1]}"')
    except ValueError:
        line = found[1]
    return Record(text=str(line), stamp=None, labels={})


def identity(record: dict[str, Any]) -> dict[str, str]:
    """Pick the labels that tell replicas apart out of a record and its nested objects."""
    labels: dict[str, str] = {}
    for part in (record, *(record.get(key) for key in _NESTED_KEYS)):
        if not isinstance(part, dict):
            continue
        for key, value in part.items():
            label = _IDENTITY.get(key)
            if label is not None and isinstance(value, str) and value:
                labels.setdefault(label, value)
    return labels
