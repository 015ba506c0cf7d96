"""Errors that a person can act on."""

from __future__ import annotations


class InputError(Exception):
    """An input that cannot be used.

    The message is one line: which input, which place in it, what was expected, how to mend it.
    """

    def __init__(self, source: str, place: str, expected: str, remedy: str) -> None:
        self.source, self.place, self.expected, self.remedy = source, place, expected, remedy
        where = f"{source}, {place}" if place else source
        super().__init__(f"{where}: {expected}; {remedy}" if remedy else f"{where}: {expected}")


class OptionError(Exception):
    """An option that is wrong: name, what was given, what is allowed."""
