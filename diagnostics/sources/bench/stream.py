"""Large results of serving clients, read block by block: every list of one entry a request passes by item.

A file with the gaps of every token takes hundreds of megabytes, of which a few are ever asked for. Answers of the
model are passed over without being decoded.
"""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from diagnostics.sources.bench.content import Content, Document
from diagnostics.sources.bench.gaps import reduce_gaps

# Keys that stand before or among the lists of these clients and of no other tool.
_MARKS = (b'"output_throughput"', b'"request_throughput"', b'"itls"', b'"ttfts"', b'"generated_texts"')
_GAPS = "itls"
_PASSED_OVER = frozenset({"generated_texts"})
_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SCALAR = re.compile(rb"[^\s,:\[\]{}\"]+")
_BRACKET = re.compile(rb'["\[\]{}]')
_NESTING = (b"[", b"{", b'"')
_ANY = msgspec.json.Decoder()
_FLOATS = msgspec.json.Decoder(list[float])


class _DamagedError(Exception):
    """The text is no JSON from here on, or ends too early."""


def is_streamed(head: bytes) -> bool:
    """Whether a file that begins so is the result of a serving client."""
    return head.removeprefix(BOM_UTF8).lstrip().startswith(b"{") and any(mark in head for mark in _MARKS)


def open_blocks(head: bytes, blocks: Iterable[bytes]) -> Content:
    """Documents of a file without ever holding its text; never raises for bad content, see ``Content.broken``."""
    scanner = _Scanner(iter(blocks))
    content = Content(head.decode("utf-8-sig", "replace"))
    values: list[dict[str, Any]] = []
    try:
        while scanner.peek():
            if scanner.peek() != b"{":
                scanner.drop_line()
                continue
            values.append({})
            scanner.fill(values[-1])
    except (_DamagedError, ValueError, RecursionError):
        content.broken = f"byte {scanner.place:,}"
        values.pop()
    total = len(values)
    content.documents = [
        Document("" if total == 1 else f"document {i} of {total}", value) for i, value in enumerate(values, 1)
    ]
    return content


class _Scanner:
    """A position in bytes that come in blocks; what lies before it is forgotten."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._ended = blocks, False
        self._buffer, self._at, self._passed = b"", 0, 0
        while len(self._buffer) < len(BOM_UTF8) and self._refill():
            pass
        if self._buffer.startswith(BOM_UTF8):
            self._at = len(BOM_UTF8)

    @property
    def place(self) -> int:
        """Bytes that lie before."""
        return self._passed + self._at

    def _refill(self) -> bool:
        """Read on, each time as much again as is still waiting, so that one large value is scanned a few times only."""
        waiting = self._buffer[self._at :]
        pieces, size = [waiting], 0
        while not self._ended and size <= len(waiting):
            block = next(self._blocks, b"")
            self._ended = not block
            pieces.append(block)
            size += len(block)
        self._passed += self._at
        self._buffer, self._at = b"".join(pieces), 0
        return size > 0

    def peek(self) -> bytes:
        """The next character that is no white space; empty at the end."""
        while True:
            self._at = _SPACE.match(self._buffer, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._buffer):
                return self._buffer[self._at : self._at + 1]
            if not self._refill():
                return b""

    def drop_line(self) -> None:
        """Pass over a line between documents: a comma, or what a log left there."""
        while (end := self._buffer.find(b"\n", self._at)) < 0:
            self._at = len(self._buffer)
            if not self._refill():
                return
        self._at = end + 1

    def fill(self, target: dict[str, Any]) -> None:
        """Read an object into ``target``."""
        self._expect(b"{")
        if self.peek() == b"}":
            self._at += 1
            return
        while True:
            key = str(_decode(self._value()))
            self._expect(b":")
            target[key] = self._entry(key)
            if self._follows(b"}"):
                return

    def _entry(self, key: str) -> Any:
        if self.peek() != b"[":
            return _decode(self._value())
        if key == _GAPS:
            return reduce_gaps(_floats(item) for item in self._items())
        if key in _PASSED_OVER:
            for _ in self._items():
                pass
            return None
        return [_decode(item) for item in self._items()]

    def _items(self) -> Iterator[bytes]:
        self._expect(b"[")
        if self.peek() == b"]":
            self._at += 1
            return
        while True:
            yield self._value()
            if self._follows(b"]"):
                return

    def _expect(self, mark: bytes) -> None:
        if self.peek() != mark:
            raise _DamagedError
        self._at += 1

    def _follows(self, end: bytes) -> bool:
        """Whether the end follows; a comma is passed over."""
        mark = self.peek()
        if mark not in (end, b",") or not mark:
            raise _DamagedError
        self._at += 1
        return mark == end

    def _value(self) -> bytes:
        """The text of the next value."""
        self.peek()
        while (end := self._end_of_value()) < 0:
            if not self._refill():
                raise _DamagedError
        value = self._buffer[self._at : end]
        self._at = end
        return value

    def _end_of_value(self) -> int:
        """Where the value ends, -1 when more must be read to know."""
        first = self._buffer[self._at : self._at + 1]
        if first == b'"':
            found = _STRING.match(self._buffer, self._at)
            return found.end() if found else -1
        if first in (b"[", b"{"):
            return self._end_of_nest()
        found = _SCALAR.match(self._buffer, self._at)
        if found is None:
            raise _DamagedError
        return -1 if found.end() == len(self._buffer) and not self._ended else found.end()

    def _end_of_nest(self) -> int:
        end = self._buffer.find(b"]", self._at)
        if end >= 0 and not any(self._buffer.find(mark, self._at + 1, end) >= 0 for mark in _NESTING):
            return end + 1  # a list of numbers, as nearly all are
        depth, at = 0, self._at
        while (found := _BRACKET.search(self._buffer, at)) is not None:
            at, mark = found.end(), found.group()
            if mark == b'"':
                string = _STRING.match(self._buffer, found.start())
                if string is None:
                    return -1
                at = string.end()
                continue
            depth += 1 if mark in b"[{" else -1
            if depth == 0:
                return at
        return -1


def _decode(text: bytes) -> Any:
    """One value; bare NaN and Infinity are read as Python does, bytes that are no UTF-8 replaced."""
    try:
        return _ANY.decode(text)
    except msgspec.DecodeError:
        return json.loads(text.decode("utf-8", "replace"))


def _floats(text: bytes) -> object:
    try:
        return _FLOATS.decode(text)
    except msgspec.DecodeError:
        return _decode(text)
