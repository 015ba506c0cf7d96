"""Damaged inputs of every grammar are read or refused in one line; ``long.py`` goes on where this stops."""

from __future__ import annotations

import pytest
from fuzz.cases import GRAMMARS, configure, make, read, reader_of, walk
from fuzz.seeds import configuration, corpus

_CASES = 80
_WHOLE = 3


@pytest.mark.parametrize("grammar", sorted(corpus()))
def test_sound_inputs_are_read(grammar: str) -> None:
    """What is damaged below would be refused for another reason if it were not sound."""
    assert {read(data) for data in corpus()[grammar]} == {"read"}


def test_the_sound_configuration_is_read() -> None:
    assert configure(configuration()) == "read"


def test_a_case_is_the_same_every_time() -> None:
    """A failure that a long run names can be looked at again."""
    assert [make("log", n) for n in range(20)] == [make("log", n) for n in range(20)]
    assert len({make("log", n) for n in range(20)}) > 15


@pytest.mark.parametrize("grammar", GRAMMARS)
def test_damaged_inputs_are_read_or_refused_in_one_line(grammar: str) -> None:
    """Neither a traceback nor columns that do not fit each other."""
    said = [reader_of(grammar)(make(grammar, number)) for number in range(_CASES)]
    assert set(said) <= {"read", "refused"}
    assert "read" in said


@pytest.mark.parametrize("grammar", sorted(set(GRAMMARS) - {"toml"}))
def test_damaged_inputs_are_diagnosed_or_refused_in_one_line(grammar: str) -> None:
    """Through every rule and into every report."""
    said = {walk(make(grammar, number)) for number in range(_WHOLE)}
    assert said <= {"refused", "healthy", "findings", "insufficient-data"}
