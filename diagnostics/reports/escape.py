"""One escaping function a format: labels, names and log lines are hostile text until they passed one."""

from __future__ import annotations

import html
import re

# Control characters, marks that turn the direction of text, characters without width, line ends of other
# alphabets, tags, halves of characters that no file can hold, and what XML forbids.
_CONTROL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Sequences that colour a terminal, set its title or move its cursor: the letters in them go too.
_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_SPACES = re.compile(r"[\t\n\r\x0b\x0c\x85\u2028\u2029]+")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~!$])")
_ADDRESS = re.compile(r"(?i)\b(https?|javascript|data|file|ftp|mailto|xmpp|vbscript):")
_WWW = re.compile(r"(?i)\bwww\.")
_RUN_OF_TICKS = re.compile(r"`+")


def terminal(text: str) -> str:
    """Text on one line without control characters and direction marks: nothing moves the cursor or hides."""
    return _CONTROL.sub("", _SPACES.sub(" ", _SEQUENCE.sub("", text)))


def markdown(text: str) -> str:
    """Text with every character that Markdown reads made plain; no automatic links and no mentions."""
    plain = _MARKDOWN.sub(r"\\\1", terminal(text).replace("&", "&amp;"))
    plain = _WWW.sub(lambda m: m.group()[:3] + "&#46;", plain)
    plain = _ADDRESS.sub(lambda m: m.group().replace(":", "&#58;"), plain)
    # A joiner without width after the sign: platforms look for mentions in the finished text.
    return plain.replace("@", "&#64;&#8288;")


def chat(text: str) -> str:
    """Text for a Slack message: no mention, link or channel can be written with it."""
    return terminal(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def markdown_code(text: str) -> str:
    """Text as inline code, delimited so that no backtick in it ends the code."""
    plain = terminal(text).strip()
    longest = max((len(run) for run in _RUN_OF_TICKS.findall(plain)), default=0)
    ticks = "`" * (longest + 1)
    space = " " if plain.startswith("`") or plain.endswith("`") else ""
    return f"{ticks}{space}{plain}{space}{ticks}" if plain else ""


def markdown_block(lines: list[str], language: str = "") -> str:
    """Lines as a code block whose fence is longer than any in it."""
    plain = [terminal(line) for line in lines]
    longest = max((len(run) for line in plain for run in _RUN_OF_TICKS.findall(line)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", *plain, fence])


def markup(text: str) -> str:
    """Text for HTML and XML, inside elements and in quoted attributes."""
    return html.escape(terminal(text), quote=True)


def label_value(text: str) -> str:
    """Text between the quotes of a PromQL matcher or of a label in Prometheus text."""
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def link(address: str) -> str | None:
    """A web address for an attribute, or None when it is anything else."""
    plain = terminal(address).strip()
    return html.escape(plain, quote=True) if re.match(r"(?i)https?://[^\s/]", plain) else None
