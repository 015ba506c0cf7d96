"""Passing over requests that went well: most lines of many logs, and none of them says anything of the engine."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

# What follows the slash of `HTTP/1.1" 200`: offsets from the slash, and what must stand there.
_BEFORE = b" HTTP"
_VERSION_AT, _DOT_AT = 1, 2
_PLAIN_STATUS, _ESCAPED_STATUS = 6, 7


class Successes(Struct):
    """Drops lines of requests that were answered with a status of 1xx, 2xx or 3xx, and counts them.

    The first of them are let through: where no other line says so, they show which server wrote the log.
    """

    kept_first: int = 20
    dropped: int = 0

    def drop(self, lines: bytes) -> bytes:
        """Whole lines without those of successes.

        Args:
            lines: lines joined by newlines, without one at the end.
        """
        ends = _successes(lines)
        if self.kept_first:
            let_through = ends[: self.kept_first]
            self.kept_first -= len(let_through)
            ends = ends[len(let_through) :]
        if not len(ends):
            return lines
        text = np.frombuffer(lines, dtype=np.uint8)
        newlines = np.append(np.flatnonzero(text == ord("\n")), len(lines))
        starts = np.append(0, newlines[:-1] + 1)
        gone = np.zeros(len(newlines), dtype=np.bool_)
        gone[np.searchsorted(newlines, ends)] = True
        self.dropped += int(gone.sum())
        # Neighbours that stay are cut out in one piece.
        kept = np.diff(np.concatenate([[True], gone, [True]]).astype(np.int8))
        first, last = np.flatnonzero(kept < 0), np.flatnonzero(kept > 0) - 1
        pieces = zip(starts[first].tolist(), newlines[last].tolist(), strict=True)
        return b"\n".join([lines[start:end] for start, end in pieces])


def _successes(lines: bytes) -> np.ndarray:
    """Where in the bytes the slash of `` HTTP/1.x" 2xx`` stands, quotes plain or escaped."""
    text = np.frombuffer(lines, dtype=np.uint8)
    slash = np.flatnonzero(text == ord("/"))
    slash = slash[(slash >= len(_BEFORE)) & (slash < len(text) - _ESCAPED_STATUS - 1)]
    for offset, byte in enumerate(_BEFORE, start=-len(_BEFORE)):
        slash = slash[text[slash + offset] == byte]
    slash = slash[(text[slash + _VERSION_AT] == ord("1")) & (text[slash + _DOT_AT] == ord("."))]
    plain = text[slash + _PLAIN_STATUS - 2] == ord('"')
    escaped = (text[slash + _PLAIN_STATUS - 2] == ord("\\")) & (text[slash + _ESCAPED_STATUS - 2] == ord('"'))
    status = text[slash + np.where(plain, _PLAIN_STATUS, _ESCAPED_STATUS)]
    return np.asarray(slash[(plain | escaped) & (status >= ord("1")) & (status <= ord("3"))])
