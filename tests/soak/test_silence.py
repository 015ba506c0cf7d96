"""A small share of the soak: windows of the committed recordings stay silent, and the cutting is right."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))

from soak_silence import Calm, Window, alarms, cut, samples, windows

WINDOWS = list(windows(samples(), 12, seed=5))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_a_calm_window_is_silent(window: Window) -> None:
    assert [a.finding.summary for a in alarms(window)] == []


def test_a_window_of_trouble_is_not_silent() -> None:
    """The same cutting on a surge raises what is there to be raised: silence is no accident of the cutting."""
    surge = Calm("surge", samples()[1].path, 330.0, 530.0)
    found = alarms(Window(surge, 330.0, 200.0, 10.0))
    assert "cap-throttled" in {a.finding.rule for a in found}


def test_a_window_holds_its_time_at_its_step() -> None:
    piece = cut(Window(samples()[0], 30.0, 60.0, 15.0))
    capture = next(c for c in piece.captures if "openmetrics" in c.source)
    assert capture.times is not None
    assert capture.series_of is not None
    one = capture.times[capture.series_of == np.bincount(capture.series_of).argmax()]
    assert len(one) in (4, 5)
    assert np.diff(np.sort(one)).min() > 10
