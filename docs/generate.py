"""Writes the pages that can be made from the code, or checks that they are current.

Usage: python docs/generate.py --write | --check
"""

from __future__ import annotations

import ast
import re
import shlex
import sys
import tomllib
from pathlib import Path

from diagnostics.cli.options import help_text
from diagnostics.engines.registry import ENGINES
from diagnostics.evaluate.registry import all_rules
from diagnostics.execute.rule import Rule
from diagnostics.model.catalog import SIGNALS

ROOT = Path(__file__).resolve().parent.parent
CONCEPTS = ROOT / "tests" / "concepts"
SOURCE = re.compile(r"Source:[^.]*\.")
CONCEPT = re.compile(r"S\d\d")
BLOCK = re.compile(r"<!-- generated -->.*?<!-- /generated -->", re.DOTALL)
NOTE = "<!-- Made by docs/generate.py from the code; change the code instead. -->"


def rules_page() -> str:
    """One row a rule."""
    rows = [
        f"| {r.code} | [{r.slug}](../../diagnostics/runbooks/{r.slug}.md) | {r.title} | {' '.join(r.concepts)} "
        f"| {r.support.value} |"
        for r in all_rules()
    ]
    head = [
        "# Rules",
        "",
        NOTE,
        "",
        "| code | rule | says | concepts | proved on |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows]) + "\n"


def signals_page() -> str:
    """One row a canonical signal, with the native names that carry it."""
    lines = [
        "# Signals",
        "",
        NOTE,
        "",
        "| signal | unit | kind | meaning | carried by |",
        "| --- | --- | --- | --- | --- |",
    ]
    for spec in SIGNALS.values():
        names = [f"`{m.native}`" for e in ENGINES for m in e.metrics if m.signal == spec.name]
        lines.append(
            f"| {spec.name} | {spec.unit} | {spec.kind.value} | {spec.description} | {', '.join(dict.fromkeys(names))} |"
        )
    return "\n".join(lines) + "\n"


def engines_page() -> str:
    """One row an engine or exporter: what is known of it, and from where."""
    rows = [
        f"| {e.title} | {len({m.native for m in e.metrics})} | {len({m.signal for m in e.metrics})} "
        f"| {'yes' if any(':log:' in m.native for m in e.metrics) else ''} "
        f"| {'recordings' if e.recorded else 'its source'} |"
        for e in ENGINES
    ]
    head = [
        "# Engines and exporters",
        "",
        NOTE,
        "",
        "What is known from recordings was seen in use. What is known from an engine's source or documentation alone lowers",
        "the confidence of every finding that rests on it, and each input says so.",
        "",
        "| engine | names | signals | log read | known from |",
        "| --- | --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows]) + "\n"


def calculations() -> dict[str, list[str]]:
    """Concept -> functions of the arithmetic whose docstring names it as its source, as ``module.function``."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "diagnostics" / "capacity").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef) else None
            source = SOURCE.search(text or "")
            for concept in CONCEPT.findall(source[0]) if source and isinstance(node, ast.FunctionDef) else ():
                found.setdefault(concept, []).append(f"{path.stem}.{node.name}")
    return found


def concepts_page() -> str:
    """One row a concept: the rules and calculations that carry it, and the input that proves it."""
    catalogue = tomllib.loads((CONCEPTS / "concepts.toml").read_text("utf-8"))
    arithmetic = calculations()
    lines = [
        "# Concepts",
        "",
        NOTE,
        "",
        "Each concept with the rules and the arithmetic (`diagnostics/capacity`) that carry it, and an input on which the",
        "rule in bold must speak; `tests/concepts` fails when it no longer does.",
        "",
        "| concept | says | rules | arithmetic | input |",
        "| --- | --- | --- | --- | --- |",
    ]
    for concept, entry in catalogue.items():
        slugs = [r.slug for r in all_rules() if concept in r.concepts]
        rules = ", ".join(f"**{s}**" if s == entry["rule"] else s for s in slugs)
        functions = ", ".join(f"`{name}`" for name in arithmetic.get(concept, []))
        path = (CONCEPTS / entry["input"]).resolve().relative_to(ROOT)
        options = "".join(
            f" `--{k.replace('_', '-')} {shlex.quote(str(v))}`" for k, v in entry.get("options", {}).items()
        )
        lines.append(
            f"| {concept} | {entry['is']} | {rules} | {functions} | [{path.name}](../../{path}){options} |"
        )
    return "\n".join(lines) + "\n"


def command_page() -> str:
    """The help text of the command."""
    return "\n".join(["# The diagnose command", "", NOTE, "", "```", help_text().rstrip(), "```"]) + "\n"


def runbook_block(rule: Rule) -> str:
    """The facts of a rule at the head of its runbook."""
    needs = "; ".join(" or ".join(n.any_of) for n in rule.needs or rule.or_bench)
    needs += ", or a benchmark" if rule.or_bench else ""
    lines = [
        "<!-- generated -->",
        "| | |",
        "| --- | --- |",
        f"| code | {rule.code} |",
        f"| family | {rule.family} |",
        f"| concepts | {', '.join(rule.concepts)} |",
        f"| needs | {needs} |",
        f"| proved on | {rule.support.value} |",
        *(f"| threshold | {name}: {value:g} {unit} |" for name, (value, unit) in rule.thresholds.items()),
        "<!-- /generated -->",
    ]
    return "\n".join(lines)


def pages() -> dict[Path, str]:
    """Every generated page: path -> content."""
    found = {
        ROOT / "docs/generated/rules.md": rules_page(),
        ROOT / "docs/generated/signals.md": signals_page(),
        ROOT / "docs/generated/engines.md": engines_page(),
        ROOT / "docs/generated/concepts.md": concepts_page(),
        ROOT / "docs/generated/cli.md": command_page(),
    }
    for rule in all_rules():
        path = ROOT / "diagnostics/runbooks" / f"{rule.slug}.md"
        block = runbook_block(rule)
        found[path] = BLOCK.sub(lambda _, block=block: block, path.read_text("utf-8"), count=1)  # type: ignore[misc]
    return found


def main() -> int:
    """Write or check; 1 when a page is stale."""
    write = "--write" in sys.argv
    stale = []
    for path, content in pages().items():
        current = path.read_text("utf-8") if path.exists() else ""
        if current != content:
            stale.append(path.relative_to(ROOT))
            if write:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, "utf-8")
    for path in stale:
        print(f"{'written' if write else 'stale, run make docs'}: {path}")
    return 0 if write else bool(stale)


if __name__ == "__main__":
    sys.exit(main())
