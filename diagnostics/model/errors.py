"""Errors that a person can act on."""

from __future__ import annotations

# A message repeats names and values of an input, which may be of any length.
_LONGEST = 600


def one_line(text: str) -> str:
    """A message without line breaks and of bearable length, since parts of it come from inputs."""
    line = " ".join(text.splitlines())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 100]} ... {line[-90:]}"


class InputError(Exception):
    """An input that cannot be used.

    The message is one line: which input, which place in it, what was expected, how to mend it.
    """

    def __init__(self, source: str, place: str, expected: str, remedy: str) -> None:
        self.source, self.place, self.expected, self.remedy = source, place, expected, remedy
        where = f"{source}, {place}" if place else source
        super().__init__(one_line(f"{where}: {expected}; {remedy}" if remedy else f"{where}: {expected}"))


class OptionError(Exception):
    """An option that is wrong: name, what was given, what is allowed. The message is one line."""

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))
