"""A live page that is followed: its course grows scrape by scrape, and stays bounded."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from support.carriers import dump
from support.vllm import vllm

from diagnostics import Options, diagnose
from diagnostics.model.report import Diagnosis
from diagnostics.sources import history, live
from diagnostics.sources.history import History


class _Moving(http.server.BaseHTTPRequestHandler):
    """The page of a server whose counters have moved at every scrape."""

    scrape = 0

    def do_GET(self) -> None:
        """The next scrape."""
        type(self).scrape += 1
        body = dump(vllm(running=8, waiting=20), 10 + self.scrape).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(live, "SCRAPE_GAP_SECONDS", 0.05)
    _Moving.scrape = 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Moving)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _finished(found: Diagnosis) -> int:
    """Points of a counter that moved between all scrapes."""
    return next(len(s.times) for s in found.series if s.signal == "requests_finished" and s.mean > 0)


def test_each_refresh_adds_one_scrape_to_the_course(page: str) -> None:
    options = Options(history=History())
    first = diagnose([page], options, charts=True)
    assert _Moving.scrape == live.SCRAPES
    for _ in range(3):
        last = diagnose([page], options, charts=True)
    assert _Moving.scrape == live.SCRAPES + 3
    assert first.report.window.start == last.report.window.start
    assert _finished(last) == _finished(first) + 3
    assert f"{live.SCRAPES + 3} scrapes" in last.report.inputs[0].recognised


def test_a_stretch_of_a_followed_page_is_judged_without_a_scrape(page: str) -> None:
    options = Options(history=History())
    window = diagnose([page], options).report.window
    assert window.start is not None
    assert window.end is not None
    middle = (window.start + window.end) / 2
    part = diagnose([page], Options(history=options.history, start=window.start, end=middle)).report.window
    assert _Moving.scrape == live.SCRAPES
    assert part.end is not None
    assert part.end <= middle


def test_the_history_is_cut_to_the_look_back(page: str) -> None:
    options = Options(history=History(), since=0.2)
    whole = diagnose([page], options).report.window
    assert whole.start is not None
    assert whole.end is not None
    assert whole.end - whole.start <= 0.2


def test_memory_is_bounded(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = History()
    options = Options(history=kept)
    diagnose([page], options)
    full = kept.recall(page)
    assert full is not None
    assert full.times is not None
    most = len(full.times)
    monkeypatch.setattr(history, "MOST_SAMPLES", most)
    monkeypatch.setattr(history, "MOST_PAGES", 1)
    for _ in range(3):
        diagnose([page], options)
    again = kept.recall(page)
    assert again is not None
    assert again.times is not None
    assert most / 2 < len(again.times) <= most
    assert again.times.min() > full.times.min()
    assert len(np.unique(again.times)) <= live.SCRAPES
    diagnose([page.replace("127.0.0.1", "localhost")], options)
    assert kept.recall(page) is None


def test_a_page_that_nobody_followed_is_begun_anew(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = Options(history=History())
    first = diagnose([page], options).report.window
    monkeypatch.setattr(history, "FOLLOWED_SECONDS", -1.0)
    second = diagnose([page], options).report.window
    assert _Moving.scrape == 2 * live.SCRAPES
    assert first.end is not None
    assert second.start is not None
    assert second.start > first.end
