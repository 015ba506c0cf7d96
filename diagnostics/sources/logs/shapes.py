"""Statistics lines that repeat: after one of a kind was read with care, the next differ only in time and numbers.

A shape is learnt from such a line and not written down: each of its numbers is changed in turn, the line is read again
into a scratch collector, and what moved there shows which series that number feeds. A shape that does not give exactly
what the careful reading gave is not used, so it can only be faster, never different.
"""

from __future__ import annotations

import re
from collections import Counter

from msgspec import Struct, field
from msgspec.structs import replace

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import EngineLog, apply_rules
from diagnostics.sources.logs.message import Line
from diagnostics.sources.logs.times import Clock, Stamp

_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\w)")
_FED, _FREE = r"(\d+(?:\.\d+)?)", r"\d+(?:\.\d+)?"
_TIME = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)"
    r"|(?P<yearless>\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)"
)
_TIME_GROUPS = {
    "iso": r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)",
    "yearless": r"(\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)",
}
_MAX_SHAPES = 64
# A log of ever new kinds of lines is read with care throughout.
# Status lines are shorter; a lesson takes the square of a line's length.
_LONGEST = 3000
_MAX_LESSONS = 500


class Shape(Struct):
    """One kind of statistics line.

    Attributes:
        engine: who writes such lines.
        pattern: matches whole lines of this kind; captures times and numbers.
        time: which group holds the time that counts, and how it is read; None where lines carry none.
        groups: the group of each value that a number gives.
        factors: what each value is multiplied by; None where that is one for all.
        constants: values that words give, which stay as they are.
        series: the series of each value, those of numbers first.
        labels: the shared labels of the stream (see ``Peeler``).
        interval: labels that the lines after this one inherit, or None.
        unused: what each such line holds and nobody reads.
    """

    engine: str
    pattern: re.Pattern[str]
    time: tuple[int, str] | None
    groups: tuple[int, ...]
    factors: list[float] | None
    constants: list[float]
    series: list[int]
    labels: dict[str, str]
    interval: dict[str, str] | None = None
    unused: dict[str, int] = field(default_factory=dict)


class Shapes(Struct):
    """The shapes of one log, the one that fitted last first."""

    clock: Clock
    known: list[Shape] = field(default_factory=list)
    lessons: int = 0
    _text: str = ""
    _stamp: Stamp | None = None

    def take(self, raw: str, out: Collector) -> Shape | None:
        """Take a line of a known shape into the collector; None when it has none."""
        for place, shape in enumerate(self.known):
            found = shape.pattern.fullmatch(raw)
            if found is None:
                continue
            if place:
                self.known.insert(0, self.known.pop(place))
            # The whole match is asked for too, so that the answer is a tuple even for a single value.
            values = [float(text) for text in found.group(*shape.groups, 0)[:-1]]
            if shape.factors is not None:
                values = [value * factor for value, factor in zip(values, shape.factors, strict=True)]
            out.repeat(
                shape.series, values + shape.constants, self._time(shape, found), shape.labels, shape.interval
            )
            if shape.unused:
                out.unused.update(shape.unused)
            return shape
        return None

    def _time(self, shape: Shape, found: re.Match[str]) -> Stamp | None:
        if shape.time is None:
            return None
        group, kind = shape.time
        text = found[group]
        if text != self._text:
            self._text, self._stamp = text, _stamp(self.clock, kind, text)
        return self._stamp

    def learn(
        self, raw: str, line: Line, engine: EngineLog, rows: list[tuple[int, float]], out: Collector
    ) -> None:
        """Learn the shape of a line that was just read; nothing happens where that is not possible.

        Args:
            raw: the line as it came.
            line: the same without its carrier's prefix.
            engine: who wrote it.
            rows: the series and value that it gave, in order.
            out: where these are.
        """
        if (
            not rows
            or self.lessons >= _MAX_LESSONS
            or len(raw) > _LONGEST
            or not raw.rstrip("\r\n").endswith(line.text)
        ):
            return
        self.lessons += 1
        shape = _learnt(raw, line, engine, rows, out)
        if shape is not None:
            self.known.insert(0, shape)
            del self.known[_MAX_SHAPES:]


def _stamp(clock: Clock, kind: str, text: str) -> Stamp | None:
    return clock.iso(text) if kind == "iso" else clock.yearless_text(text)


def _learnt(
    raw: str, line: Line, engine: EngineLog, rows: list[tuple[int, float]], out: Collector
) -> Shape | None:
    times = list(_TIME.finditer(raw))
    known = out.last_stamp()
    chosen = next((t for t in times if known == _stamp(out.clock, str(t.lastgroup), t[0])), None)
    if known is not None and chosen is None:
        return None
    unused: Counter[str] = Counter()
    first = _read(engine, line, unused)
    if first is None or [value for _, value in first] != [value for _, value in rows]:
        return None
    if [key for key, _ in first] != [out.series_key(series) for series, _ in rows]:
        return None
    fed = _fed(line, engine, first)
    if fed is None:
        return None
    offset = len(raw.rstrip("\r\n")) - len(line.text)
    spans = [(time.start(), time.end(), _TIME_GROUPS[str(time.lastgroup)]) for time in times]
    spans += [(offset + start, offset + end, _FED if feeds else _FREE) for (start, end), feeds in fed.items()]
    pattern = _pattern(raw, sorted(spans))
    if pattern is None:
        return None
    captured = sorted(start for start, _, free in spans if free is not _FREE)
    group_of = {start: group for group, start in enumerate(captured, start=1)}
    feeding = [(feeds[0], group_of[offset + start], feeds[1]) for (start, _), feeds in fed.items() if feeds]
    factors = [factor for _, _, factor in feeding]
    numbers = {row for row, _, _ in feeding}
    words = [(series, value) for row, (series, value) in enumerate(rows) if row not in numbers]
    return Shape(
        engine=engine.name,
        pattern=pattern,
        time=None if chosen is None else (group_of[chosen.start()], str(chosen.lastgroup)),
        groups=tuple(group for _, group, _ in feeding),
        factors=factors if any(factor != 1.0 for factor in factors) else None,
        constants=[value for _, value in words],
        series=[rows[row][0] for row, _, _ in feeding] + [series for series, _ in words],
        labels=line.labels,
        interval=out.interval_of(line),
        unused=dict(unused),
    )


Rows = list[tuple[object, float]]


def _read(engine: EngineLog, line: Line, unused: Counter[str] | None = None) -> Rows | None:
    """What a line gives a collector that has seen nothing else."""
    scratch = Collector(Clock())
    found = apply_rules(engine, line, scratch)
    if found is None or found.family != "statistics":
        return None
    if unused is not None:
        unused.update(scratch.unused)
    return [(scratch.series_key(series), value) for series, value in scratch.rows_since(0)]


Fed = dict[tuple[int, int], tuple[int, float] | None]


def _fed(line: Line, engine: EngineLog, first: Rows) -> Fed | None:
    """Which numbers of the text may change, and the value (and factor) that each feeds; None if that is unclear.

    A number that decides what the line is about is left out; one that feeds nothing has None.
    """
    fed: Fed = {}
    times = [time.span() for time in _TIME.finditer(line.text)]
    for number in _NUMBER.finditer(line.text):
        text = number[0]
        if any(start <= number.start() < end for start, end in times):
            continue
        other = ("1" if text[0] == "2" else "2") + text[1:]
        changed = _read(
            engine, replace(line, text=line.text[: number.start()] + other + line.text[number.end() :])
        )
        if changed is None or len(changed) != len(first) or [k for k, _ in changed] != [k for k, _ in first]:
            continue  # it decides what the line is, so it stays as it is
        moved = [i for i, (a, b) in enumerate(zip(first, changed, strict=True)) if a[1] != b[1]]
        if len(moved) > 1:
            return None
        fed[number.span()] = None
        for i in moved:
            factor = round(changed[i][1] / float(other), 6)
            if float(other) * factor != changed[i][1] or float(text) * factor != first[i][1]:
                return None
            fed[number.span()] = (i, factor)
    return fed


def _pattern(raw: str, spans: list[tuple[int, int, str]]) -> re.Pattern[str] | None:
    """The pattern of a line: what lies in the spans is free, everything else stands as it is."""
    pieces, place = [], 0
    for start, end, free in spans:
        if start < place:
            return None
        pieces += [re.escape(raw[place:start]), free]
        place = end
    pieces.append(re.escape(raw[place:]))
    return re.compile("".join(pieces))
