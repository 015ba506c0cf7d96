"""``for`` and ``keep_firing_for`` over a range."""

from __future__ import annotations

from diagnostics.alerts.backtest import _seconds
from diagnostics.alerts.options import duration
from diagnostics.alerts.timeline import Episode, Span, episodes

A = (("job", "a"),)
SPAN = Span(0, 600, 30)


def _at(*ranges: tuple[int, int]) -> dict[tuple[tuple[str, str], ...], list[float]]:
    return {A: [float(t) for start, end in ranges for t in range(start, end + 1, 30)]}


def test_it_fires_after_its_hold_and_an_absence_begins_anew() -> None:
    assert episodes(_at((30, 90), (150, 300)), SPAN, 120) == [Episode(A, 150, 270, 300, False)]


def test_without_a_hold_one_evaluation_is_enough() -> None:
    assert episodes(_at((60, 60)), SPAN, 0) == [Episode(A, 60, 60, 60, False)]


def test_it_still_fires_at_the_end() -> None:
    assert episodes(_at((0, 600)), SPAN, 60) == [Episode(A, 0, 60, 600, True)]


def test_it_keeps_firing_over_short_absences_and_after_its_end() -> None:
    assert episodes(_at((0, 120), (240, 300)), SPAN, 60, 150) == [Episode(A, 0, 60, 450, False)]
    assert len(episodes(_at((0, 120), (300, 420)), SPAN, 60, 150)) == 2


def test_chunks_cover_a_range_once() -> None:
    points = [
        c.start + i * c.step
        for c in Span(0, 400_000, 30).chunks()
        for i in range(int((c.end - c.start) / c.step) + 1)
    ]
    assert points == [30.0 * i for i in range(len(points))]
    assert points[-1] > 400_000 - 30


def test_durations_are_read_and_written() -> None:
    assert [_seconds(t) for t in ("90s", "1h30m", "2d", None, "0s", 0)] == [90, 5400, 172800, 0, 0, 0]
    assert [duration(s) for s in (90, 300, 5400, 7200, 86400)] == ["90s", "5m", "90m", "2h", "1d"]
