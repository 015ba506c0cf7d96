"""Finds the rules. Importing a rule does nothing; this lists the package and checks what it finds."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.resources import files

from diagnostics import rules as package
from diagnostics.execute.rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by code.

    Raises:
        TypeError: a module of ``rules`` defines no ``RULE``, or two rules share a code or slug.
    """
    found: list[Rule] = []
    for module in pkgutil.iter_modules(package.__path__):
        rule = getattr(import_module(f"{package.__name__}.{module.name}"), "RULE", None)
        if not isinstance(rule, Rule) or rule.slug.replace("-", "_") != module.name:
            raise TypeError(f"rules/{module.name}.py must define RULE with the slug of its file name")
        found.append(rule)
    if len({r.code for r in found}) < len(found):
        raise TypeError("two rules share a code")
    return tuple(sorted(found, key=lambda r: r.code))


def rule_named(name: str) -> Rule | None:
    """The rule with this code or slug, whatever the case; None when there is none."""
    wanted = name.strip().lower()
    return next((r for r in all_rules() if wanted in (r.slug, r.code.lower())), None)


def runbook_of(slug: str) -> str:
    """The runbook page of a rule, Markdown."""
    return (files("diagnostics") / "runbooks" / f"{slug}.md").read_text("utf-8")


def runbooks() -> dict[str, str]:
    """Every runbook page as a file of a folder, with an index: name -> Markdown. Links between them are relative."""
    folder = files("diagnostics") / "runbooks"
    found = {
        f.name: f.read_text("utf-8")
        for f in sorted(folder.iterdir(), key=lambda f: f.name)
        if f.name[-3:] == ".md"
    }
    titles = {f"{rule.slug}.md": f"{rule.title} ({rule.code})" for rule in all_rules()}
    rows = [
        f"| [{name[:-3]}]({name}) | {titles.get(name, 'No rule looks for this fault yet.')} |"
        for name in found
    ]
    return {
        "index.md": "\n".join(["# Runbooks", "", "| runbook | says |", "| --- | --- |", *rows, ""]),
        **found,
    }
