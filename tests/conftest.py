"""What all tests share: the helpers on the import path, and inputs written to a temporary folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from support.carriers import write_dumps, write_openmetrics, write_query_range
from support.series import Recording

from diagnostics import Options, diagnose
from diagnostics.model.report import Report

REFERENCE = Path(__file__).parents[1].parent / "shared"


@pytest.fixture
def judge(tmp_path: Path) -> Callable[..., Report]:
    """Diagnose a recording through one carrier and return the report."""

    def run(recording: Recording, carrier: str = "openmetrics", **options: object) -> Report:
        folder = tmp_path / f"{carrier}-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        write = {
            "openmetrics": write_openmetrics,
            "query_range": write_query_range,
            "dumps": write_dumps,
            "last dump": lambda facts, place: write_dumps(facts, place, (facts.scrapes - 1,)),
        }[carrier]
        write(recording, folder)
        if recording.command:
            options.setdefault("engine_args", recording.command)
        return diagnose([str(folder)], Options(**options)).report  # type: ignore[arg-type]

    return run


def pytest_report_header() -> list[str]:
    """Say in one line what cannot be tested here."""
    if REFERENCE.is_dir():
        return []
    return [
        "recordings: the folder with recordings and benchmark samples is not here, so tests on them are not collected"
    ]
