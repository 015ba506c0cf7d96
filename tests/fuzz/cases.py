"""One case of the fuzzing: made from a grammar and a number alone, run, and judged by what may come of it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from fuzz.mutators import mutate
from fuzz.seeds import configuration, corpus

from diagnostics import Options, diagnose
from diagnostics.cli.options import parse, to_options
from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.samples import Capture
from diagnostics.reports import html, json, text
from diagnostics.sources.content import Content
from diagnostics.sources.recognise import ReadOptions, read_content

GRAMMARS = (*corpus(), "toml")


def make(grammar: str, number: int) -> bytes:
    """The damaged input of a number; the same on every machine."""
    rng = random.Random(f"{grammar} {number}")
    if grammar == "toml":
        return mutate(rng, configuration(), corpus()["manifest"][0])
    sound = rng.choice(corpus()[grammar])
    other = rng.choice(corpus()[rng.choice(list(corpus()))])
    return mutate(rng, sound, other)


def read(data: bytes) -> str:
    """Read an input: a capture whose columns fit each other, or one line that says what is wrong."""
    try:
        capture = read_content(Content("input.txt", data=data), ReadOptions())
    except InputError as error:
        return _one_line(error)
    _check(capture)
    return "read"


def walk(data: bytes) -> str:
    """Diagnose an input and write the report: any answer, or one line that says what is wrong."""
    try:
        found = diagnose(["-"], Options(), stdin=data)
    except (InputError, OptionError) as error:
        return _one_line(error)
    json.render(found.report)
    text.render(found.report)
    html.render(found)
    return found.report.verdict.status


def configure(data: bytes) -> str:
    """Take a team's TOML file as the command does: options, or one line that says which is wrong."""
    with tempfile.NamedTemporaryFile(suffix=".toml") as file:
        Path(file.name).write_bytes(data)
        try:
            to_options(parse(["-", "--config", file.name]))
        except OptionError as error:
            return _one_line(error)
    return "read"


def reader_of(grammar: str) -> Callable[[bytes], str]:
    """What reads inputs of a grammar."""
    return configure if grammar == "toml" else read


def _one_line(error: Exception) -> str:
    said = str(error)
    assert said.strip(), "an error that says nothing"
    assert len(said.splitlines()) == 1, f"an error of several lines: {said!r}"
    assert len(said) < 1000, f"an error of {len(said)} characters: {said[:200]!r}"
    return "refused"


def _check(capture: Capture) -> None:
    """What every reader promises of what it hands on."""
    assert capture.recognised, "nothing is said of what was recognised"
    if capture.series_of is None or capture.times is None or capture.values is None:
        assert not capture.series, "series without samples"
        return
    assert len(capture.series_of) == len(capture.times) == len(capture.values)
    if len(capture.series_of):
        assert 0 <= int(capture.series_of.min()) <= int(capture.series_of.max()) < len(capture.series)
    assert not np.isinf(capture.times).any(), "a sample at an infinite time"
