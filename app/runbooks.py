"""The runbooks and their pages: one address a rule, so that an alert can link to it."""

from __future__ import annotations

import html
from functools import cache
from importlib.resources import files

from msgspec import Struct

from diagnostics.evaluate.registry import all_rules, runbook_of
from diagnostics.reports.runbook import to_html
from diagnostics.reports.theme import FONT, MONO, Theme


class Entry(Struct, frozen=True):
    """One line of the index. Code and family are empty for a fault that no rule looks for yet."""

    slug: str
    code: str
    title: str
    family: str


@cache
def index() -> tuple[Entry, ...]:
    """Every runbook: those of rules by code, then the others by name."""
    rules = {rule.slug: rule for rule in all_rules()}
    names = sorted(
        f.name.removesuffix(".md")
        for f in (files("diagnostics") / "runbooks").iterdir()
        if f.name.endswith(".md")
    )
    with_rule = [Entry(r.slug, r.code, r.title, r.family) for r in rules.values() if r.slug in names]
    return (*with_rule, *(Entry(n, "", _lead(runbook_of(n)), "") for n in names if n not in rules))


def address(slug: str) -> str | None:
    """The path of a runbook's page, or None when there is none."""
    return f"/runbooks/{slug}" if any(entry.slug == slug for entry in index()) else None


def _lead(markdown: str) -> str:
    """The first sentence below the heading."""
    return next((line.strip() for line in markdown.splitlines()[1:] if line.strip()), "")


def _style() -> str:
    names = ("paper", "panel", "ink", "muted", "line", "strong")
    colours = " ".join(
        f"--{n}: light-dark({getattr(Theme.LIGHT, n)}, {getattr(Theme.DARK, n)});" for n in names
    )
    return f":root {{ color-scheme: light dark; {colours} }}" + _RULES.replace("MONO", MONO).replace(
        "FONT", FONT
    )


_RULES = """
body { margin: 0; font: 17px/1.6 FONT; color: var(--ink); background: var(--paper); }
main { max-width: 46rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
nav { font-size: .9rem; display: flex; gap: 1.25rem; flex-wrap: wrap; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1.2rem 0 .2rem; }
h2 { font-size: 1.15rem; margin: 2rem 0 .4rem; padding-top: .9rem; border-top: 1px solid var(--line); }
.note { color: var(--muted); margin: 0; }
a { color: var(--strong); }
code { font: .86em/1.5 MONO; background: color-mix(in srgb, var(--ink) 8%, transparent); border-radius: 4px;
 padding: .1em .3em; overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: .7rem .9rem;
 white-space: pre-wrap; }
pre code { padding: 0; background: none; }
li { margin: .3rem 0; } ol, ul { padding-left: 1.4rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem;
 font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1rem .3rem 0;
 border-bottom: 1px solid var(--line); }
@media print { nav { display: none; } }
"""


def document(title: str, body: str) -> str:
    """A small page of this server, in its style.

    Args:
        title: plain text.
        body: markup; whoever made it has escaped what is in it.
    """
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_style()}</style></head><body><main>"
        '<nav><a href="/">Dashboard</a><a href="/runbooks">All runbooks</a><a href="/incidents">Incidents</a></nav>'
        f"{body}</main></body></html>"
    )


def page(slug: str) -> str | None:
    """The page of a runbook, or None when there is none of this name."""
    entry = next((e for e in index() if e.slug == slug), None)
    if entry is None:
        return None
    known = frozenset(e.slug for e in index())
    # Links between runbooks lead to places on one page there; here each has an address of its own.
    body = to_html(runbook_of(slug), known=known, level=2).replace('href="#runbook-', 'href="/runbooks/')
    note = f"In a terminal: diagnose explain {slug}" if entry.code else "No rule looks for this fault yet."
    head = f'<h1>{html.escape(slug)}</h1><p class="note">{html.escape(note)}</p>'
    return document(f"{slug} · runbook", head + body)


def missing_page(slug: str) -> str:
    """What is shown for a name that no runbook has."""
    links = "".join(
        f'<li><a href="/runbooks/{html.escape(e.slug)}">{html.escape(e.slug)}</a></li>' for e in index()
    )
    return document(
        "No such runbook",
        f"<h1>No such runbook</h1><p>There is no runbook named <code>{html.escape(slug[:80])}</code>.</p>"
        f"<ul>{links}</ul>",
    )
