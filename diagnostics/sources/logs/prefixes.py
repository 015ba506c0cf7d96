"""Peels off what carriers put before a log message: containers, pods, journals, colours, processes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from diagnostics.sources.logs import records
from diagnostics.sources.logs.message import Line
from diagnostics.sources.logs.times import Clock, Stamp

_MAX_LINE = 1 << 20
_MAX_LAYERS = 8

# Some viewers drop the escape character of a colour, or print its escape sequence as text.
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|(?:\\u001b|\\x1b|\\033|\^\[|␛)?\[\d{1,3}(?:;\d{1,3})*m(?!\])")
_MAYBE_COLOUR = re.compile(r"\[\d{1,3}(?:;\d{1,3})*m")
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:?\d\d)?(?:\s|$)")
_CRI = re.compile(r"(stdout|stderr) ([FP])(?::\S*)?(?: |$)")
_LOKI_LABELS = re.compile(r"\{(\w+=\"[^}]*)\} ?")
_LOKI_LABEL = re.compile(r'(\w+)="([^"]*)"')
_POD = re.compile(r"\[pod/([^/\]\s]+)/([^\]\s]+)\] ?")
_PROCESS = re.compile(r"\(([^()]*?)\bpid=\d+(?:, ip=([0-9A-Fa-f.:]+))?\) ?")
_COMPOSE = re.compile(r"([A-Za-z0-9][\w.-]*) *\| ?")
_JOURNAL = re.compile(
    r"(?:[A-Z][a-z]{2} )?([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d)(?:\.\d+)? "
    r"(\S+) ([^\s\[:]+)(?:\[\d+\])?: ?"
)
_JOURNAL_AFTER_TIME = re.compile(r"([\w.-]+) ([\w.@\\-]+)\[\d+\]: ?")
_STERN = re.compile(
    r"([a-z0-9][a-z0-9.-]*) ([a-z0-9][a-z0-9-]*) "
    r"(?=\([\w :.=-]*pid=|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\b|\[?\d{4}-\d\d-\d\d[T ])"
)
_LEVELS = ("INFO", "WARNING", "ERROR", "DEBUG", "CRITICAL")
_RAY_REPEAT = re.compile(r" ?\[repeated \d+x across cluster\][^\[]*$")


class Peeler:
    """Takes lines of one carrier and gives messages; joins those that a runtime had split."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._labels: dict[tuple[tuple[str, str], ...], dict[str, str]] = {(): {}}
        self._stern: set[str] = set()
        self._partial: dict[str, str] = {}
        self._has_newlines = False

    @property
    def waits(self) -> bool:
        """Whether a part of a line was seen whose end is still to come."""
        return bool(self._partial)

    def peel_all(self, lines: Iterable[str]) -> Iterator[Line]:
        """Yield one message for every whole line."""
        for raw in lines:
            line = self.peel(raw)
            if line is not None:
                yield line

    def peel(self, raw: str) -> Line | None:
        """Return the message of one line; None for a part of a line that goes on later."""
        ended = raw.endswith("\n")
        self._has_newlines |= ended
        text = _clean(raw[:_MAX_LINE])
        state = _Layers(text)
        for _ in range(_MAX_LAYERS):
            before = state.text
            if not self._peel_one(state):
                break
            if state.partial:
                kept = self._partial.get(state.stream, "")
                self._partial[state.stream] = (kept + state.text)[:_MAX_LINE]
                return None
            if state.text == before or state.stream in self._partial:
                break
        if state.stream in self._partial:
            return self._joined(state, cut=False)
        text = state.text
        if text.endswith("]") and text.endswith(" across cluster]"):
            text = _RAY_REPEAT.sub("", text)
        cut = not ended and self._has_newlines
        return Line(text, state.stamp, self._shared(state.labels), state.process, cut)

    def _joined(self, state: _Layers, *, cut: bool) -> Line:
        """Put the parts of a split line together; what they hold may have decorations of its own."""
        whole = _Layers(_clean(self._partial.pop(state.stream) + state.text))
        whole.stamp, whole.labels = state.stamp, state.labels
        for _ in range(_MAX_LAYERS):
            if not self._peel_one(whole) or whole.partial:
                break
        return Line(whole.text, whole.stamp, self._shared(whole.labels), whole.process, cut)

    def _shared(self, labels: dict[str, str] | None) -> dict[str, str]:
        key = tuple(sorted(labels.items())) if labels else ()
        return self._labels.setdefault(key, labels or {})

    def _peel_one(self, state: _Layers) -> bool:
        first = state.text[:1]
        if first == "(":
            return _peel_process(state)
        if first.isdigit():
            return self._peel_time(state) or self._peel_word(state)
        if first == "{":
            return self._peel_record(state)
        if first == "[":
            return _peel_pod(state)
        if first.isalpha():
            return not state.text.startswith(_LEVELS) and self._peel_word(state)
        return False

    def _peel_time(self, state: _Layers) -> bool:
        found = _TIME.match(state.text)
        if found is None:
            return False
        stamp = self._clock.from_iso_match(found)
        if stamp is None:
            return False
        if state.stamp is None:
            state.stamp = stamp
        # Not a plain slice of everything: the white space after a time belongs to it.
        state.text = state.text[found.end() :].lstrip(" ")
        state.after_time = True
        cri = _CRI.match(state.text)
        if cri is not None:
            state.stream = cri[1]
            state.partial = cri[2] == "P"
            state.text = state.text[cri.end() :]
        return True

    def _peel_record(self, state: _Layers) -> bool:
        labels = _LOKI_LABELS.match(state.text)
        if labels is not None:
            state.add(records.identity(dict(_LOKI_LABEL.findall(labels[1]))))
            state.text = state.text[labels.end() :]
            return True
        record = records.read_record(state.text, self._clock)
        if record is None:
            return False
        state.text = _clean(record.text)
        state.stamp = state.stamp or record.stamp
        state.process = record.process or state.process
        state.stream, state.partial = record.stream, record.partial
        state.add(record.labels)
        return True

    def _peel_word(self, state: _Layers) -> bool:
        return self._peel_journal(state) or _peel_compose(state) or self._peel_stern(state)

    def _peel_journal(self, state: _Layers) -> bool:
        found = _JOURNAL.match(state.text)
        if found is not None:
            stamp = self._clock.syslog(found[1], found[2], found[3])
            state.stamp = state.stamp or stamp
            host, service = found[4], found[5]
        elif state.after_time and (found := _JOURNAL_AFTER_TIME.match(state.text)):
            host, service = found[1], found[2]
        else:
            return False
        state.add({"host": host, "service": service})
        state.text = state.text[found.end() :]
        return True

    def _peel_stern(self, state: _Layers) -> bool:
        found = _STERN.match(state.text)
        if found is not None:
            pod, container = found[1], found[2]
            self._stern.add(f"{pod} {container} ")
        elif self._stern:
            pod, container, _ = (*state.text.split(" ", 2), "", "")[:3]
            if f"{pod} {container} " not in self._stern:
                return False
        else:
            return False
        state.add({"pod": pod, "container": container})
        state.text = state.text[len(pod) + len(container) + 2 :]
        return True


class _Layers:
    """What is known of a line while its layers come off."""

    __slots__ = ("after_time", "labels", "partial", "process", "stamp", "stream", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.stamp: Stamp | None = None
        self.labels: dict[str, str] | None = None
        self.process = ""
        self.stream = ""
        self.partial = False
        self.after_time = False

    def add(self, labels: dict[str, str]) -> None:
        """Take labels over; what an outer layer said stands."""
        if labels:
            self.labels = {**labels, **(self.labels or {})}


def _clean(raw: str) -> str:
    """Drop line ends, colours, rewritten progress and the zero bytes of a truncated file."""
    text = raw.rstrip("\r\n")
    if "\r" in text:
        text = text.rsplit("\r", 1)[-1]
    if "\x1b" in text or _MAYBE_COLOUR.search(text):
        text = _COLOUR.sub("", text)
    return text.lstrip("\x00\ufeff") if text[:1] in "\x00\ufeff" else text


def _peel_process(state: _Layers) -> bool:
    found = _PROCESS.match(state.text)
    if found is None:
        return False
    name = found[1].strip(" ,")
    kind, _, rest = name.partition(":")
    if kind == "ServeReplica" and rest:
        state.add({"service": rest})
    else:
        state.process = name
    if found[2]:
        state.add({"host": found[2]})
    state.text = state.text[found.end() :]
    return True


def _peel_pod(state: _Layers) -> bool:
    found = _POD.match(state.text)
    if found is None:
        return False
    state.add({"pod": found[1], "container": found[2]})
    state.text = state.text[found.end() :]
    return True


def _peel_compose(state: _Layers) -> bool:
    found = _COMPOSE.match(state.text)
    if found is None:
        return False
    state.add({"service": found[1]})
    state.text = state.text[found.end() :]
    return True
