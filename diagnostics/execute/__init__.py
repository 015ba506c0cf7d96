"""Answers (signal, statistic, window) for all replicas at once."""

from __future__ import annotations

from diagnostics.late import late

__getattr__ = late(__name__, ("bench", "budget", "deployment"))
