"""Modules that run when they are first used.

A diagnosis is a short process that somebody waits for, and most need neither the rules' halves about benchmarks nor the
arithmetic of hardware. A package that says ``__getattr__ = late(...)`` hands such modules out unrun to whoever writes
``from package import module``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import LazyLoader, find_spec, module_from_spec
from types import ModuleType

_waiting: list[ModuleType] = []


def late(package: str, prefixes: tuple[str, ...]) -> Callable[[str], ModuleType]:
    """The ``__getattr__`` of a package.

    Args:
        package: its ``__name__``.
        prefixes: how the names of the modules that can wait begin.
    """

    def module_named(name: str) -> ModuleType:
        full = f"{package}.{name}"
        spec = find_spec(full) if name.startswith(prefixes) else None
        if spec is None or spec.loader is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        spec.loader = LazyLoader(spec.loader)
        module = module_from_spec(spec)
        sys.modules[full] = module
        setattr(sys.modules[package], name, module)
        spec.loader.exec_module(module)
        _waiting.append(module)
        return module

    return module_named


def run_all() -> None:
    """Run every module that waits, for a process whose threads must not meet one that is half run."""
    while _waiting:
        dir(_waiting.pop())
