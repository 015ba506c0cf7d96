"""Moments as people write them."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from diagnostics.model.errors import OptionError


def moment(text: str) -> float:
    """Unix seconds of an ISO 8601 time (UTC without a zone) or of Unix seconds.

    Raises:
        OptionError: neither.
    """
    try:
        seconds = float(text)
    except ValueError:
        pass
    else:
        if not math.isfinite(seconds):
            raise OptionError(f"{text!r} is no time; write 2026-01-31T12:00:00Z or Unix seconds")
        return seconds
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise OptionError(f"{text!r} is no time; write 2026-01-31T12:00:00Z or Unix seconds") from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def written(seconds: float) -> str:
    """A moment as :func:`moment` reads it, UTC, to the second."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
