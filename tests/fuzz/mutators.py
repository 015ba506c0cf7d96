"""Ways to damage an input, as carelessness, software and ill will do. All chance comes from the given generator."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from random import Random
from typing import Any

Mutator = Callable[[Random, bytes, bytes], bytes]

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?")
_WORD = re.compile(rb"[A-Za-z_][\w.-]*")
NUMBERS = (
    b"0", b"-1", b"-0.0", b"1e308", b"1e999", b"-1e999", b"NaN", b"nan", b"Infinity", b"+Inf", b"0x10", b"", b"1_000", b"1,5",
    b"9" * 30, b"9" * 5000, b"18446744073709551616", b"1e-320", b"'", b"1795946532000000000", "٣".encode(), "²".encode(),
)  # fmt: skip
TOKENS = (
    b"\x00", b"\x00" * 40, b"\xff\xfe", b"\xed\xa0\x80", b"\xc3", b"\x1b[31m", b"\x1b]0;x\x07", "\u2028".encode(),
    "\u202e".encode(), "é漢字🜁".encode(), b"\r", b"\r\n", b"\n\n\n", b"\t", b'"', b"'", b"\\", b'\\"', b"`", b"$(x)", b"${X:-${Y}}",
    b"{{ .Values.x }}",
    b"<<: *a", b"&a ", b"*a", b"!!python/object:x ", b"---\n", b"%", b"%s", b"#", b"# EOF\n", b"{", b"}", b"[", b"]", b"{}", b"[]",
    b"null", b"None", b"true", b"NaN", b"|", b"<html>", b"\x1f\x8b", b"data: ", b" HTTP/1.1\" 500", b"$ vllm serve a/b ", b"--",
    b" #queue-req: ", b"vllm:num_requests_running ", b"Engine 000: ", b",", b": ", b"=",
)  # fmt: skip
_ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1e308, 10**25, 10**400, float("nan"), float("inf"),
    "", "x", "NaN", "\x00", [], {}, [[]], [None], {"": None},
    {"a": {"b": [1]}}, [1, "a", None], "9" * 400,
)  # fmt: skip


def _span(rng: Random, data: bytes) -> tuple[int, int]:
    """A stretch, short as a rule."""
    start = rng.randrange(len(data) + 1)
    longest = rng.choice((1, 8, 80, 800, len(data)))
    return start, min(len(data), start + rng.randrange(longest + 1))


def cut(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Lose a stretch."""
    start, end = _span(rng, data)
    return data[:start] + data[end:]


def end_early(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Lose everything after a place, or before it."""
    place = rng.randrange(len(data) + 1)
    return data[:place] if rng.random() < 0.7 else data[place:]


def repeat(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Say a stretch several times."""
    start, end = _span(rng, data)
    times = rng.choice((2, 3, 30))
    return data[:start] + data[start:end][:2000] * times + data[end:]


def swap(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Let two stretches change places."""
    a, b, c, d = sorted(rng.randrange(len(data) + 1) for _ in range(4))
    return data[:a] + data[c:d] + data[b:c] + data[a:b] + data[d:]


def insert(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Put something odd in."""
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(TOKENS) * rng.choice((1, 1, 1, 3)) + data[place:]


def flip(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Change single bytes."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 3, 10))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def renumber(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Put odd numbers in the place of some."""
    return _replace(rng, data, _NUMBER, lambda: rng.choice(NUMBERS))


def reword(rng: Random, data: bytes, other: bytes) -> bytes:
    """Put words of another input in the place of some."""
    words = _WORD.findall(other[:5000]) or [b"x"]
    return _replace(rng, data, _WORD, lambda: rng.choice(words))


def _replace(rng: Random, data: bytes, what: re.Pattern[bytes], new: Callable[[], bytes]) -> bytes:
    found = list(what.finditer(data))
    for match in sorted(rng.sample(found, min(len(found), rng.choice((1, 2, 10)))), key=lambda m: -m.start()):
        data = data[: match.start()] + new() + data[match.end() :]
    return data


def nest(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Open far more brackets than anybody closes."""
    opener, closer = rng.choice(
        ((b"[", b"]"), (b"{", b"}"), (b'{"a":', b"}"), (b"- ", b""), (b"(", b")"), (b"a: {", b"}"))
    )
    depth, place = rng.choice((100, 3000, 20_000)), rng.randrange(len(data) + 1)
    closed = closer * depth if rng.random() < 0.5 else b""
    return data[:place] + opener * depth + closed + data[place:]


def splice(rng: Random, data: bytes, other: bytes) -> bytes:
    """Begin as one input and go on as another."""
    return data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :]


def shuffle_lines(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Change the order of lines, within a stretch or everywhere."""
    lines = data.split(b"\n")
    start = rng.randrange(len(lines))
    part = lines[start : start + rng.choice((2, 10, len(lines)))]
    rng.shuffle(part)
    lines[start : start + len(part)] = part
    return b"\n".join(lines)


def weave(rng: Random, data: bytes, other: bytes) -> bytes:
    """Mix the lines of two inputs, as two writers into one file do."""
    lines = data.split(b"\n")
    for line in other.split(b"\n")[:20]:
        lines.insert(rng.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def drop_lines(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Lose some lines."""
    share = rng.choice((0.05, 0.5, 0.9))
    return b"\n".join(line for line in data.split(b"\n") if rng.random() > share)


def indent(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Move some lines to the right or the left, as pasting YAML does."""
    lines = data.split(b"\n")
    for _ in range(rng.choice((1, 3, 20))):
        i = rng.randrange(len(lines))
        lines[i] = rng.choice((lines[i].lstrip(), b"  " + lines[i], b"\t" + lines[i], b"- " + lines[i]))
    return b"\n".join(lines)


def encode(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Write the text in another encoding, with or without a byte order mark."""
    text = data.decode("utf-8", "replace")
    name = rng.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "utf-32", "cp1252"))
    return text.encode(name, "replace")


def retype(rng: Random, data: bytes, _other: bytes) -> bytes:
    """Where the input is JSON, or lines of it: put values of another kind in the place of some."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        lines = data.split(b"\n")
        i = rng.randrange(len(lines))
        if len(lines) > 1 and lines[i].lstrip()[:1] in (b"{", b"["):
            lines[i] = retype(rng, lines[i], b"")
        return b"\n".join(lines)
    for _ in range(rng.choice((1, 1, 3))):
        value = _retyped(rng, value)
    return json.dumps(value).encode("utf-8", "replace")


def _retyped(rng: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        chance = rng.random()
        if chance < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return {**value, key: _retyped(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.9:
        i = rng.randrange(len(value))
        return [*value[:i], _retyped(rng, value[i]), *value[i + 1 :]]
    return rng.choice(_ODD_VALUES)


MUTATORS: tuple[Mutator, ...] = (
    cut, end_early, repeat, swap, insert, flip, renumber, renumber, reword, nest, splice, shuffle_lines, weave, drop_lines,
    indent, encode, retype, retype,
)  # fmt: skip
_MOST = 400_000


def mutate(rng: Random, data: bytes, other: bytes) -> bytes:
    """Damage an input in one to four ways.

    Args:
        rng: where all chance comes from.
        data: what to damage.
        other: another input, to mix parts of it in.
    """
    for _ in range(rng.choice((1, 1, 2, 4))):
        data = rng.choice(MUTATORS)(rng, data, other)[:_MOST]
    return data
