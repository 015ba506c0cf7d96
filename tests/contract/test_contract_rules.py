"""Completeness: rules, runbooks, fixtures and the public list of rules are the same set."""

from __future__ import annotations

import ast
import csv
import re
from pathlib import Path

import pytest

import diagnostics
from diagnostics.engines import registry as engines
from diagnostics.evaluate.registry import all_rules
from diagnostics.execute.rule import Rule
from diagnostics.model.catalog import SIGNALS
from diagnostics.model.findings import Severity

ROOT = Path(diagnostics.__file__).parent
HERE = Path(__file__).parent
LISTED = {row["slug"]: row for row in csv.DictReader((HERE / "rules.csv").open(encoding="utf-8"))}
RULES = all_rules()
STAGE_ONE = {slug for slug, row in LISTED.items() if row["stage"] == "1"}
FILES = sorted((ROOT / "rules").glob("[a-z]*.py"))

SETTINGS = {"enable_prefix_caching", "disable_radix_cache", "attention_block_size"}
_NUMBERS = {-1, 0, 1, 2, 0.5, 100, 60, 3600, 1000, 1024}


def _by_slug(rule: Rule) -> str:
    return rule.slug


def _name(path: Path) -> str:
    return path.stem


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def _texts(tree: ast.AST) -> list[str]:
    """Every string of a file except docstrings."""
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
    ]


def test_the_rules_of_the_first_stage_are_all_there() -> None:
    """Seventeen slugs, none forgotten."""
    assert len(STAGE_ONE) == 17
    assert {r.slug for r in RULES} >= STAGE_ONE


@pytest.mark.parametrize("rule", RULES, ids=_by_slug)
def test_a_rule_is_the_one_in_the_public_list(rule: Rule) -> None:
    """Code, title and family are public interface and never differ from the list."""
    row = LISTED[rule.slug]
    assert (rule.code, rule.title, rule.family) == (row["code"], row["title"], row["family"])
    assert set(rule.concepts) == set(row["seed"].split())


@pytest.mark.parametrize("rule", RULES, ids=_by_slug)
def test_a_rule_has_its_four_files(rule: Rule) -> None:
    """Rule, runbook, tests, and a folder of fixtures, none of them shared."""
    folder = rule.slug.replace("-", "_")
    assert (ROOT / "rules" / f"{folder}.py").is_file()
    assert (ROOT / "runbooks" / f"{rule.slug}.md").stat().st_size > 500
    tests = HERE.parent / "rules" / folder
    functions = [
        n.name for n in ast.walk(_tree(tests / f"test_{folder}.py")) if isinstance(n, ast.FunctionDef)
    ]
    assert sum(name.startswith("test_") for name in functions) >= 2
    if rule.slug in STAGE_ONE:
        kinds = {f.name.split("_")[0] for f in tests.glob("*.series")}
        assert kinds == {"fires", "quiet", "missing"}


def test_no_file_is_left_over() -> None:
    """Every runbook belongs to a listed rule, every fixture folder to a rule that exists."""
    assert {p.stem for p in (ROOT / "runbooks").glob("*.md")} <= set(LISTED)
    folders = {
        p.name for p in (HERE.parent / "rules").iterdir() if p.is_dir() and not p.name.startswith("__")
    }
    assert folders <= {r.slug.replace("-", "_") for r in RULES}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_a_rule_holds_no_query_and_no_metric_name(path: Path) -> None:
    """Neither PromQL nor SQL nor a name on the wire: rules ask for signals."""
    native = {
        m.native
        for e in engines.ENGINES
        for m in e.metrics
        if ":" in m.native or m.native.startswith(("tgi_", "process_"))
    }
    query = re.compile(r"\b(SELECT\s.+\sFROM|histogram_quantile|sum by|increase\(|rate\(|\[\d+[smh]\])")
    for text in _texts(_tree(path)):
        assert not query.search(text), text
        assert not any(name in text for name in native), text
        assert not re.search(r"\b(vllm|sglang):\w", text), text


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_a_rule_does_not_read_the_world(path: Path) -> None:
    """A rule is pure: it opens nothing, prints nothing, reads no clock and holds no connection."""
    tree = _tree(path)
    modules = {a.name.split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names} | {
        (n.module or "").split(".")[0] for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)
    }
    assert not modules & {
        "time",
        "datetime",
        "os",
        "sys",
        "pathlib",
        "logging",
        "requests",
        "duckdb",
        "pandas",
        "random",
    }
    called = {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    assert not called & {"open", "print", "eval", "exec"}


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_the_numbers_of_a_rule_have_names(path: Path) -> None:
    """A number in a comparison is a named constant, but for 0, 1 and their like."""
    bare = [
        f"line {node.lineno}: {side.value}"
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Compare)
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Constant)
        and isinstance(side.value, int | float)
        and side.value not in _NUMBERS
    ]
    assert bare == []


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_the_constants_of_a_rule_say_where_they_come_from(path: Path) -> None:
    """Each block of numeric constants follows a comment, and their names are not repeated in another rule's file."""
    lines = path.read_text("utf-8").splitlines()
    tree = _tree(path)
    for node in tree.body:
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, int | float)
        ):
            at = node.lineno - 2
            while at >= 0 and re.match(r"^[A-Z_, ]+ = ", lines[at]):
                at -= 1
            assert lines[at].startswith("#") or "#" in lines[node.lineno - 1], (
                f"line {node.lineno}: no unit, no source"
            )


@pytest.mark.parametrize("rule", RULES, ids=_by_slug)
def test_the_thresholds_of_a_rule_are_its_constants(rule: Rule) -> None:
    """What the runbook and the page show is the constant itself, with its unit; no number is written twice."""
    path = ROOT / "rules" / f"{rule.slug.replace('-', '_')}.py"
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.keyword) and node.arg == "thresholds" and isinstance(node.value, ast.Dict):
            for value in node.value.values:
                assert isinstance(value, ast.Tuple)
                assert not isinstance(value.elts[0], ast.Constant), "a threshold without a name"
                assert isinstance(value.elts[1], ast.Constant)
                assert value.elts[1].value


@pytest.mark.parametrize("rule", [r for r in RULES if r.slug in STAGE_ONE], ids=_by_slug)
def test_the_needs_of_a_rule_are_signals_or_settings(rule: Rule) -> None:
    """A need that is spelt wrong would never be met: it is a signal, or one of the settings named here."""
    assert rule.needs or "bench" in LISTED[rule.slug]["needs_any_of"]
    for need in rule.needs:
        assert need.any_of[0] in SIGNALS
        assert set(need.any_of) - set(SIGNALS) <= SETTINGS


def test_severities_of_the_list_are_those_of_the_model() -> None:
    """The list and the vocabulary use the same words."""
    assert {row["severity"] for row in LISTED.values()} <= {s.value for s in Severity}
