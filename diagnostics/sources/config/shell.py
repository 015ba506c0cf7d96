"""Takes shell text apart without a shell: words, comments, environment, variables. Nothing is run."""

from __future__ import annotations

import re

from msgspec import Struct, field

# Text copied from web pages carries typographic quotes and dashes; engines refuse them, people mean these.
_TYPOGRAPHIC = str.maketrans("\u201c\u201d\u2018\u2019\u00a0", "\"\"'' ")
_DASHES = re.compile(r"(?<=\s)[\u2013\u2014](?=[A-Za-z])")
_CONTINUATION = re.compile(r"[ \t]*[\\^][ \t]*\r?\n(?:[ \t]*>[ \t])?")
# A line of nothing but options belongs to the one above: the mark at its end was lost in copying.
_LOST_MARK = re.compile(r"\r?\n(?=[ \t]*--[a-z][\w-])")

_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r]+)
  | (?P<comment>\#[^\n]*)
  | (?P<end>\d?>{1,2}&?[ \t]*\S*|<<?-?[ \t]*\w*|&>{1,2}[ \t]*\S*|&&|\|\|?|;|&|\n)
  | (?P<word>(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\.|\$\([^()\n]*\)|`[^`\n]*`|[^\s"'\\;|&<>])+)
    """,
    re.VERBOSE | re.DOTALL,
)
_PART = re.compile(
    r"\"(?P<double>(?:[^\"\\]|\\.)*)\"|'(?P<single>[^']*)'|\\(?P<escaped>.)|(?P<bare>[^\"'\\]+)", re.S
)
_ASSIGNMENT = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)=(.*)$", re.S)
_SHELLS = frozenset({"sh", "bash", "ash", "zsh", "dash"})
OPTION = re.compile(r"^(--?[A-Za-z][\w.-]*)(?:=(.*))?$", re.S)
_VARIABLE = re.compile(r"\$\{(\w+)(?::?-([^}]*))?\}|\$\((\w+)\)|\$(\w+)")


class Words(Struct):
    """One simple command.

    Attributes:
        words: its words, quotes removed.
        comment: what stood behind a ``#`` on its line, without the ``#``.
        balanced: False when a quote was never closed, so that the words are a guess.
    """

    words: list[str] = field(default_factory=list)
    comment: str = ""
    balanced: bool = True


def join_lines(text: str) -> str:
    """Make one line of a command that is written over several."""
    return _LOST_MARK.sub(" ", _CONTINUATION.sub(" ", text))


def split_commands(text: str) -> list[Words]:
    """Split text into simple commands at ``;``, ``&&``, ``|`` and line ends.

    An unclosed quote does not fail: the rest is split at white space and marked as unbalanced.
    """
    text = _DASHES.sub("--", join_lines(text).translate(_TYPOGRAPHIC))
    commands: list[Words] = []
    current = Words()
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            current.words += [part.strip("\"'") for part in text[position:].split() if part.strip("\"'")]
            current.balanced = False
            break
        position = match.end()
        kind = match.lastgroup
        if kind == "word":
            current.words.append(_unquote(match.group()))
        elif kind == "comment":
            current.comment = match.group()[1:].strip()
        elif kind == "end" and (match.group()[:1] in ";|\n" or match.group() in {"&", "&&"}):
            # Redirections only lose their target; these marks really end a command.
            commands.append(current)
            current = Words()
    commands.append(current)
    return [command for command in commands if command.words or command.comment]


def _unquote(word: str) -> str:
    """Remove one level of quoting from a word."""
    parts = []
    for match in _PART.finditer(word):
        double = match.group("double")
        if double is not None:
            parts.append(re.sub(r"\\([\"\\$`\n])", r"\1", double))
        else:
            parts.append(match.group("single") or match.group("escaped") or match.group("bare") or "")
    return "".join(parts)


def take_assignments(words: list[str]) -> tuple[dict[str, str], list[str]]:
    """Separate ``NAME=value`` words in front of a command from the command."""
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        match = _ASSIGNMENT.match(word)
        if match is None:
            return found, words[index:]
        found[match.group(1)] = match.group(2)
    return found, []


def fill_variables(word: str, known: dict[str, str]) -> tuple[str, list[str]]:
    """Put known variables into a word, and tell which are not known.

    ``${NAME:-value}`` falls back to its own default, as a shell would do.
    """
    missing: list[str] = []

    def value_of(match: re.Match[str]) -> str:
        name = match.group(1) or match.group(3) or match.group(4)
        if name in known:
            return known[name]
        if match.group(2) is not None:
            return match.group(2)
        missing.append(name)
        return match.group()

    filled = _VARIABLE.sub(value_of, word)
    if not missing and ("$(" in filled or re.fullmatch(r"`.*`", filled)):
        missing.append(filled)  # what a shell would have to run to know
    return filled, missing


def inner_script(words: list[str]) -> str | None:
    """Give the script of ``sh -c "..."``."""
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return None
    for index, word in enumerate(words[1:-1], start=1):
        if re.fullmatch(r"-[a-z]*c", word):
            return words[index + 1]
    return None
