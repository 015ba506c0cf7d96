"""Hostile text in every format."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from report_makers import made

from diagnostics.reports import escape, json, junit, markdown, text

HOSTILE = (
    "<script>alert(1)</script>",
    "](javascript:alert(1))",
    "[x](http://evil.example)",
    "![i](data:x)",
    "`code` ``",
    "```",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "a\u202eb",
    "a\u200bb",
    "line\nbreak",
    "\u2028",
    "| cell |",
    "# head",
    "]]>",
    "<!-- -->",
    "&lt;b&gt;",
    "@everyone",
    "www.evil.example",
    "\ud800",
    "\ufffe",
    "$x$",
    "a\r\n::error::b",
)


@pytest.mark.parametrize("bad", HOSTILE)
def test_a_terminal_gets_one_line_of_visible_text(bad: str) -> None:
    shown = escape.terminal(bad)
    assert len(shown.splitlines()) <= 1
    assert not [c for c in shown if not c.isprintable()]
    shown.encode()


def test_sequences_go_with_their_letters() -> None:
    assert escape.terminal("\x1b[31mred\x1b[0m \x1b]0;title\x07x") == "red x"


@pytest.mark.parametrize("bad", HOSTILE)
def test_markdown_gets_no_markup(bad: str) -> None:
    shown = escape.markdown(bad)
    for sign in ("<", ">", "[", "]", "`", "|", "*"):
        assert f"\\{sign}" in shown or sign not in shown
    assert "javascript:" not in shown
    assert "http:" not in shown
    assert "@e" not in shown
    assert "www." not in shown


def test_code_in_markdown_cannot_be_left() -> None:
    assert escape.markdown_code("a ``` b") == "````a ``` b````"
    block = escape.markdown_block(["````", "x"])
    assert block.splitlines()[0] == "`````"


def test_only_web_addresses_are_links() -> None:
    assert escape.link("https://wiki.example/a?b=1&c") == "https://wiki.example/a?b=1&amp;c"
    for bad in (
        "javascript:alert(1)",
        "data:text/html,x",
        "//x",
        "http:///x",
        ' "onclick="',
        "\x00javascript:x",
    ):
        assert escape.link(bad) is None


@pytest.mark.parametrize("bad", [h for h in HOSTILE if "\ud800" not in h])
def test_hostile_labels_in_whole_reports(bad: str, tmp_path: Path) -> None:
    diagnosis = made(
        tmp_path, {f"{bad}:1": True, "b:1": False}, {"pod_extra": bad}, model=bad, engine_args=None
    )
    report = diagnosis.report
    ET.fromstring(junit.render(report))
    json.render(report).encode()
    assert "\x1b" not in text.render(report)
    assert "\u202e" not in text.render(report) + markdown.render(report) + junit.render(report)
    outside = re.sub(r"^(`{3,})\w*\n.*?^\1$", "", markdown.render(report), flags=re.S | re.M)
    assert not re.search(r"(?<!\\)<script", re.sub(r"`[^`]*`", "", outside))
