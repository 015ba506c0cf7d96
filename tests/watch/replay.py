"""Recordings at other times and one after another, as a Prometheus would have scraped them from one server."""

from __future__ import annotations

import gzip
import re
import threading
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from msgspec import Struct

SAMPLES = Path(__file__).parents[2] / "sample_data"
# Between two pieces of a chain: one scrape.
GAP_SECONDS = 5.0
_JOB = re.compile(r'job="[^"]*"')
_TARGET = re.compile(r'(?<=[{,])(?:job|instance)="[^"]*",?')
_COUNTER = re.compile(r"\S+_(?:total|count|sum|bucket)(?:\{|$)")
_START = "process_start_time_seconds"


def piece(folder: str, start: float, job: str = "vllm") -> tuple[list[str], float]:
    """The lines of a sample with its first time moved to ``start`` and another job.

    Returns:
        (lines of OpenMetrics text, the last time).
    """
    text = gzip.decompress((SAMPLES / folder / "openmetrics.txt.gz").read_bytes()).decode()
    lines = [line for line in text.splitlines() if line and line[0] != "#"]
    by = start - min(float(line.rsplit(" ", 1)[1]) for line in lines)
    label = f'job="{job}"'
    moved, last = [], start
    for line in lines:
        series, value, stamp = line.rsplit(" ", 2)
        if series.startswith(_START):
            value = repr(round(float(value) + by, 2))
        last = max(last, float(stamp) + by)
        moved.append(f"{_JOB.sub(label, series)} {value} {float(stamp) + by:.3f}")
    return moved, last


class Piece(Struct, frozen=True):
    """One sample of a chain: from its first time to its last, Unix seconds."""

    folder: str
    start: float
    end: float


def chain(folders: Iterable[str], start: float, seconds: float) -> tuple[list[str], list[Piece]]:
    """Samples one after another until so many seconds are filled: one server, restarted between them.

    Returns:
        (lines of OpenMetrics text, the pieces).
    """
    lines: list[str] = []
    pieces: list[Piece] = []
    at = start
    for folder in folders:
        if at - start >= seconds:
            break
        found, last = piece(folder, at)
        lines += found
        pieces.append(Piece(folder, at, last))
        at = last + GAP_SECONDS
    return lines, pieces


class Server:
    """A /metrics page that goes through a recording in its own time, for a real Prometheus to scrape."""

    def __init__(self, folder: str, seconds: float) -> None:
        """Begin ``seconds`` into a sample."""
        self.play(folder, seconds)

    def play(self, folder: str, seconds: float) -> None:
        """Go on from this place of this sample; after its last scrape, this stretch comes again, counters going on."""
        self._pages = _pages(folder)
        self._times = sorted(self._pages)
        self._from, self.began = seconds, time.time()

    def page(self) -> str:
        """The page of this moment."""
        rounds, passed = divmod(time.time() - self.began, self._times[-1] - self._from)
        now, first, last = (self._at(t) for t in (self._from + passed, self._from, self._times[-1]))
        lines = []
        for series, value in now.items():
            shown = value
            if series.startswith(_START):
                shown = round(value + self.began - self._from, 2)
            elif _COUNTER.match(series):
                shown = value + rounds * (last.get(series, value) - first.get(series, 0.0))
            lines.append(f"{series} {shown!r}")
        return "\n".join([*lines, ""])

    def _at(self, seconds: float) -> dict[str, float]:
        return self._pages[self._times[max(0, bisect_right(self._times, seconds) - 1)]]


def _pages(folder: str) -> dict[float, dict[str, float]]:
    """Every scrape of a sample, by its seconds since the first, without what the scraper adds."""
    found: dict[float, dict[str, float]] = {}
    for line in piece(folder, 0.0)[0]:
        if not line.startswith("up{"):
            series, value, stamp = line.rsplit(" ", 2)
            found.setdefault(round(float(stamp)), {})[_TARGET.sub("", series)] = float(value)
    return found


@contextmanager
def serving(server: Server) -> Iterator[str]:
    """Serve the page on a free port; yields host and port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = server.page().encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    http.server_close()
