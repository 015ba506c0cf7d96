"""Recordings at other times and one after another, as a Prometheus would have scraped them from one server."""

from __future__ import annotations

import gzip
import re
import threading
import time
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
            value = repr(float(value) + by)
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
        """Go on from this place of this sample, and from there again after its last scrape."""
        self._pages = _pages(folder)
        self._from, self._began = seconds, time.time()

    def page(self) -> str:
        """The page of this moment."""
        passed = self._from + (time.time() - self._began) % (self._pages[-1][0] - self._from)
        return next((text for at, text in reversed(self._pages) if at <= passed), self._pages[0][1])


def _pages(folder: str) -> list[tuple[float, str]]:
    """Every scrape of a sample without what the scraper adds, with its seconds since the first."""
    lines, _ = piece(folder, 0.0)
    found: dict[float, list[str]] = {}
    for line in lines:
        if not line.startswith("up{"):
            text, stamp = line.rsplit(" ", 1)
            found.setdefault(round(float(stamp)), []).append(_TARGET.sub("", text))
    return [(at, "\n".join([*rows, ""])) for at, rows in sorted(found.items())]


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
