"""What private text looks like: addresses, hosts, paths, users, keys, quoted text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from diagnostics.model.catalog import SIGNALS
from diagnostics.model.report import Regime

REMOVED = "[removed]"
# Files that every model comes with; advice names them.
PLAIN_FILES = ("config.json", "generation_config.json", "tokenizer.json")
# Words that this product writes itself: as somebody's name they tell nothing, and sentences need them.
VOCABULARY = frozenset(
    {*SIGNALS, *(r.value for r in Regime), "vllm", "sglang", "trtllm", "tgi", "llamacpp", "engine", "server"}
    | {
        "replica",
        "the",
        "for",
        "and",
        "of",
        "to",
        "in",
        "on",
        "at",
        "is",
        "are",
        "no",
        "while",
        "requests",
        "tokens",
    }
    | {
        "metrics",
        "logs",
        "log",
        "data",
        "home",
        "tmp",
        "var",
        "mnt",
        "opt",
        "srv",
        "root",
        "users",
        "app",
        "model",
    }
    | {
        "models",
        "cache",
        "standard input",
        "input",
        "router",
        "prompt",
        "gpu",
        "request",
        "time",
        "queue",
        "kv",
    }
)
_NEUTRAL = re.compile(r"(?:replica|deployment|model|input|run|host|path|user|address)-\d+")


class Names(Struct):
    """Neutral names, numbered by kind; the same text gets the same name everywhere."""

    given: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=lambda: set(PLAIN_FILES))
    counts: dict[str, int] = field(default_factory=dict)
    _pattern: re.Pattern[str] | None = None

    def give(self, text: str, kind: str) -> str:
        """The neutral name of a text; a new one when it has none."""
        if not text or text.lower() in VOCABULARY or _NEUTRAL.fullmatch(text):
            return text
        if text not in self.given:
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.given[text] = f"{kind}-{self.counts[kind]}"
            self._pattern = None
        return self.given[text]

    def alias(self, text: str, neutral: str) -> None:
        """Another text for something that has a neutral name."""
        if (
            len(text.strip("/.")) > 1
            and text.lower() not in VOCABULARY
            and text not in self.given
            and text not in self.kept
        ):
            self.given[text] = neutral
            self._pattern = None

    def keep(self, text: str) -> None:
        """A text that is public."""
        self.kept.add(text)
        self._pattern = None

    def known(self) -> re.Pattern[str]:
        """Finds every known text as a whole word, the longest first."""
        if self._pattern is None:
            texts = sorted({*self.given, *self.kept}, key=len, reverse=True)
            whole = "|".join(re.escape(t) for t in texts) or r"(?!)"
            self._pattern = re.compile(rf"(?<![\w])(?:{whole})(?![\w])")
        return self._pattern

    def of(self, text: str) -> str:
        """What to write instead of a known text."""
        return text if text in self.kept else self.given[text]


_NAME = r"[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?"
_HEX = r"[0-9a-fA-F]{1,4}"
_KEY_WORDS = r"api[_-]?key|token|secret|passw(?:or)?d|credential|access[_-]?key|signature"
_KEY_STARTS = r"hf_|sk-|pk-|ghp_|gho_|github_pat_|glpat-|xox[abprs]-|AKIA|ASIA|AIza|eyJ"
_POD = r"(?:[a-f0-9]{8,10}|[bcdf-hj-np-tv-z2-9]{8,10})-[a-z0-9]{5}"
# In this order: what removes most comes first.
_SHAPES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(shape))
    for kind, shape in (
        ("removed", r"(?is)\b(?:prompt|message|content|completion|input_text|query)s?[\"']?\s*[:=].*"),
        (
            "removed",
            r"(?i)\b(?:authorization|bearer|basic|cookie)\b[\"']?\s*[:=]?\s*(?:bearer\s+|basic\s+)?\S+",
        ),
        ("removed", rf"(?i)[\w-]*(?:{_KEY_WORDS})[\"']?\s*[:=]\s*[\"']?[^\s\"',;]+"),
        ("removed", r"-----BEGIN [A-Z ]+-----.*"),
        ("removed", rf"\b(?:{_KEY_STARTS})[\w.~+/=-]{{6,}}"),
        ("address", r"(?i)\b[a-z][a-z0-9+.-]*://[^\s\"'<>)\]]+"),
        ("user", r"[\w.+-]+@[\w-]+(?:\.[\w-]+)*"),
        ("user", r"(?i)\b(?:user(?:name|_?id)?|login|account|owner)[\"']?\s*[:=]\s*[\"']?[^\s\"',;]+"),
        # The page that every engine serves is no secret; every other path is.
        ("path", r"(?<![\w/.])(?!/metrics\b)(?:~|\.{1,2})?/(?:[^\s/\"'<>|:,;]+/)*[^\s/\"'<>|:,;)\]]+"),
        ("path", r"(?i)\b[a-z]:\\[^\s\"'<>|]+|\\\\[^\s\"'<>|]+"),
        ("path", rf"\b{_NAME}(?:/{_NAME}){{2,}}\b"),
        ("host", r"(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\w.]\d)"),
        (
            "host",
            rf"(?<![\w:])\[?(?:(?:{_HEX}:){{3,7}}(?:{_HEX})?|(?:{_HEX}:){{1,6}}(?::{_HEX}){{1,6}})\]?(?::\d+)?",
        ),
        ("host", rf"(?<![\w:])\[?::{_HEX}(?::{_HEX}){{0,6}}\]?(?::\d+)?"),
        ("host", rf"\b(?:{_NAME}\.)+[A-Za-z][A-Za-z0-9-]+(?::\d+)?\b"),
        ("host", rf"\b(?=[\w-]*[A-Za-z]){_NAME}:\d{{2,5}}\b"),
        ("removed", r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"),
        ("removed", r"\b(?=[a-zA-Z+/=]*\d)(?=\w*[A-Za-z])[A-Za-z0-9+/=]{20,}"),
        # Pods of a deployment or a set, numbered machines.
        ("host", rf"\b[a-z][a-z0-9]*(?:-[a-z0-9]+)*-{_POD}\b"),
        (
            "host",
            r"(?<![\w-])[a-z]{2,}[a-z0-9]*(?:-[a-z0-9]+)*-\d+\b|\b(?:ip|node|host|server|worker|pod)\d[\w-]*",
        ),
    )
)
# Labels whose values an engine chooses from its own words.
_OWN_LABELS = frozenset({"le", "quantile", "reason", "finished_reason", "position", "stage", "source"})
_MATCHER = re.compile(r"(\b(\w+)\s*(?:=~|!~|!=|=)\s*)\"((?:[^\"\\]|\\.)*)\"")
_QUOTED = re.compile(
    r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'(?!\w)|`[^`]*`|\u201c[^\u201d]*\u201d|\u2018[^\u2019]*\u2019"
)
# A quotation of so many words is somebody's text; fewer are names of options and fields.
_TEXT_WORDS = 3


def scrub(text: str, names: Names) -> str:
    """One text without anything private.

    Known names are replaced first, then label values of queries, then whatever has a private shape.
    """
    cleaned = _apart(text, names.known(), names.of)
    cleaned = _outside(cleaned, names, _MATCHER, lambda m: f'{m[1]}"{_label(m[2], m[3], names)}"')
    cleaned = _outside(cleaned, names, _QUOTED, _quoted)
    for kind, pattern in _SHAPES:
        cleaned = _outside(cleaned, names, pattern, _replacement(kind, names))
    return cleaned


def _apart(text: str, pattern: re.Pattern[str], change: Callable[[str], str]) -> str:
    return pattern.sub(lambda m: change(m.group()), text)


def _outside(
    text: str, names: Names, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]
) -> str:
    """Replace outside of what is neutral or public already."""
    return "".join(part if fixed else pattern.sub(change, part) for part, fixed in _parts(text, names))


def _parts(text: str, names: Names) -> Iterator[tuple[str, bool]]:
    kept = "|".join(re.escape(k) for k in sorted(names.kept, key=len, reverse=True))
    fixed = re.compile(_NEUTRAL.pattern + (f"|{kept}" if kept else ""))
    at = 0
    for match in fixed.finditer(text):
        yield text[at : match.start()], False
        yield match.group(), True
        at = match.end()
    yield text[at:], False


def _label(name: str, value: str, names: Names) -> str:
    own = name in _OWN_LABELS and re.fullmatch(r"[a-z_|]{1,24}", value)
    number = re.fullmatch(r"[\d.]+|\+Inf", value)
    return value if not value or value in names.kept or own or number else REMOVED


def _quoted(match: re.Match[str]) -> str:
    inner = match.group()[1:-1]
    return (
        match.group()[0] + REMOVED + match.group()[-1] if len(inner.split()) > _TEXT_WORDS else match.group()
    )


def _replacement(kind: str, names: Names) -> Callable[[re.Match[str]], str]:
    if kind == "removed":
        return lambda _: REMOVED
    return lambda match: names.give(match.group(), kind)
