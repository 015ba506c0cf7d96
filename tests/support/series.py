"""Time series in a compact notation, as in Prometheus' own rule tests.

A ``.series`` file holds one statement a line; ``#`` begins a comment::

    step 5                                  # seconds between scrapes
    start 1760000000                        # Unix seconds of the first one
    labels job="vllm" instance="a:8000"     # of every series that follows, until the next such line
    args vllm serve m --max-num-seqs 8      # the launch command
    expect severity=critical variant=budget # what the report must say; who reads it decides
    vllm:num_requests_waiting{engine="0"} 0+1x60 _ stale 5x10

Values: ``5`` once; ``5x10`` eleven times, as in Prometheus; ``0+2x60`` and ``9-1x3`` start at the first number and
repeat the step; ``_`` no sample, ``_x4`` four times none; ``stale`` the mark of a series that ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

STALE = "stale"
START = 1_760_000_000.0
_NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|NaN|Inf)"
_TERM = re.compile(rf"^({_NUMBER})(?:([-+])(\d+(?:\.\d+)?))?(?:x(\d+))?$")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_SERIES = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})?\s+(.*)$")

Value = float | str | None


@dataclass
class Line:
    """One series: name, labels, one value a scrape (None where there is no sample)."""

    name: str
    labels: dict[str, str]
    values: list[Value]


@dataclass
class Recording:
    """Facts, before any carrier."""

    step: float = 5.0
    start: float = START
    lines: list[Line] = field(default_factory=list)
    command: str = ""
    expect: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, values: str | Iterable[Value], **labels: str) -> Recording:
        """Add a series; values in the notation or as numbers."""
        taken = expand(values) if isinstance(values, str) else list(values)
        self.lines.append(Line(name, labels, taken))
        return self

    def without(self, *names: str) -> Recording:
        """The same facts without the series that begin like this."""
        kept = [line for line in self.lines if not line.name.startswith(names)]
        return Recording(self.step, self.start, kept, self.command, self.expect)

    @property
    def scrapes(self) -> int:
        """How many scrapes the longest series has."""
        return max(len(line.values) for line in self.lines)

    def time(self, scrape: int) -> float:
        """Unix seconds of a scrape."""
        return self.start + scrape * self.step

    @property
    def instances(self) -> list[str]:
        """The values of the instance label, in order; one empty string when there is none."""
        return list(dict.fromkeys(line.labels.get("instance", "") for line in self.lines))


def expand(text: str) -> list[Value]:
    """The values of a line in the notation.

    Raises:
        ValueError: a term is not of the notation.
    """
    values: list[Value] = []
    for term in text.split():
        if re.fullmatch(r"_(x\d+)?", term):
            values += [None] * int(term[2:] or 1)
        elif term == STALE:
            values.append(STALE)
        elif match := _TERM.match(term):
            first, sign, by, times = match.groups()
            change = float(f"{sign}{by}") if by else 0.0
            values += [float(first) + change * i for i in range(int(times or 0) + 1)]
        else:
            raise ValueError(f"{term!r} is no value; write 5, 5x10, 0+1x60, _ or stale")
    return values


def parse(text: str) -> Recording:
    """Read a recording in the notation.

    Raises:
        ValueError: a line is neither a statement nor a series.
    """
    recording = Recording()
    common: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), start=1):
        line = re.sub(r"(^|\s)#.*$", "", raw).strip()
        word, _, rest = line.partition(" ")
        if not line:
            continue
        if word in ("step", "start"):
            setattr(recording, word, float(rest))
        elif word == "labels":
            common = dict(_LABEL.findall(rest))
        elif word == "args":
            recording.command = rest.strip()
        elif word == "expect":
            recording.expect |= dict(pair.split("=", 1) for pair in rest.split())
        elif match := _SERIES.match(line):
            name, labels, values = match.groups()
            recording.add(name, values, **(common | dict(_LABEL.findall(labels or ""))))
        else:
            raise ValueError(f"line {number}: {line!r} is neither a statement nor a series")
    return recording


def load(path: Path) -> Recording:
    """Read a ``.series`` file."""
    return parse(path.read_text("utf-8"))
