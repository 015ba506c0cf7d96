"""Times of carriers that have none: an order always, true times only where something proves them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from support.carriers import write_dumps, write_openmetrics
from support.findings import finding
from support.vllm import vllm

from diagnostics import Options, diagnose
from diagnostics.model.samples import Capture, InputKind, LogEvent, Provenance, Setting
from diagnostics.signals.timebase import MIN_FILE_TIME_GAP, Untimed, give_times, move_clock, order
from diagnostics.sources.exposition import read_exposition

NAMES = ("metrics_start.txt", "metrics_mid.txt", "metrics_end.txt")


def _dump(tokens: float, start: float = 100.0) -> Capture:
    return read_exposition(
        f"{tokens:g}", [f"vllm:generation_tokens_total {tokens}", f"process_start_time_seconds {start}"]
    )


def _order(dumps: list[Untimed]) -> list[str]:
    return [d.capture.source for d in order(dumps)]


def test_counters_order_the_dumps() -> None:
    """Names and file times say nothing: the dump with more tokens is the later one."""
    dumps = [Untimed(_dump(900), 1.0), Untimed(_dump(100), 3.0), Untimed(_dump(500), 2.0)]
    assert _order(dumps) == ["100", "500", "900"]


def test_a_restart_orders_the_dumps() -> None:
    """A process that started later comes later, though its counters are small."""
    assert _order([Untimed(_dump(10, start=200.0), 1.0), Untimed(_dump(900, start=100.0), 2.0)]) == [
        "900",
        "10",
    ]


@pytest.mark.parametrize(
    ("modified", "timed"),
    [
        ((50.0, 50.0 + MIN_FILE_TIME_GAP), True),
        ((50.0, 50.0 + MIN_FILE_TIME_GAP - 0.01), False),
        ((50.0, 50.0), False),
        ((80.0, 50.0), False),
        ((50.0, None), False),
    ],
    ids=["apart", "too close", "equal after a copy", "against the counters", "not a file"],
)
def test_file_times_are_times_only_where_they_can_be(
    modified: tuple[float, float | None], timed: bool
) -> None:
    """Two dumps, the second with more tokens; a pair without times gives an order and nothing more."""
    dumps = [Untimed(_dump(100), modified[0]), Untimed(_dump(500), modified[1])]
    assert give_times(dumps, None) is timed
    basis = dumps[0].capture.time_basis
    assert ("file times" in basis) is timed
    assert ("order only" in basis) is not timed


def test_the_interval_option_makes_times() -> None:
    """What the user says wins, and the report says that it was said."""
    dumps = [Untimed(_dump(500), 50.0), Untimed(_dump(100), 50.0)]
    assert give_times(dumps, 30.0) is True
    late, early = dumps[0].capture, dumps[1].capture
    assert late.times is not None
    assert early.times is not None
    assert float(late.times[0] - early.times[0]) == 30.0
    assert "assumed 30 s" in late.time_basis


def _folder(tmp_path: Path, modified: tuple[float, float, float]) -> Path:
    rec = vllm(preempted=4, finished=5, kv=0.9, running=6)
    for path, at in zip(write_dumps(rec, tmp_path), modified, strict=True):
        os.utime(path, (at, at))
    return tmp_path


def test_after_a_copy_there_are_increases_and_no_rates(tmp_path: Path) -> None:
    """Equal file times: the storm is seen from its ratio, without a time, and not surely."""
    report = diagnose([str(_folder(tmp_path, (1.7e9, 1.7e9, 1.7e9)))]).report
    found = finding(report, "preemption-storm")
    assert found is not None
    assert found.confidence <= 0.5
    assert report.window.start is None
    assert "order only" in report.window.time_basis
    assert all(s.regime == "undecided" for r in report.regimes for s in r.segments)


def test_file_times_give_a_window(tmp_path: Path) -> None:
    """File times apart and in order are assumed, and the report says so."""
    report = diagnose([str(_folder(tmp_path, (1.7e9, 1.7e9 + 150, 1.7e9 + 300)))]).report
    assert report.window.start == 1.7e9
    assert report.window.end == 1.7e9 + 300
    assert "assumed" in report.window.time_basis


def test_the_interval_option_reaches_the_report(tmp_path: Path) -> None:
    """The window is as long as the dumps are said to be apart."""
    report = diagnose([str(_folder(tmp_path, (1.7e9, 1.7e9, 1.7e9)))], Options(interval=150)).report
    assert report.window.start is not None
    assert report.window.end is not None
    assert report.window.end - report.window.start == 300
    assert "assumed 150 s" in report.window.time_basis


def test_dumps_beside_a_course_do_not_move_it(tmp_path: Path) -> None:
    """File times of dumps are far from the recording's own; its window and verdict stay as they are."""
    rec = vllm(running=8, waiting=20)
    alone = tmp_path / "alone"
    alone.mkdir()
    write_openmetrics(rec, alone)
    both = _folder_of_both(tmp_path / "both")
    first, second = diagnose([str(alone)]).report, diagnose([str(both)]).report
    assert second.verdict.primary == first.verdict.primary == "cap-throttled"
    assert finding(second, "cap-throttled").window == finding(first, "cap-throttled").window  # type: ignore[union-attr]
    assert (second.window.start, second.window.end) == (first.window.start, first.window.end)


def _folder_of_both(folder: Path) -> Path:
    folder.mkdir()
    rec = vllm(running=8, waiting=20)
    write_openmetrics(rec, folder)
    for i, path in enumerate(write_dumps(rec, folder)):
        os.utime(path, (1.7e9 + 100 * i, 1.7e9 + 100 * i))
    return folder


def test_clocks_in_the_future_are_read(tmp_path: Path) -> None:
    """A server whose clock runs ahead is diagnosed by its own clock."""
    rec = vllm(running=8, waiting=20)
    rec.start = 4_000_000_000.0
    write_openmetrics(rec, tmp_path)
    report = diagnose([str(tmp_path)]).report
    assert report.verdict.primary == "cap-throttled"
    assert report.window.start == 4_000_000_000.0


def test_a_clock_moves_everything_that_has_a_time() -> None:
    """Samples, events and settings of a log stay beside each other; what has no time has none."""
    capture = Capture("engine.log", InputKind.LOG)
    capture.times = np.array([10.0, 20.0])
    capture.events = [LogEvent("startup", 5.0, "started"), LogEvent("ready", None, "ready")]
    capture.settings = [Setting("max_num_seqs", "8", Provenance.CONFIGURED, "start-up line", time=6.0)]
    move_clock(capture, 3600.0)
    assert capture.times.tolist() == [3610.0, 3620.0]
    assert [e.time for e in capture.events] == [3605.0, None]
    assert capture.settings[0].time == 3606.0
    assert "moved by +1 h" in capture.time_basis
