"""Times without year or zone are settled without going backwards."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from diagnostics.sources.logs import times
from diagnostics.sources.logs.reader import read_log
from diagnostics.sources.logs.times import Clock


def stats(when):
    return (
        f"INFO {when} [loggers.py:118] Engine 000: Avg prompt throughput: 0.0 tokens/s, "
        "Avg generation throughput: 240.8 tokens/s, Running: 8 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 93.9%, Prefix cache hit rate: 0.0%\n"
    )


@pytest.fixture
def _now(monkeypatch):
    now = datetime(2026, 3, 10, 12, 0, tzinfo=UTC).timestamp()
    monkeypatch.setattr(times, "current_time", lambda: now)


def moments(capture):
    return [datetime.fromtimestamp(value, UTC) for value in dict.fromkeys(capture.times)]


@pytest.mark.usefixtures("_now")
def test_the_year_is_the_last_one_that_is_not_in_the_future():
    assert moments(read_log("x", [stats("03-10 11:59:59")])) == [
        datetime(2026, 3, 10, 11, 59, 59, tzinfo=UTC)
    ]
    assert moments(read_log("x", [stats("03-12 12:00:00")])) == [datetime(2025, 3, 12, 12, 0, tzinfo=UTC)]


@pytest.mark.usefixtures("_now")
def test_an_assumed_zone_does_not_cost_a_year():
    assert moments(read_log("x", [stats("03-10 21:00:00")]))[0].year == 2026


@pytest.mark.usefixtures("_now")
def test_a_log_may_cross_new_year():
    lines = [stats(when) for when in ("12-31 23:59:50", "01-01 00:00:00", "12-31 23:59:59", "01-01 00:00:10")]
    read = moments(read_log("x", lines))
    assert [moment.year for moment in read] == [2025, 2026, 2025, 2026]
    assert read[-1] - read[0] == timedelta(seconds=20)


@pytest.mark.usefixtures("_now")
def test_a_leap_day_needs_a_leap_year():
    assert moments(read_log("x", [stats("02-29 10:00:00"), stats("03-01 10:00:00")])) == [
        datetime(2024, 2, 29, 10, 0, tzinfo=UTC),
        datetime(2024, 3, 1, 10, 0, tzinfo=UTC),
    ]


def test_year_and_zone_can_be_given():
    capture = read_log("x", [stats("07-28 06:42:09")], timezone=ZoneInfo("Europe/Berlin"), year=2024)
    assert moments(capture) == [datetime(2024, 7, 28, 4, 42, 9, tzinfo=UTC)]
    assert "Europe/Berlin" in capture.time_basis
    assert "2024" in capture.time_basis


def test_the_year_given_is_that_of_the_newest_line():
    capture = read_log("x", [stats("12-31 23:00:00"), stats("01-01 01:00:00")], year=2024)
    assert [moment.year for moment in moments(capture)] == [2023, 2024]


def test_a_zone_that_is_assumed_is_said():
    assert "log times without zone, assumed UTC" in read_log("x", [stats("07-28 06:42:09")]).time_basis


def test_sglang_times_follow_the_zone():
    line = "[2026-07-06 19:00:00 TP0] Decode batch, #running-req: 15, #queue-req: 1, token usage: 0.10,\n"
    capture = read_log("x", [line], timezone=timezone(timedelta(hours=2)))
    assert moments(capture) == [datetime(2026, 7, 6, 17, 0, tzinfo=UTC)]


def test_no_time_at_all_is_not_a_number():
    line = stats("07-28 06:42:09").split("] ", 1)[1]
    capture = read_log("x", [line])
    assert len(capture.times) == 6
    assert np.isnan(capture.times).all()
    assert capture.time_basis == "no times in the log"


@pytest.mark.parametrize("text", ["2026-13-45T99:00:00Z", "02-31 10:00:00", "", "soon", "12"])
def test_what_is_no_time_is_none(text):
    clock = Clock()
    assert clock.anything(text) is None
    assert clock.anything(None) is None
    assert clock.anything(True) is None


@pytest.mark.parametrize("unit", [1, 1e3, 1e6, 1e9])
def test_numbers_in_any_unit_are_times(unit):
    assert Clock().anything(1_795_946_531 * unit).seconds == 1_795_946_531
