"""Runbooks as HTML: the small part of Markdown that they are written in, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files

from diagnostics.reports.escape import link, markup

_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>[^*]+)\*\*|\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)"
    r"|(?P<url>https?://[^\s)>,]+)"
)
_ITEM = re.compile(r"(?P<indent> *)(?P<mark>-|\d+\.) (?P<text>.*)")
_FENCE = re.compile(r"(?P<indent> *)```(?P<language>\w*)")


def text_of(slug: str) -> str | None:
    """The Markdown of one runbook of this package, or None when there is none."""
    if not re.fullmatch(r"[a-z0-9-]+", slug):
        return None
    source = files("diagnostics").joinpath("runbooks", f"{slug}.md")
    return source.read_text("utf-8") if source.is_file() else None


def to_html(text: str, *, known: frozenset[str] = frozenset(), level: int = 3) -> str:
    """Markdown as HTML, without its first heading.

    Args:
        text: the runbook.
        known: slugs of runbooks on the same page; links to others become plain text.
        level: the heading level that ``##`` becomes.
    """
    lines = [line for line in text.splitlines() if not line.startswith(("# ", "<!--"))]
    return "\n".join(_Blocks(lines, known, level).render())


def inline(text: str, known: frozenset[str] = frozenset()) -> str:
    """One stretch of text: code, bold, links."""
    parts, at = [], 0
    for match in _INLINE.finditer(text):
        parts.append(markup(text[at : match.start()]))
        parts.append(_span(match, known))
        at = match.end()
    return "".join([*parts, markup(text[at:])])


def _span(match: re.Match[str], known: frozenset[str]) -> str:
    if match["code"]:
        return f"<code>{markup(match['code'])}</code>"
    if match["bold"]:
        return f"<strong>{markup(match['bold'])}</strong>"
    if match["url"]:
        trailing = match["url"][len(match["url"].rstrip(".;")) :]
        return _anchor(match["url"].rstrip(".;"), match["url"].rstrip(".;"), known) + trailing
    return _anchor(match["text"], match["target"], known)


def _anchor(text: str, target: str, known: frozenset[str]) -> str:
    slug = target.removesuffix(".md")
    if slug in known:
        return f'<a href="#runbook-{slug}">{markup(text)}</a>'
    address = link(target)
    return f'<a href="{address}" rel="noopener noreferrer">{markup(text)}</a>' if address else markup(text)


class _Blocks:
    """Walks over lines once; every block is read to its end before the next begins."""

    def __init__(self, lines: list[str], known: frozenset[str], level: int) -> None:
        self.lines, self.known, self.level = lines, known, level
        self.at = 0

    def render(self) -> Iterator[str]:
        """Yield blocks until the lines end."""
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.strip():
                self.at += 1
            elif line.startswith("## "):
                self.at += 1
                yield f"<h{self.level}>{inline(line[3:], self.known)}</h{self.level}>"
            elif _FENCE.match(line):
                yield self._code()
            elif line.startswith("|"):
                yield self._table()
            elif _ITEM.match(line):
                yield self._list(len(line) - len(line.lstrip()))
            else:
                yield self._paragraph()

    def _code(self) -> str:
        indent = len(self.lines[self.at]) - len(self.lines[self.at].lstrip())
        body = []
        self.at += 1
        while self.at < len(self.lines) and not self.lines[self.at].strip().startswith("```"):
            body.append(markup(self.lines[self.at][indent:]))
            self.at += 1
        self.at += 1
        return "<pre><code>" + "\n".join(body) + "</code></pre>"

    def _table(self) -> str:
        rows = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("|"):
            rows.append([cell.strip() for cell in self.lines[self.at].strip().strip("|").split("|")])
            self.at += 1
        head, *body = [row for row in rows if not all(set(cell) <= set("-: ") for cell in row)]
        cells = "".join(f"<th>{inline(c, self.known)}</th>" for c in head)
        made = "".join(
            "<tr>" + "".join(f"<td>{inline(c, self.known)}</td>" for c in row) + "</tr>" for row in body
        )
        return (
            f'<div class="scroll"><table><thead><tr>{cells}</tr></thead><tbody>{made}</tbody></table></div>'
        )

    def _list(self, indent: int) -> str:
        """Items of one indentation, with whatever is indented below each."""
        first = _ITEM.match(self.lines[self.at])
        tag = "ul" if first is None or first["mark"] == "-" else "ol"
        items = []
        while self.at < len(self.lines):
            match = _ITEM.match(self.lines[self.at])
            if match is None or len(match["indent"]) != indent:
                break
            self.at += 1
            items.append(f"<li>{inline(match['text'], self.known)}{''.join(self._below(indent))}</li>")
        return f"<{tag}>{''.join(items)}</{tag}>"

    def _below(self, indent: int) -> Iterator[str]:
        while self.at < len(self.lines):
            line = self.lines[self.at]
            deep = len(line) - len(line.lstrip())
            if not line.strip() or deep <= indent:
                return
            if _FENCE.match(line):
                yield self._code()
            elif _ITEM.match(line):
                yield self._list(deep)
            else:
                self.at += 1
                yield f"<br>{inline(line.strip(), self.known)}"

    def _paragraph(self) -> str:
        """One sentence a line in the source; one paragraph on the page."""
        body = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if not line.strip() or line.startswith(("## ", "|")) or _ITEM.match(line) or _FENCE.match(line):
                break
            body.append(inline(line.strip(), self.known))
            self.at += 1
        return f"<p>{' '.join(body)}</p>"
