"""Reads a whole engine log into a capture, line by line."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from datetime import tzinfo

from diagnostics.model.samples import Capture, InputKind
from diagnostics.sources.logs.access import Successes
from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import EngineLog, Rule, apply_rules
from diagnostics.sources.logs.faults import FaultLog
from diagnostics.sources.logs.llamacpp import LlamaCppLog
from diagnostics.sources.logs.message import Line
from diagnostics.sources.logs.prefixes import Peeler
from diagnostics.sources.logs.sglang import SglangLog
from diagnostics.sources.logs.shapes import Shapes
from diagnostics.sources.logs.tgi import TgiLog
from diagnostics.sources.logs.times import Clock
from diagnostics.sources.logs.trtllm import TrtLlmLog
from diagnostics.sources.logs.vllm import VllmLog

# A further engine is one more file and one more entry here.
ENGINES: tuple[EngineLog, ...] = (VllmLog(), SglangLog(), TgiLog(), TrtLlmLog(), LlamaCppLog())
_FAULTS = FaultLog(ENGINES)

_ACCESS = " HTTP/1."
_STATUS = re.compile(r' HTTP/1\.\d\\?" (\d{3})\b')
# Where the first digit of the status stands after the start of the above, quotes plain or escaped.
_PLAIN_STATUS, _ESCAPED_STATUS = 11, 12
# Requests that are logged whole hold text of users, which may say anything.
_REQUEST = re.compile(r"(?:\] |^)(?:Received|Added) request ")
_CUT_FIRST = re.compile(
    r"^(?!.*\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b)[^\[\]]{0,60}"
    r"(?:\[?\w+\.py:\d+\]|[DTP]P\d+\]|\d\d:\d\d\]) "
)
_HEAD_LINES = 20
_FAMILIES = ("statistics", "start-up", "warning")


def recognise(head: list[str]) -> str | None:
    """Name the engine whose log these lines are from, or None when they are not from a log.

    Args:
        head: some lines, from anywhere in the carrier, with or without the prefixes of containers.
    """
    clock = Clock()
    peeler, scratch = Peeler(clock), Collector(clock)
    votes: Counter[str] = Counter()
    for line in peeler.peel_all(head):
        for engine in ENGINES:
            found = apply_rules(engine, line, scratch)
            if (found is not None and found.telling) or engine.telling_head(line):
                votes[engine.name] += 1
    return votes.most_common(1)[0][0] if votes else None


def read_log(
    source: str,
    lines: Iterable[str],
    *,
    timezone: tzinfo | None = None,
    year: int | None = None,
    successes: Successes | None = None,
) -> Capture:
    """Read a log; the lines are taken one at a time and not kept.

    Args:
        source: what to call the log in reports.
        lines: its lines, with or without line ends.
        timezone: zone of times that name none; UTC is assumed without it.
        year: year of the newest line, for times that name none; without it, the last year in which
            the newest line is not in the future.
        successes: what drops requests that went well from the lines beforehand, for the account.
    """
    reading = _Reading(Clock(timezone, year))
    reading.take_all(lines)
    if successes is not None:
        reading.passed_over(successes.dropped)
    return reading.capture(source)


class _Reading:
    """One pass over one log."""

    def __init__(self, clock: Clock) -> None:
        self._out = Collector(clock)
        self._peeler = Peeler(clock)
        self._shapes = Shapes(clock)
        self._engines = ENGINES
        self._lines = self._access = self._other = self._requests = 0
        self._binary = 0
        self._cut = False

    def take_all(self, lines: Iterable[str]) -> None:
        """Read every line; requests that went well, most of many logs, are passed over first."""
        passed = 0
        for raw in lines:
            place = raw.find(_ACCESS)
            if place >= 0:
                quote = raw[place + 9 : place + 10]
                offset = _PLAIN_STATUS if quote == '"' else _ESCAPED_STATUS
                if raw[place + offset : place + offset + 1] in "123" and passed >= _HEAD_LINES:
                    passed += 1
                    continue
                passed += 1
                if self._pass_over_access(raw, place):
                    continue
                passed -= 1
            self._take(raw)
        self._access = passed

    def passed_over(self, requests: int) -> None:
        """Count requests that went well and were dropped before."""
        self._access += requests

    def _take(self, raw: str) -> None:
        self._lines += 1
        if not self._peeler.waits and (shape := self._shapes.take(raw, self._out)) is not None:
            self._out.lines_by_engine[shape.engine] += 1
            self._out.families["statistics"] += 1
            return
        mark = self._out.mark()
        line = self._peeler.peel(raw)
        if line is None:
            self._lines -= 1  # a part: it counts with the line that it becomes
            return
        if " request " in line.text and _REQUEST.search(line.text[:200]):
            self._requests += 1
            return
        found = self._read(line)
        if found is not None and found.family == "statistics" and found.alone and not line.cut:
            self._shapes.learn(raw, line, self._engines[0], self._out.rows_since(mark), self._out)
        if self._lines == 1 and _CUT_FIRST.match(line.text):
            self._out.warnings.append("the first line is cut")
        if found is None:
            self._other += 1
            if "\x00" in line.text or "\ufffd" in line.text:
                self._binary += 1
        else:
            self._out.families[found.family] += 1
            # Only percentages show by their sign that they are whole.
            self._cut |= line.cut and not line.text.rstrip(". ").endswith("%")

    def _read(self, line: Line) -> Rule | None:
        best: Rule | None = None
        for engine in self._engines:
            found = apply_rules(engine, line, self._out)
            if found is None:
                continue
            if found.telling:
                self._out.lines_by_engine[engine.name] += 1
            if found.family == "statistics":
                # The next such line is most likely of the same engine: ask that one first.
                if engine is not self._engines[0]:
                    self._engines = (engine, *(other for other in self._engines if other is not engine))
                return found
            best = best or found
        return apply_rules(_FAULTS, line, self._out) or best

    def _pass_over_access(self, raw: str, place: int) -> bool:
        """Count an access line without a closer look, unless its status tells of a failure."""
        status = _STATUS.match(raw, place)
        if status is None:
            return False
        failed = status[1][0] in "45"
        unknown = not self._out.lines_by_engine
        if failed or unknown:
            line = self._peeler.peel(raw)
            if line is None:
                return True
            if failed:
                body = _FAULTS.body(line, self._out.clock)
                self._out.count("http-error", {"status": status[1]}, body)
            for engine in ENGINES:
                self._out.lines_by_engine[engine.name] += engine.telling_head(line)
            self._out.lines_by_engine += Counter()  # drops the zeros
        return True

    def capture(self, source: str) -> Capture:
        """Close the reading."""
        out = self._out
        capture = Capture(source, InputKind.LOG)
        if self._cut:
            out.warnings.append("the last line has no line end and may be cut")
        if self._binary:
            out.warnings.append(f"{self._binary} lines hold bytes that are not text")
        if len(out.lines_by_engine) > 1:
            names = ", ".join(sorted(out.lines_by_engine))
            out.warnings.append(f"lines of several engines in one log: {names}")
        out.unused.update(self._passed_over())
        out.finish(capture)
        if out.lines_by_engine:
            capture.engine = out.lines_by_engine.most_common(1)[0][0]
        capture.recognised = self._account(capture.engine)
        return capture

    def _passed_over(self) -> dict[str, int]:
        counts = {
            "access-log lines": self._access,
            "logged requests": self._requests,
            "other lines": self._other,
        }
        return {kind: number for kind, number in counts.items() if number}

    def _account(self, engine: str | None) -> str:
        families = self._out.families
        read = {f"{name} lines": families[name] for name in _FAMILIES if families[name]}
        what = f"{engine} log" if engine else "log of an unknown engine"
        sentence = f"{what}: read {_listed(read) or 'nothing'}"
        passed = self._passed_over()
        return f"{sentence}; passed over {_listed(passed)}" if passed else sentence


def _listed(counts: dict[str, int]) -> str:
    parts = [
        f"{number:,} {kind.removesuffix('s') if number == 1 else kind}" for kind, number in counts.items()
    ]
    return " and ".join((", ".join(parts[:-1]), parts[-1])) if len(parts) > 1 else "".join(parts)
