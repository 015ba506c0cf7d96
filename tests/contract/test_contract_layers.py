"""Imports go one way: every import is parsed and held against the table of layers."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import diagnostics

ROOT = Path(diagnostics.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
TREES = {path: ast.parse(path.read_text("utf-8")) for path in MODULES}

# What each layer may import besides itself and the vocabulary in ``model``.
MODEL_UP = {"model"}
ENGINES_UP = MODEL_UP | {"engines"}
SOURCES_UP = ENGINES_UP | {"sources", "options"}
STORE_UP = MODEL_UP | {"store"}
SIGNALS_UP = ENGINES_UP | {"store", "signals"}
# ``execute`` may ask a remote engine; rules may use the arithmetic of serving.
EXECUTE_UP = SIGNALS_UP | {"sources", "execute", "capacity", "options", "late"}
RULES_UP = EXECUTE_UP | {"rules"}
EVALUATE_UP = RULES_UP | {"evaluate"}
WALK_UP = EVALUATE_UP | {"loading", "walk"}
COMPARE_UP = WALK_UP | {"compare"}
PIPELINE_UP = COMPARE_UP | {"pipeline"}
ALLOWED: dict[str, set[str]] = {
    "model": MODEL_UP,
    "engines": ENGINES_UP,
    "options": MODEL_UP | {"options"},
    "configuration": MODEL_UP | {"configuration"},
    "sources": SOURCES_UP,
    "store": STORE_UP,
    "signals": SIGNALS_UP,
    "late": {"late"},
    "capacity": SOURCES_UP | {"capacity", "late"},
    "execute": EXECUTE_UP,
    "rules": RULES_UP - {"sources", "store"},
    "evaluate": EVALUATE_UP,
    "loading": SIGNALS_UP | {"sources", "options", "loading"},
    "walk": WALK_UP,
    "compare": COMPARE_UP,
    "pipeline": PIPELINE_UP,
    "reports": MODEL_UP | {"reports", "options", "capacity"},
}


def layer(path: Path) -> str:
    """The layer of a module: its package, or its own name at the top."""
    first = path.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imported(tree: ast.AST) -> set[str]:
    """Every module of ours that is imported anywhere in a file, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.name for a in node.names if a.name.split(".")[0] in ("diagnostics", "app")}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the layer"
            if node.module == "diagnostics":
                names |= {f"diagnostics.{a.name}" for a in node.names}
            elif (node.module or "").split(".")[0] in ("diagnostics", "app"):
                names.add(node.module or "")
    return names


@pytest.mark.parametrize("name", sorted(ALLOWED))
def test_a_layer_imports_only_what_is_below_it(name: str) -> None:
    """The table is the architecture; an import against it is a mistake in one of the two."""
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path, tree in TREES.items()
        if layer(path) == name
        for module in imported(tree)
        if module.split(".")[0] == "app" or module.split(".")[1] not in ALLOWED[name]
    }
    assert wrong == set()


def test_every_module_has_a_layer() -> None:
    """A new package must be placed in the table before it is used; the outermost may import everything below."""
    outer = {"cli", "__init__", "__main__", "alerts", "watch"}
    assert {layer(path) for path in MODULES} <= set(ALLOWED) | outer


def test_nothing_below_imports_the_surface() -> None:
    """No library module knows the command line, the page or the walk above it."""
    surface = {"cli", "app"}
    wrong = {
        f"{path.relative_to(ROOT)} imports {module}"
        for path, tree in TREES.items()
        if layer(path) not in ("cli", "__main__")
        for module in imported(tree)
        if module.split(".")[0] == "app" or module.split(".")[1] in surface
    }
    assert wrong == set()


def test_the_public_names_are_what_the_package_says() -> None:
    """Each name in ``__all__`` is there, and nothing else is offered by the first file."""
    assert all(hasattr(diagnostics, name) for name in diagnostics.__all__)
    defined = {
        n for n in ast.walk(TREES[ROOT / "__init__.py"]) if isinstance(n, ast.FunctionDef | ast.ClassDef)
    }
    assert defined == set()
