"""Reads ``key=value`` and ``'key': value`` lists that engines print as Python text, also when cut short."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

_MAX_TEXT = 200_000
_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[\[({]|[\])}]|,")
_PAIR = re.compile(r"\s*(?:'([^']+)'|\"([^\"]+)\"|([A-Za-z_][\w.-]*))\s*[:=]\s*(.*)", re.DOTALL)
_SECRET = re.compile(r"(?:^|_)(?:api_key|hf_token|password|secret|keyfile|keyfile_password|credentials)$")
_WHOLE_WORDS = frozenset({"True", "False", "None"})


def pairs(text: str, *, closed: bool) -> Iterator[tuple[str, str]]:
    """Yield the top-level pairs of a list of arguments, with strings unquoted and secrets left out.

    Args:
        text: what follows the opening bracket, or the bare list.
        closed: whether a closing bracket is expected. If it is missing, the text was cut, and the last
            value is only taken when it is whole beyond doubt.
    """
    items, complete = _split(text[:_MAX_TEXT])
    for number, item in enumerate(items):
        found = _PAIR.fullmatch(item)
        if found is None:
            continue
        name = found[1] or found[2] or found[3]
        value = found[4].strip()
        last_and_cut = closed and not complete and number == len(items) - 1
        if last_and_cut and not _is_whole(value):
            continue
        if value and not _SECRET.search(name):
            yield name, unquote(value)


def _split(text: str) -> tuple[list[str], bool]:
    """Split at commas outside brackets and quotes; tell whether the enclosing bracket was closed."""
    items: list[str] = []
    depth = start = 0
    for token in _TOKENS.finditer(text):
        sign = token[0]
        if sign in "[({":
            depth += 1
        elif sign in "])}":
            depth -= 1
            if depth < 0:
                items.append(text[start : token.start()])
                return items, True
        elif sign == "," and depth == 0:
            items.append(text[start : token.start()])
            start = token.end()
    items.append(text[start:])
    return items, False


def _is_whole(value: str) -> bool:
    return value in _WHOLE_WORDS or (len(value) > 1 and value[0] in "'\"" and value[-1] == value[0])


def unquote(value: str) -> str:
    """Return a quoted Python string without its quotes and anything else as written."""
    if len(value) > 1 and value[0] in "'\"" and value[-1] == value[0]:
        try:
            inner = ast.literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return value[1:-1]
        return str(inner)
    return value


def speculation(text: str) -> dict[str, str]:
    """Take method and draft length out of a speculative configuration, whichever way it was printed."""
    start = min((text.find(bracket) for bracket in "{(" if bracket in text), default=-1)
    known = dict(pairs(text[start + 1 :], closed=True))
    flat = {}
    method = known.get("method", "None")
    if method != "None":
        flat["speculative_method"] = method
    count = known.get("num_speculative_tokens") or known.get("num_spec_tokens") or "None"
    if count != "None":
        flat["num_speculative_tokens"] = count
    return flat
