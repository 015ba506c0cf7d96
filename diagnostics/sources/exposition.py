"""Prometheus text and OpenMetrics, with or without timestamps.

One pass over lines, no regular expression per line: the text before the value is looked up whole, and labels are
parsed once a series. An 8 MB dump with 200 label sets takes well under a second.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable

import numpy as np

from diagnostics.engines import registry
from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind, Provenance, Series, Setting

_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_.:]*)\s*=\s*"((?:[^"\\]|\\.)*)"')
_SAMPLE = re.compile(r"^[a-zA-Z_:][a-zA-Z0-9_:]*(\{.*\})?\s+[-+0-9.eEInfNa]+(\s+[-+0-9.eE]+)?\s*(#.*)?$")
_EDGE = re.compile(r'(?<![a-zA-Z0-9_])le="([-+0-9.eEInf]+)"')
_WHOLE = re.compile(r'([^\s{]+(?:\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?)(\s.*)$')
_PART = re.compile(r"_(bucket|sum|count)$")
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}
_ESCAPE = re.compile(r'\\[\\"n]')
# 1e11 s is the year 5138: larger stamps are milliseconds (text format 0.0.4), smaller are seconds (OpenMetrics).
_MILLISECONDS = 1e11
_COMMENTS = ("# HELP ", "# TYPE ", "# UNIT ", "# EOF")
_NONE_WORDS = frozenset({"", "None", "none", "null"})


def looks_like_exposition(head: list[str]) -> bool:
    """Whether these first lines are metrics text: at least one sample, and more samples than other text."""
    lines = [line for line in head if line.strip() and not line.startswith("#")]
    if not lines:
        return any(line.startswith(("# HELP ", "# TYPE ")) for line in head)
    good = sum(1 for line in lines if _SAMPLE.match(line.strip()))
    return good * 2 >= len(lines)


def parse_labels(text: str) -> dict[str, str]:
    """Labels of ``{a="b",c="d"}``; escapes undone. The values are hostile text."""
    labels = {}
    for name, value in _LABEL.findall(text):
        labels[name] = _ESCAPE.sub(lambda m: _ESCAPES[m.group()], value) if "\\" in value else value
    return labels


def _split(line: str) -> tuple[str, str]:
    """The series of a sample line that has an exemplar or a ``#`` in a label, and its value with the time."""
    found = _WHOLE.match(line.strip())
    if found is None:
        return line, ""
    return found.group(1), found.group(2).partition("#")[0]


class _Builder:
    """Collects samples; one entry a series."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.index: dict[str, int] = {}
        self.wanted: dict[str, bool] = {}
        self.label_sets: dict[str, dict[str, str]] = {}
        self.series_of, self.times, self.values = array("q"), array("d"), array("d")
        self.passed: dict[str, int] = {}
        self.bad = 0
        self.first_bad = ""

    def series(self, text: str) -> int:
        """Number of the series written like this, met for the first time; -1 when it is not wanted."""
        name, _, rest = text.partition("{")
        name = name.strip()
        wanted = self.wanted.get(name)
        if wanted is None:
            wanted = self.wanted[name] = registry.wanted(name)
        number = -1
        if wanted:
            number = len(self.capture.series)
            self.capture.series.append(self._series(name, rest))
        else:
            self.passed[name] = self.passed.get(name, 0) + 1
        self.index[text] = number
        return number

    def _series(self, name: str, text: str) -> Series:
        """A series; those that differ only in their bucket share one dictionary of labels."""
        edge = _EDGE.search(text) if name.endswith("_bucket") else None
        rest = text if edge is None else text[: edge.start()] + text[edge.end() :]
        labels = self.label_sets.get(rest)
        if labels is None:
            labels = self.label_sets[rest] = parse_labels(rest)
        return Series(name, labels, None if edge is None else float(edge.group(1)))

    def take(self, lines: Iterable[str]) -> None:
        """Take all lines. This loop runs millions of times, so it calls little and holds its names locally."""
        index, series_of, times, values = self.index, self.series_of, self.times, self.values
        for number, line in enumerate(lines, start=1):
            if "#" in line:
                stripped = line.strip()
                if stripped.startswith("#"):
                    if not stripped.startswith(_COMMENTS):
                        self.capture.settings.extend(_remark(stripped))
                    continue
                series, tail = _split(line)
            elif end := line.rfind("}") + 1:
                series, tail = line[:end], line[end:]
            else:
                series, _, tail = line.strip().replace("\t", " ").partition(" ")
            rest = tail.split(None, 2)
            try:
                number_of = index.get(series)
                if number_of is None:
                    if not rest:
                        if line.strip():
                            raise ValueError
                        continue
                    number_of = self.series(series)
                if number_of < 0:
                    continue
                worth = float(rest[0])
                time = float(rest[1]) if len(rest) > 1 else np.nan
            except (ValueError, IndexError):
                self.bad += 1
                self.first_bad = self.first_bad or f"line {number}"
                continue
            series_of.append(number_of)
            times.append(time / 1000 if time > _MILLISECONDS else time)
            values.append(worth)

    def finish(self) -> None:
        """Hand over the arrays, and what was passed over by family."""
        self.capture.series_of = np.frombuffer(self.series_of, dtype=np.int64).copy()
        self.capture.times = np.frombuffer(self.times, dtype=np.float64).copy()
        self.capture.values = np.frombuffer(self.values, dtype=np.float64).copy()
        unused = self.capture.unused
        for name, count in self.passed.items():
            if not name.endswith("_created"):
                family = _PART.sub("", name)
                unused[family] = unused.get(family, 0) + count


def read_exposition(source: str, lines: Iterable[str]) -> Capture:
    """Read metrics text.

    Args:
        source: the input as the user named it.
        lines: text lines, with or without line ends.

    Returns:
        A capture of kind ``openmetrics`` when samples carry times, else ``exposition``.

    Raises:
        InputError: no sample line can be read.
    """
    capture = Capture(source=source, kind=InputKind.EXPOSITION)
    builder = _Builder(capture)
    builder.take(lines)
    if not builder.index:
        raise InputError(
            source, builder.first_bad, "no metrics could be read", "give the text of a /metrics page"
        )
    builder.finish()
    if builder.bad:
        capture.warnings.append(
            f"{builder.bad} lines were not metrics, first {builder.first_bad}; passed over"
        )
    if capture.times is not None and len(capture.times) and not np.isnan(capture.times).any():
        capture.kind = InputKind.OPENMETRICS
    describe(capture)
    return capture


def _remark(line: str) -> list[Setting]:
    """What a person wrote into a dump about the run."""
    from diagnostics.sources.config.remarks import read_remark  # noqa: PLC0415  few dumps hold a remark

    return read_remark(line)


def describe(capture: Capture) -> None:
    """Fill in engine, settings of info metrics and the sentence on what was recognised."""
    engines = [name for s in capture.series if (name := registry.engine_of(s.name))]
    if engines:
        capture.engine = max(set(engines), key=engines.count)
    for series in capture.series:
        capture.settings.extend(info_settings(series))
    routed = sum(registry.is_of_router(s.name, s.labels) for s in capture.series)
    if routed:
        capture.warnings.append(
            f"{routed} series with the label server and no model_name are a router's own under names of vLLM; they "
            "are left out: give the engines' own metrics"
        )
    used = sorted({s.name for s in capture.series})
    capture.recognised = f"{len(used)} known sample names in {len(capture.series)} series"
    if capture.unused:
        capture.recognised += f"; {len(capture.unused)} metric families not used"


def info_settings(series: Series) -> list[Setting]:
    """Settings that an info metric carries in its labels."""
    info = registry.info_metric(series.name)
    if info is None:
        return []
    identity = {k: v for k, v in series.labels.items() if k not in info.settings}
    return [
        Setting(name, series.labels[label], Provenance.CONFIGURED, f"labels of {series.name}", identity)
        for label, name in info.settings.items()
        if series.labels.get(label) not in _NONE_WORDS and label in series.labels
    ]
