"""``diagnose rules`` and ``diagnose explain``: what the product knows, in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from difflib import get_close_matches

from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, Parser
from diagnostics.evaluate.registry import all_rules, rule_named, runbook_of
from diagnostics.model.errors import OptionError


def parse(argv: Sequence[str]) -> Command:
    """Parse one of the two commands."""
    parser = Parser(prog=f"diagnose {argv[0]}")
    if argv[0] == "rules":
        parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    else:
        parser.add_argument("rule", metavar="CODE|SLUG")
    command = parser.parse_args(argv[1:], Command())
    command.action = _list if argv[0] == "rules" else _explain
    return command


def _list(command: Command) -> int:
    rules = all_rules()
    if command.format == "json":
        rows = [
            {"code": r.code, "rule": r.slug, "title": r.title, "family": r.family,
             "needs": [list(n.any_of) for n in r.needs or r.or_bench], "concepts": list(r.concepts), "support": r.support.value}
            for r in rules
        ]  # fmt: skip
        sys.stdout.write(json.dumps(rows, indent=1) + "\n")
        return Exit.DONE
    if command.format == "markdown":
        print("| code | rule | title | needs | concepts |\n| --- | --- | --- | --- | --- |")
    for r in rules:
        needs = " and ".join(" or ".join(n.any_of[:3]) for n in r.needs or r.or_bench)
        if command.format == "markdown":
            print(f"| {r.code} | `{r.slug}` | {r.title} | {needs} | {' '.join(r.concepts)} |")
        else:
            print(f"{r.code}  {r.slug:<32} {r.title}  [{needs}; {' '.join(r.concepts)}]")
    return Exit.DONE


def _explain(command: Command) -> int:
    rule = rule_named(command.rule)
    if rule is None:
        near = get_close_matches(command.rule.lower(), [r.slug for r in all_rules()], 3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; see diagnose rules"
        raise OptionError(f"{command.rule}: no such rule{hint}")
    sys.stdout.write(runbook_of(rule.slug))
    return Exit.DONE
