"""Minutes of the long replay of ``tests/soak/soak_watch.py``."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[1] / "soak" / "soak_watch.py"
MINUTES, EVERY = 20.0, 90.0


@pytest.fixture
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("soak_watch", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its annotations are looked up in the module's own names.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_chained_recordings_open_once_and_memory_stays(script: ModuleType, tmp_path: Path) -> None:
    found = script.soak(tmp_path, MINUTES, EVERY)
    assert found.duplicates == 0
    assert found.flaps == []
    assert found.failures == 0
    opened = {(found.pieces[n].folder, key.split()[0]) for n, key in found.openings}
    assert ("concurrency-cap", "cap-throttled") in opened
    assert ("preemption-storm", "preemption-storm") in opened
    resolved = [line for line in found.lines if " resolved " in line]
    assert any("cap-throttled on " in line for line in resolved)
    assert found.growth < 3 * script.MAX_GROWTH
