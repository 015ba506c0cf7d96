"""The store: atomic and idempotent for each input, increments once and for all, one owner a file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind, LogEvent, Provenance, Series, Setting
from diagnostics.store.database import open_store
from diagnostics.store.writer import increments, write_capture

NAN = float("nan")


def _capture(points: list[tuple[int, float, float]], source: str = "a.txt") -> Capture:
    """A capture of points (series, time, value), with a setting and an event."""
    count = 1 + max(number for number, _, _ in points)
    series, times, values = (np.array(column) for column in zip(*points, strict=True))
    return Capture(
        source,
        InputKind.OPENMETRICS,
        series=[Series(f"vllm:metric_{i}_total", {"engine": "0"}) for i in range(count)],
        series_of=series.astype(np.int64),
        times=times.astype(np.float64),
        values=values.astype(np.float64),
        settings=[Setting("max_num_seqs", "8", Provenance.CONFIGURED, "launch command")],
        events=[LogEvent("startup", 1.0, "up")],
    )


def _counts(db: duckdb.DuckDBPyConnection) -> dict[str, int]:
    tables = ("inputs", "series", "samples", "settings", "events")
    return {t: db.execute(f"SELECT count(*) FROM {t}").fetchall()[0][0] for t in tables}


def _stored(db: duckdb.DuckDBPyConnection) -> list[tuple[float, float, float | None]]:
    return db.execute("SELECT t, value, increment FROM samples ORDER BY series_id, t").fetchall()


def test_the_same_input_twice_is_stored_once() -> None:
    """Reading an input again gives the same number and adds nothing."""
    db = open_store()
    points = [(0, 1.0, 5.0), (0, 2.0, 7.0), (1, 1.0, 1.0)]
    first = write_capture(db, _capture(points), timed=True)
    before = _counts(db)
    assert write_capture(db, _capture(points), timed=True) == first
    assert _counts(db) == before == {"inputs": 1, "series": 2, "samples": 3, "settings": 1, "events": 1}


def test_another_content_under_the_same_name_is_another_input() -> None:
    """A file that grew is not mistaken for the one that was stored."""
    db = open_store()
    first = write_capture(db, _capture([(0, 1.0, 5.0)]), timed=True)
    second = write_capture(db, _capture([(0, 1.0, 6.0)]), timed=True)
    assert first != second
    assert _counts(db)["inputs"] == 2


@pytest.mark.parametrize("table", ["inputs", "series", "samples", "settings", "events"])
def test_a_write_that_fails_leaves_nothing(table: str) -> None:
    """Wherever the write breaks, nothing of that input stays, and what was there before does."""
    db = open_store()
    write_capture(db, _capture([(0, 1.0, 5.0)], "before.txt"), timed=True)
    before = _counts(db)
    db.execute(f"ALTER TABLE {table} RENAME TO gone")
    with pytest.raises(duckdb.Error):
        write_capture(db, _capture([(0, 1.0, 9.0), (1, 1.0, 9.0)], "broken.txt"), timed=True)
    db.execute(f"ALTER TABLE gone RENAME TO {table}")
    assert _counts(db) == before
    write_capture(db, _capture([(0, 1.0, 9.0)], "after.txt"), timed=True)
    assert _counts(db)["inputs"] == 2


def test_a_killed_process_leaves_all_or_nothing(tmp_path: Path) -> None:
    """A process that dies in the middle of a write leaves a store that opens, without half an input."""
    path = tmp_path / "store.duckdb"
    program = (
        "import os, sys\n"
        "from diagnostics.store.database import open_store\n"
        "from diagnostics.store import writer\n"
        "sys.path.insert(0, sys.argv[2])\n"
        "from test_store_writer import _capture\n"
        "db = open_store(sys.argv[1])\n"
        "writer.write_capture(db, _capture([(0, 1.0, 5.0)], 'whole.txt'), timed=True)\n"
        "writer._write_facts = lambda *a: os._exit(9)\n"
        "writer.write_capture(db, _capture([(0, 1.0, 9.0)], 'half.txt'), timed=True)\n"
    )
    run = subprocess.run([sys.executable, "-c", program, str(path), str(Path(__file__).parent)], check=False)
    assert run.returncode == 9
    db = open_store(str(path))
    assert db.execute("SELECT source FROM inputs").fetchall() == [("whole.txt",)]
    assert _counts(db)["samples"] == 1


def test_a_second_process_gets_one_line(tmp_path: Path) -> None:
    """One process owns a store; another one is told so in one line, with the way out."""
    path = tmp_path / "store.duckdb"
    owner = open_store(str(path))
    program = (
        "import sys\nfrom diagnostics.store.database import open_store\n"
        "from diagnostics.model.errors import InputError\n"
        "try:\n    open_store(sys.argv[1])\nexcept InputError as error:\n    print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    owner.close()
    assert run.stdout.count("\n") == 1
    assert "another process owns this store" in run.stdout
    assert "--store" in run.stdout


@pytest.mark.parametrize("make", ["text", "folder", "nowhere"])
def test_what_is_no_store_gets_one_line(tmp_path: Path, make: str) -> None:
    """A text file, a folder and a place that does not exist are refused in one line."""
    path = tmp_path / "x.duckdb"
    if make == "text":
        path.write_text("not a database" * 500)
    elif make == "folder":
        path.mkdir()
    else:
        path = tmp_path / "missing" / "x.duckdb"
    with pytest.raises(InputError) as caught:
        open_store(str(path))
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_store_survives_being_closed(tmp_path: Path) -> None:
    """What was stored is there again in the next process, with its labels and times."""
    path = str(tmp_path / "store.duckdb")
    db = open_store(path)
    write_capture(db, _capture([(0, 1.5, 5.0), (0, 2.5, 7.0)]), timed=True)
    db.close()
    again = open_store(path)
    assert _stored(again) == [(1.5, 5.0, None), (2.5, 7.0, 2.0)]
    assert again.execute("SELECT labels->>'engine' FROM series").fetchall() == [("0",)]


def test_increments_correct_resets() -> None:
    """After a fall the growth is the new value; the first sample of a series has none."""
    series = np.array([0, 0, 0, 0, 1, 1])
    values = np.array([10.0, 15.0, 3.0, 4.0, 100.0, 100.0])
    np.testing.assert_array_equal(increments(series, values), [NAN, 5, 3, 1, NAN, 0])


def test_increments_of_one_sample_are_unknown() -> None:
    """A single sample has no growth, which is not a growth of 0."""
    assert np.isnan(increments(np.array([0]), np.array([7.0]))).all()
    assert len(increments(np.array([], dtype=np.int64), np.array([]))) == 0


def test_samples_in_disorder_are_sorted() -> None:
    """A carrier may bring samples in any order; growth follows the time."""
    db = open_store()
    write_capture(db, _capture([(0, 3.0, 9.0), (0, 1.0, 2.0), (0, 2.0, 5.0)]), timed=True)
    assert _stored(db) == [(1.0, 2.0, None), (2.0, 5.0, 3.0), (3.0, 9.0, 4.0)]


def test_duplicates_are_kept_once() -> None:
    """Of two samples at one time the last one read stays, and growth is not counted twice."""
    db = open_store()
    write_capture(db, _capture([(0, 1.0, 2.0), (0, 2.0, 5.0), (0, 2.0, 6.0), (0, 3.0, 6.0)]), timed=True)
    assert _stored(db) == [(1.0, 2.0, None), (2.0, 6.0, 4.0), (3.0, 6.0, 0.0)]


def test_nan_samples_are_no_resets() -> None:
    """A NaN, as a stale mark becomes one, is passed over: growth goes from the sample before to the one after."""
    db = open_store()
    write_capture(db, _capture([(0, 1.0, 2.0), (0, 2.0, NAN), (0, 3.0, 6.0)]), timed=True)
    assert _stored(db) == [(1.0, 2.0, None), (3.0, 6.0, 4.0)]


def test_labels_with_quotes_and_control_characters_come_back_whole() -> None:
    """Names and labels are text everywhere, whatever they hold."""
    db = open_store()
    capture = _capture([(0, 1.0, 2.0)])
    label = "a'b\"c\\d\n; DROP TABLE samples; --\t\u2028é"
    capture.series = [Series("vllm:metric_total", {"model_name": label})]
    write_capture(db, capture, timed=True)
    assert db.execute("SELECT labels->>'model_name' FROM series").fetchall() == [(label,)]
