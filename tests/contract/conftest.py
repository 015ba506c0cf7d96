"""Recordings are only collected where they are at hand."""

from __future__ import annotations

from pathlib import Path

_REFERENCE = Path(__file__).parents[2].parent / "shared"
collect_ignore = [] if (_REFERENCE / "expected.csv").is_file() else ["test_recordings.py"]
