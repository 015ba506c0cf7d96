"""One escaping function a format. Labels, names and log lines are hostile text until they passed one of these."""

from __future__ import annotations

import html
import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!])")
_LINK_SCHEME = re.compile(r"(?i)\b(https?|javascript|data|file|ftp):")


def terminal(text: str) -> str:
    """Text without control characters and direction marks, on one line: nothing can move the cursor or hide."""
    return _CONTROL.sub("", text.replace("\n", " ").replace("\t", " "))


def markdown(text: str) -> str:
    """Text with every character that Markdown reads made plain; no automatic links."""
    plain = _MARKDOWN.sub(r"\\\1", terminal(text))
    return _LINK_SCHEME.sub(lambda m: m.group().replace(":", "&#58;"), plain)


def markup(text: str) -> str:
    """Text for HTML, inside elements and in quoted attributes."""
    return html.escape(terminal(text), quote=True)
