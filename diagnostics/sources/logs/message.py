"""A log message as the peeler leaves it, and as an engine's reader sees it."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.sources.logs.times import Stamp

# Of a line whose head names no tensor-parallel rank.
NO_RANK = -1


class Line(Struct):
    """One log message without what carried it.

    Attributes:
        text: the message, still with the engine's own level and time.
        stamp: the carrier's time, or None.
        labels: identity that the carrier gives; shared between lines, never to be changed.
        process: the name in an engine's process decoration, without its process number.
        cut: the carrier ends in the middle of this line.
    """

    text: str
    stamp: Stamp | None
    labels: dict[str, str]
    process: str
    cut: bool = False


class Body(Struct, frozen=True):
    """A message without the engine's own head.

    Attributes:
        text: the message itself.
        stamp: the carrier's time, else the engine's own, else None.
        line: where it came from.
        labels: the rank that the head names, as ``{"engine": "1"}``, or nothing.
        rank: order number within a tensor-parallel group; NO_RANK when the head names none.
    """

    text: str
    stamp: Stamp | None
    line: Line
    labels: dict[str, str]
    rank: int = NO_RANK

    def labelled(self, labels: dict[str, str]) -> Body:
        """Return the same message with further labels."""
        return Body(self.text, self.stamp, self.line, {**self.labels, **labels}, self.rank)
