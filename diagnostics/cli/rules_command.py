"""``diagnose rules`` and ``diagnose explain``: what the product knows, in the terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, Parser
from diagnostics.evaluate.registry import all_rules, rule_named, runbook_of, runbooks
from diagnostics.model.errors import OptionError


def parse(argv: Sequence[str]) -> Command:
    """Parse one of the two commands."""
    parser = Parser(prog=f"diagnose {argv[0]}")
    if argv[0] == "rules":
        parser.add_argument("--format", choices=("text", "json", "markdown"), default="text")
    else:
        parser.add_argument("rule", metavar="CODE|SLUG", nargs="?")
        parser.add_argument("--all", action="store_true", help="every runbook, with an index; needs --output")
        parser.add_argument("--output", metavar="DIR", help="write Markdown files into this folder")
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
        print("| code | rule | title | needs | concepts | proved on |\n| --- | --- | --- | --- | --- | --- |")
    for r in rules:
        needs = " and ".join(" or ".join(n.any_of[:3]) for n in r.needs or r.or_bench)
        if command.format == "markdown":
            print(
                f"| {r.code} | `{r.slug}` | {r.title} | {needs} | {' '.join(r.concepts)} | {r.support.value} |"
            )
        else:
            print(f"{r.code}  {r.slug:<32} {r.title}  [{needs}; {' '.join(r.concepts)}; {r.support.value}]")
    return Exit.DONE


def _explain(command: Command) -> int:
    if bool(command.rule) == command.all:
        raise OptionError("explain: name a rule by its CODE or SLUG, or say --all")
    if command.all:
        if not command.output:
            raise OptionError("--all: give --output DIR, where the runbooks are to be written")
        return _write(command.output, runbooks())
    rule = rule_named(command.rule)
    if rule is None:
        near = get_close_matches(command.rule.lower(), [r.slug for r in all_rules()], 3)
        hint = f"; did you mean {', '.join(near)}?" if near else "; see diagnose rules"
        raise OptionError(f"{command.rule}: no such rule{hint}")
    text = runbook_of(rule.slug)
    if command.output:
        return _write(command.output, {f"{rule.slug}.md": text})
    sys.stdout.write(text)
    return Exit.DONE


def _write(folder: str, files: dict[str, str]) -> int:
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (Path(folder) / name).write_text(text, "utf-8")
    except OSError as error:
        raise OptionError(f"--output {folder}: {error.strerror or 'cannot be written'}") from error
    print(f"{len(files)} files in {folder}", file=sys.stderr)
    return Exit.DONE
