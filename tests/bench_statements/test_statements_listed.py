"""The choice of statements is listed in the docs, all of it and nothing else."""

from __future__ import annotations

import re
from pathlib import Path


def test_every_statement_is_listed() -> None:
    """Names in the list are those of the tests; there are at least thirty."""
    here = Path(__file__).parent
    told = set(
        re.findall(r"`(test_\w+)`", (here.parents[1] / "docs" / "bench-statements.md").read_text("utf-8"))
    )
    files = (here / f"test_statements_{name}.py" for name in ("values", "findings"))
    tested = {
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text("utf-8"), re.MULTILINE)
    }
    assert told == tested
    assert len(tested) >= 30
