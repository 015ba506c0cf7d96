"""The container of a benchmark file: text, JSON documents, a CSV header, whatever its name says."""

from __future__ import annotations

import csv
import gzip
import io
import json
import zlib
from typing import Any

import yaml
from msgspec import Struct, field

from diagnostics.sources.config.yamltext import YamlError, check_size

MAX_UNPACKED_BYTES = 512 * 1024 * 1024
_SNIFFED_LINES = 60
_SNIFFED_CHARACTERS = 200_000
_MAX_HEADER = 20_000
_MAX_YAML_NODES = 5_000_000
_OPENERS = ("{", "[{", "[\n", "[\r", "[ ")


class Document(Struct, frozen=True):
    """One JSON value of a file and where it stands, for example ``document 3 of 7``."""

    place: str
    value: Any


class Content(Struct):
    """A file opened once, for every reader to look at.

    Attributes:
        text: the decoded text, byte order mark removed.
        documents: its JSON or YAML values in order; empty when it holds none.
        broken: where and why JSON that had begun could not be read to its end; empty when it could.
    """

    text: str
    documents: list[Document] = field(default_factory=list)
    broken: str = ""
    _rows: list[list[str]] | None = None
    _records: list[tuple[str, dict[str, Any]]] | None = None

    @property
    def first(self) -> Any:
        """The first JSON value, or None."""
        return self.documents[0].value if self.documents else None

    @property
    def records(self) -> list[tuple[str, dict[str, Any]]]:
        """Every object on the first or second level, with its place: lines, documents, items of a list."""
        if self._records is not None:
            return self._records
        found: list[tuple[str, dict[str, Any]]] = []
        for document in self.documents:
            if isinstance(document.value, dict):
                found.append((document.place, document.value))
            elif isinstance(document.value, list):
                items = enumerate(document.value)
                found += [(f"{document.place}[{i}]", item) for i, item in items if isinstance(item, dict)]
        self._records = found
        return found

    @property
    def keys(self) -> frozenset[str]:
        """Keys of the first object."""
        records = self.records
        return frozenset(records[0][1]) if records else frozenset()

    @property
    def rows(self) -> list[list[str]]:
        """The text as CSV rows, cells stripped; comments and blank lines are kept as short rows."""
        if self._rows is None:
            cells = csv.reader(io.StringIO(self.text))
            try:
                self._rows = [[cell.strip() for cell in row] for row in cells]
            except csv.Error:
                self._rows = []
        return self._rows

    @property
    def header(self) -> list[str]:
        """Cells of the first row that is no comment; empty when it has fewer than two."""
        if self.documents:
            return []
        for line in self.text[:_SNIFFED_CHARACTERS].splitlines()[:_SNIFFED_LINES]:
            if len(line) > _MAX_HEADER:
                return []
            if line.strip() and not line.startswith("#"):
                cells = [cell.strip() for cell in next(csv.reader([line]), [])]
                return cells if len(cells) > 1 else []
        return []

    def table(self) -> list[tuple[int, dict[str, str]]]:
        """Rows of a CSV below its header as (line number, column to cell); blank rows are skipped."""
        header: list[str] = []
        found: list[tuple[int, dict[str, str]]] = []
        for number, row in enumerate(self.rows, 1):
            if not any(row) or row[0].startswith("#"):
                continue
            if not header:
                header = row
            else:
                found.append((number, dict(zip(header, row, strict=False))))
        return found


def open_content(data: bytes | str | Content) -> Content:
    """Decode, unpack and parse leniently; never raises for bad content, see ``Content.broken``."""
    if isinstance(data, Content):
        return data
    content = Content(data.lstrip("\ufeff") if isinstance(data, str) else _decode(data))
    _parse_json(content)
    if not content.documents and not content.broken and _looks_like_yaml(content.text):
        _parse_yaml(content)
    return content


def _decode(data: bytes) -> str:
    if data[:2] == b"\x1f\x8b":
        try:
            with gzip.open(io.BytesIO(data)) as stream:
                data = stream.read(MAX_UNPACKED_BYTES)
        except (OSError, EOFError, zlib.error):
            return ""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def _parse_json(content: Content) -> None:
    """Fill ``documents`` with every JSON value, bare Infinity allowed, leading log lines dropped."""
    text, start = content.text, _json_start(content.text)
    if start is None:
        return
    decoder, values, position = json.JSONDecoder(), list[Any](), start
    while position < len(text):
        if text[position] in " \t\r\n,":
            position += 1
            continue
        if text[position] not in "{[":
            following = text.find("\n", position)
            position = len(text) if following < 0 else following + 1
            continue
        try:
            value, position = decoder.raw_decode(text, position)
        except json.JSONDecodeError as error:
            content.broken = f"line {error.lineno} column {error.colno}"
            break
        except RecursionError:
            content.broken = "too deeply nested"
            break
        except ValueError:  # of more digits than Python turns into a number
            content.broken = "a number that is too long"
            break
        values.append(value)
    if content.broken and not values:
        return
    total = len(values)
    content.documents = [
        Document("" if total == 1 else f"document {i} of {total}", value) for i, value in enumerate(values, 1)
    ]


def _json_start(text: str) -> int | None:
    """Where JSON begins: at the first character, or at one of the first lines behind log noise."""
    position = 0
    for _ in range(_SNIFFED_LINES):
        stripped = text[position : position + 400].lstrip(" \t\r")
        if stripped.startswith(_OPENERS) or stripped.rstrip() in ("[", "{", "[]"):
            if position == 0 or (stripped.startswith(("{", "[{")) and _begins_object(text, position)):
                return position
        elif position == 0 and stripped.startswith("["):
            return position if _begins_object(text, 0) else None
        following = text.find("\n", position)
        if following < 0:
            return None
        position = following + 1
    return None


def _begins_object(text: str, position: int) -> bool:
    """Whether JSON stands here: a bracket in a log line may be anything."""
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    try:
        value, _ = json.JSONDecoder().raw_decode(text, position)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict | list)


def _looks_like_yaml(text: str) -> bool:
    """A mapping whose top level names a benchmark report; anything else is left to other readers."""
    lines = text[:_SNIFFED_CHARACTERS].splitlines()
    top = {line.split(":", 1)[0].strip("'\"") for line in lines if ":" in line[:40] and line[0] != " "}
    reports = ({"version", "scenario"}, {"version", "run"}, {"load_summary", "successes"})
    return any(names <= top for names in reports) or "benchmarks" in top


def _parse_yaml(content: Content) -> None:
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(content.text)
        node = loader.get_single_node()
        if node is None:
            return
        check_size(node, _MAX_YAML_NODES)
        value = loader.construct_document(node)
    except YamlError as error:
        content.broken = f"the YAML: {error}"
        return
    except (yaml.YAMLError, RecursionError, ValueError, TypeError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        content.broken = f"line {mark.line + 1} column {mark.column + 1}" if mark else "unreadable YAML"
        return
    if isinstance(value, dict):
        content.documents = [Document("", value)]
