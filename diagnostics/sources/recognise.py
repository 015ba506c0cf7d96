"""Names what an input is, from its content, and reads it.

The order matters: what only one kind can look like is asked first; what is mixed is taken apart last.
"""

from __future__ import annotations

import json
from datetime import tzinfo
from pathlib import Path

from msgspec import Struct

from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind
from diagnostics.sources import companions
from diagnostics.sources.content import HEAD_BYTES, Content, is_binary
from diagnostics.sources.exposition import looks_like_exposition, read_exposition
from diagnostics.sources.window import drop_impossible_times

_HEAD_LINES = 400
# A mixed text is taken apart only up to this size; larger files are one kind or unknown.
_MAX_PASTE = 8 * 1024**2
# Names of files that never hold evidence: what an operating system or an editor leaves behind.
_LITTER = (".", "~")


class ReadOptions(Struct, frozen=True):
    """What a reader may have to be told."""

    timezone: tzinfo | None = None


def files_of(path: Path) -> list[Path]:
    """The files of a folder, recursively, in order; hidden ones and symbolic links out of it left out."""
    root = path.resolve()
    return [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file() and not file.name.startswith(_LITTER) and file.resolve().is_relative_to(root)
    ]


def read_content(content: Content, options: ReadOptions) -> Capture:
    """Recognise one input and read it.

    Raises:
        InputError: empty, binary, cut, or of no known kind.
    """
    head = content.head()
    if not head.strip():
        raise InputError(content.source, "", "is empty", "give a file that holds metrics, a log or a result")
    if is_binary(head):
        raise InputError(content.source, "", "is binary, not text", "give metrics text, a log, JSON or YAML")
    capture = _read(content, head, options)
    drop_impossible_times(capture)
    capture.suffix = content.suffix
    return capture


def _read(content: Content, head: bytes, options: ReadOptions) -> Capture:
    start = head.lstrip()[:1]
    if start in (b"{", b"["):
        from diagnostics.sources import query_range  # noqa: PLC0415  its decoder is slow to load and rarely needed

        if query_range.looks_like_answer(head):
            return query_range.read_answer(content.source, content.whole())
        if (found := _read_json(content, head)) is not None:
            return found
    lines = head.decode("utf-8", "replace").splitlines()[:_HEAD_LINES]
    if looks_like_markup(lines):
        raise InputError(
            content.source,
            "line 1",
            "is an HTML page, not metrics",
            "check the address: a login page or a proxy?",
        )
    companions.refuse(content.source, lines)
    if _is_report(lines) and (found := _read_bench(content, head)) is not None:
        return found
    if _is_metrics_only(lines):
        return read_exposition(content.source, content.lines())
    from diagnostics.sources.logs import reader as logs  # noqa: PLC0415  loaded only when a log may be there

    if _is_pure_log(lines) and logs.recognise(lines) is not None:
        from diagnostics.sources.logs.access import Successes  # noqa: PLC0415

        successes = Successes()
        lines_of_interest = content.lines(successes.drop)
        return logs.read_log(
            content.source, lines_of_interest, timezone=options.timezone, successes=successes
        )
    if (found := _read_bench(content, head)) is not None:
        return found
    from diagnostics.sources.paste import read_paste  # noqa: PLC0415

    text = content.whole()[:_MAX_PASTE].decode("utf-8", "replace")
    return read_paste(content.source, text, options.timezone)


def _is_report(lines: list[str]) -> bool:
    """Whether top-level keys name a benchmark report in YAML, whose nested lines look like metrics."""
    top = {line.split(":", 1)[0].strip("'\"") for line in lines if ":" in line[:40] and line[:1] not in " #"}
    return any(names <= top for names in ({"version"}, {"benchmarks"}, {"load_summary"}))


def looks_like_markup(lines: list[str]) -> bool:
    """Whether this is a web page."""
    first = next((line.strip().lower() for line in lines if line.strip()), "")
    return first.startswith(("<!doctype", "<html"))


def _has_commands(lines: list[str]) -> bool:
    return any(line.lstrip().startswith("$ ") for line in lines)


def _is_metrics_only(lines: list[str]) -> bool:
    """Whether this is metrics text without commands and log lines, which a paste mixes in."""
    if not looks_like_exposition(lines) or _has_commands(lines):
        return False
    told = [line for line in lines if line.strip() and not line.startswith("#")]
    foreign = [line for line in told if not looks_like_exposition([line])]
    if not foreign:
        return True
    from diagnostics.sources.logs import reader as logs  # noqa: PLC0415  loaded only when a log may be there

    return logs.recognise(foreign) is None


def _is_pure_log(lines: list[str]) -> bool:
    """Whether no line is a command, a remark or a metric, which a paste mixes in."""
    return not any(line.lstrip().startswith(("$ ", "# ", "vllm:", "sglang:")) for line in lines)


def _read_json(content: Content, head: bytes) -> Capture | None:
    """A JSON document: configuration answer or benchmark result; None when it is lines of a log."""
    if (found := _read_bench(content, head)) is not None:
        return found
    from diagnostics.sources.config import answers  # noqa: PLC0415

    try:
        value = json.loads(content.whole())
    except (ValueError, RecursionError):
        return None
    if answers.recognise(value) is None:
        return None
    settings = answers.read(value, f"answer in {content.name}")
    capture = Capture(content.source, InputKind.CONFIG, settings=settings)
    capture.recognised = f"{len(capture.settings)} settings of a server's answer"
    return capture


def _read_bench(content: Content, head: bytes) -> Capture | None:
    from diagnostics.sources.bench import reader as bench  # noqa: PLC0415  loaded only for results

    streamed = len(head) >= HEAD_BYTES and bench.is_streamed(head)
    opened = bench.open_blocks(head, content.blocks()) if streamed else bench.open_content(content.whole())
    name = bench.recognise(opened, content.name)
    if name is None:
        return None
    runs = bench.read(content.source, opened, name)
    judged = all(run.evidence_kind == "quality" for run in runs)
    capture = Capture(content.source, InputKind.QUALITY if judged else InputKind.BENCH, runs=runs)
    steps = sum(len(run.steps) for run in runs)
    capture.recognised = f"{name}: {len(runs)} runs, {steps} load levels"
    capture.warnings.extend(w for run in runs for w in run.warnings)
    return capture
