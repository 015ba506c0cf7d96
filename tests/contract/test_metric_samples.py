"""Every public file of metrics and logs that is at hand is recognised with its engine, GPU tables with their kind."""

from __future__ import annotations

from pathlib import Path

import pytest

from diagnostics import diagnose
from diagnostics.sources.content import Content
from diagnostics.sources.recognise import ReadOptions, read_content

SAMPLES = Path(__file__).parents[2].parent / "shared" / "samples" / "metrics"
FILES = sorted(p for p in SAMPLES.rglob("*") if p.is_file() and p.parent != SAMPLES)
# Folders are named by the engine; this one is of no engine.
TABLES = "gpu-telemetry"


def test_there_are_files() -> None:
    assert len(FILES) > 10


@pytest.mark.parametrize("file", FILES, ids=lambda p: p.name)
def test_a_file_is_recognised_with_its_engine_or_kind(file: Path) -> None:
    capture = read_content(Content(file.name, path=file), ReadOptions())
    if file.parent.name == TABLES:
        assert capture.kind == "telemetry"
    else:
        assert capture.engine == file.parent.name
        assert capture.kind in {"exposition", "log", "paste"}
    assert "nothing" not in capture.recognised


@pytest.mark.parametrize("file", FILES, ids=lambda p: p.name)
def test_a_file_alone_is_diagnosed_and_never_healthy(file: Path) -> None:
    assert diagnose([str(file)]).report.verdict.status in {"findings", "insufficient-data"}
