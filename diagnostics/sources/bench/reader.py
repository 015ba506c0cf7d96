"""The door to all benchmark readers: recognise a file from its content, read it into runs."""

from __future__ import annotations

from diagnostics.model.bench import BenchRun
from diagnostics.model.errors import InputError
from diagnostics.sources.bench.checks import settle
from diagnostics.sources.bench.content import Content, open_content
from diagnostics.sources.bench.grouping import group_steps
from diagnostics.sources.bench.registry import READERS, Reader
from diagnostics.sources.bench.stream import is_streamed, open_blocks

__all__ = [
    "FORMATS",
    "Content",
    "group_steps",
    "is_streamed",
    "open_blocks",
    "open_content",
    "read",
    "recognise",
]

FORMATS = tuple(reader.FORMAT for reader in READERS)
_QUERY_RESULT = '"resultType"'


def recognise(data: bytes | str | Content, name: str = "") -> str | None:
    """The format id of a benchmark result, or None. Decided by content alone.

    Args:
        data: the file, its text, or the content opened before.
        name: as the user gave it; not used to decide, kept so that all recognisers look alike.
    """
    del name
    content = open_content(data)
    if _QUERY_RESULT in content.text[:4096]:
        return None
    for reader in READERS:
        if reader.recognise(content):
            return reader.FORMAT
    return _recognise_broken(content)


def _recognise_broken(content: Content) -> str | None:
    """The format that a cut-off JSON file would have had."""
    if not content.broken:
        return None
    for reader in READERS:
        if reader.HINTS and all(hint in content.text for hint in reader.HINTS):
            return reader.FORMAT
    return None


def read(source: str, data: bytes | str | Content, format: str) -> list[BenchRun]:  # noqa: A002
    """Read a recognised file; runs of one file that differ in load only become one run with steps.

    Args:
        source: the name to show and to take hints from, as the user gave it.
        data: the file, its text, or the content opened before.
        format: what ``recognise`` answered.

    Raises:
        InputError: the file is cut off or holds nothing that can be used.
    """
    content = open_content(data)
    reader = _reader(source, format)
    if content.broken and not reader.recognise(content):
        raise InputError(
            source, content.broken, f"the {format} file ends early or is damaged", "export it again"
        )
    try:
        runs = [settle(run) for run in reader.read(source, content)]
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError) as error:
        expected = f"does not have the layout of {format} ({type(error).__name__}: {error})"
        raise InputError(
            source, "", expected.replace("\n", " ")[:300], "export it again with the original tool"
        ) from error
    if not runs:
        raise InputError(source, "", f"no result of {format} found", "check that the run has finished")
    if content.broken:
        runs[0].warnings.append(f"the file is damaged at {content.broken}: only what stands before is read")
    return group_steps(runs)


def _reader(source: str, name: str) -> Reader:
    for reader in READERS:
        if name == reader.FORMAT:
            return reader
    raise InputError(source, "", f"no reader for the format {name!r}", f"known are {', '.join(FORMATS)}")
