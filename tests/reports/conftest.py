"""Diagnoses that many tests of this folder read and none changes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from report_makers import made

from diagnostics.model.report import Diagnosis


@pytest.fixture(scope="session")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """Two replicas, one at its cap."""
    return made(tmp_path_factory.mktemp("capped"))


@pytest.fixture(scope="session")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """One replica without trouble."""
    return made(tmp_path_factory.mktemp("calm"), {"pod-0:8000": False})


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """An input in which nothing is known."""
    from diagnostics.pipeline import diagnose

    path = tmp_path_factory.mktemp("empty") / "notes.txt"
    path.write_text("nothing of interest\n", "utf-8")
    return diagnose([str(path)], charts=True)
