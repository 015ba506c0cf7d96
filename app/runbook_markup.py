"""Markdown of the runbooks as HTML. Everything is escaped first; only the forms that runbooks use become elements."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`|\*\*(?P<bold>.+?)\*\*|\[(?P<text>[^\]]+)\]\((?P<target>[^)\s]+)\)|(?P<bare>https?://[^\s<>()]+[^\s<>().,;:])"
)
_ITEM = re.compile(r"(?P<indent> *)(?:[-*]|(?P<number>\d+)\.) +(?P<body>.*)")
_HEADING = re.compile(r"(#{1,4}) +(.*)")
_FENCE = re.compile(r" *```(\w*)")
_PAGE = re.compile(r"(?:\./)?([a-z0-9-]+)\.md")

Link = Callable[[str], str | None]


def to_html(markdown: str, page_link: Link) -> str:
    """A runbook as HTML.

    Args:
        markdown: the text.
        page_link: the address of another runbook's page, by its slug; None when there is none.
    """
    lines = _COMMENT.sub("", markdown).splitlines()
    return "\n".join(_blocks(lines, page_link))


def _blocks(lines: list[str], link: Link) -> Iterator[str]:
    i = 0
    while i < len(lines):
        line = lines[i]
        if not line.strip():
            i += 1
        elif _FENCE.fullmatch(line):
            block, i = _fence(lines, i)
            yield block
        elif heading := _HEADING.fullmatch(line):
            level = len(heading[1])
            name = re.sub(r"[^a-z0-9]+", "-", heading[2].lower()).strip("-")
            yield f'<h{level} id="{html.escape(name)}">{inline(heading[2], link)}</h{level}>'
            i += 1
        elif _ITEM.fullmatch(line):
            block, i = _list(lines, i, link)
            yield block
        elif line.lstrip().startswith("|"):
            block, i = _table(lines, i, link)
            yield block
        else:
            end = next((j for j in range(i, len(lines)) if _ends_paragraph(lines[j])), len(lines))
            end = max(end, i + 1)
            yield f"<p>{inline(' '.join(part.strip() for part in lines[i:end]), link)}</p>"
            i = end


def _ends_paragraph(line: str) -> bool:
    return not line.strip() or any(p.match(line) for p in (_HEADING, _FENCE, _ITEM)) or line.startswith("|")


def _fence(lines: list[str], start: int) -> tuple[str, int]:
    indent = len(lines[start]) - len(lines[start].lstrip())
    end = next((j for j in range(start + 1, len(lines)) if lines[j].strip() == "```"), len(lines))
    body = "\n".join(line[indent:] if not line[:indent].strip() else line for line in lines[start + 1 : end])
    return f"<pre><code>{html.escape(body)}</code></pre>", end + 1


def _list(lines: list[str], start: int, link: Link) -> tuple[str, int]:
    """A list with what is indented below its items."""
    first = _ITEM.fullmatch(lines[start])
    assert first is not None, "the caller saw an item"  # noqa: S101
    depth, tag = len(first["indent"]), "ol" if first["number"] else "ul"
    items, i = [], start
    while i < len(lines) and (item := _ITEM.fullmatch(lines[i])) and len(item["indent"]) == depth:
        if bool(item["number"]) != bool(first["number"]):
            break
        end = i + 1
        while end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > depth):
            end += 1
        inner = [line[depth + 2 :] if line[: depth + 2].strip() == "" else line.lstrip() for line in lines[i + 1 : end]]
        items.append(f"<li>{inline(item['body'], link)}{''.join(_blocks(inner, link))}</li>")
        i = end
    return f"<{tag}>{''.join(items)}</{tag}>", i


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _table(lines: list[str], start: int, link: Link) -> tuple[str, int]:
    end = next((j for j in range(start, len(lines)) if not lines[j].lstrip().startswith("|")), len(lines))
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines[start:end]]
    body = [row for row in rows if not all(set(cell) <= set("-: ") for cell in row)]
    made = []
    for number, row in enumerate(body):
        tag = "td" if number else "th"
        made.append("<tr>" + "".join(f"<{tag}>{inline(cell, link)}</{tag}>" for cell in row) + "</tr>")
    return f"<div class='wide'><table>{''.join(made)}</table></div>", end


def inline(text: str, link: Link) -> str:
    """One line of Markdown as HTML."""
    made, at = [], 0
    for found in _INLINE.finditer(text):
        made.append(html.escape(text[at : found.start()]))
        made.append(_inline_element(found, link))
        at = found.end()
    return "".join([*made, html.escape(text[at:])])


def _inline_element(found: re.Match[str], link: Link) -> str:
    if found["code"]:
        return f"<code>{html.escape(found['code'])}</code>"
    if found["bold"]:
        return f"<strong>{inline(found['bold'], link)}</strong>"
    target = found["bare"] or found["target"]
    label = html.escape(found["bare"]) if found["bare"] else inline(found["text"], link)
    if target.startswith(("https://", "http://")):
        return f'<a href="{html.escape(target)}" rel="noopener noreferrer">{label}</a>'
    page = _PAGE.fullmatch(target)
    address = link(page[1]) if page else None
    return f'<a href="{html.escape(address)}">{label}</a>' if address else label
