"""The bytes of an input: opened, decompressed within bounds, decoded without ever failing on a character."""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

from diagnostics.model.errors import InputError

HEAD_BYTES = 64 * 1024
# A decompressed input may be so large, and no larger; a small file that claims more is an attack or an accident.
MAX_INFLATED = 4 * 1024**3
MAX_WHOLE = 512 * 1024**2
_SUFFIX = re.compile(r"\.([A-Za-z]+\d+)\.[A-Za-z]+$")
# The mark of UTF-32 begins like that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Without a mark: nearly every second byte of mostly Latin text is zero, and hardly any of the others.
_SAMPLE, _LEAST, _WIDE, _NARROW = 4096, 16, 0.8, 0.02
_GZIP = b"\x1f\x8b"
# Share of bytes that no text has, above which a head is binary.
_BINARY_SHARE = 0.02
_CONTROL = bytes(c for c in range(32) if c not in (9, 10, 12, 13, 27))


class Content(Struct):
    """One input's bytes: a file, or what came in on standard input."""

    source: str
    path: Path | None = None
    data: bytes | None = None

    @property
    def name(self) -> str:
        """The last part of the name, without a compression suffix."""
        base = self.source.rsplit("/", 1)[-1]
        return base.removesuffix(".gz")

    @property
    def suffix(self) -> str:
        """``r1`` of ``metrics_end.r1.txt``: what tells replicas apart by file; empty without such a part."""
        match = _SUFFIX.search(self.name)
        return match.group(1) if match else ""

    @property
    def modified(self) -> float | None:
        """When the file was last written, Unix seconds."""
        return self.path.stat().st_mtime if self.path is not None else None

    def _open(self) -> BinaryIO:
        try:
            raw: BinaryIO = self.path.open("rb") if self.path is not None else io.BytesIO(self.data or b"")
        except OSError as error:
            raise InputError(
                self.source, "", "cannot be opened", f"{error.strerror or error}".lower()
            ) from error
        if raw.read(2) == _GZIP:
            raw.seek(0)
            return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
        raw.seek(0)
        return raw

    def blocks(self) -> Iterator[bytes]:
        """The decompressed bytes in blocks, as UTF-8 without a byte order mark.

        Raises:
            InputError: the compressed data is cut or broken, or inflates beyond the bound.
        """
        stream = self._unpacked()
        first = next(stream, b"")
        encoding = wide_encoding(first)
        if encoding is None:
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from stream
            return
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        for block in itertools.chain((first,), stream):
            yield decoder.decode(block).encode()
        yield decoder.decode(b"", final=True).encode()

    def _unpacked(self) -> Iterator[bytes]:
        total = 0
        with self._open() as raw:
            while True:
                try:
                    block = raw.read(1 << 20)
                except (EOFError, zlib.error, gzip.BadGzipFile) as error:
                    raise InputError(
                        self.source,
                        f"after {total:,} bytes",
                        "the gzip data is cut or broken",
                        "copy the file again",
                    ) from error
                except OSError as error:
                    raise InputError(
                        self.source, "", "cannot be read", f"{error.strerror or error}".lower()
                    ) from error
                if not block:
                    return
                total += len(block)
                if total > MAX_INFLATED:
                    raise InputError(
                        self.source, "", "inflates to more than 4 GiB", "give a smaller part of it"
                    )
                yield block

    def head(self) -> bytes:
        """The first bytes, decompressed."""
        return next(self.blocks(), b"")[:HEAD_BYTES]

    def whole(self) -> bytes:
        """All bytes, for formats that cannot be streamed."""
        buffer = io.BytesIO()
        for block in self.blocks():
            buffer.write(block)
            if buffer.tell() > MAX_WHOLE:
                raise InputError(self.source, "", "is larger than 512 MiB", "give a smaller part of it")
        return buffer.getvalue()

    def lines(self, sift: Callable[[bytes], bytes] | None = None) -> Iterator[str]:
        """Text lines without line ends; bytes that are no UTF-8 are replaced.

        Args:
            sift: drops lines nobody wants from a stretch of whole lines, before they become text.
        """
        rest = b""
        for block in self.blocks():
            whole, newline, last = block.rpartition(b"\n")
            if not newline:
                rest += block
                continue
            whole, rest = sift(rest + whole) if sift else rest + whole, last
            if sift and not whole:
                continue
            for piece in whole.decode("utf-8", "replace").split("\n"):
                yield piece.rstrip("\r")
        if rest:
            yield rest.decode("utf-8", "replace").rstrip("\r")


def wide_encoding(head: bytes) -> str | None:
    """The encoding of text of two or four bytes a character, which Windows' shell writes; None for all other."""
    marked = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if marked:
        return marked
    sample = head[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if (
        len(sample) < _LEAST
        or max(even, odd) < _WIDE * len(sample) / 2
        or min(even, odd) > _NARROW * len(sample) / 2
    ):
        return None
    return "utf-16-le" if odd > even else "utf-16-be"


def is_binary(head: bytes) -> bool:
    """Whether these bytes are no text."""
    if not head:
        return False
    odd = len(head) - len(head.translate(None, _CONTROL))
    return odd > _BINARY_SHARE * len(head)
