"""Live sources: a Prometheus-compatible API, or the /metrics page of one server."""

from __future__ import annotations

import sys
import time

import numpy as np
import requests

from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind
from diagnostics.options import Options
from diagnostics.sources import prometheus_api
from diagnostics.sources.exposition import looks_like_exposition, read_exposition
from diagnostics.sources.http import get, open_session, without_credentials
from diagnostics.sources.merge import merge

# A live page is read so often, so far apart: enough for a short course, short enough to wait for.
SCRAPES, SCRAPE_GAP_SECONDS = 8, 4.0


def read_live(url: str, options: Options) -> list[Capture]:
    """Read an http(s) address, whatever it is.

    Raises:
        InputError: unreachable, refused, or neither a metrics API nor metrics.
    """
    address, inline = without_credentials(url)
    source = address.rstrip("/")
    with open_session(options.access, inline) as session:
        if not source.endswith("/metrics") and prometheus_api.answers(session, source):
            return [prometheus_api.read(session, source, options)]
        page = source if source.endswith("/metrics") else f"{source}/metrics"
        history = options.history
        if history is None:
            return [_read_page(session, page, SCRAPES)]
        if options.end is not None and (kept := history.recall(page)) is not None:
            return [_told(kept)]
        count = 1 if history.follows(page, time.time()) else SCRAPES
        return [_told(history.extend(page, _read_page(session, page, count), options.since))]


def _read_page(session: requests.Session, page: str, count: int) -> Capture:
    """Scrape one page several times and return it as one capture with true times."""
    scrapes: list[Capture] = []
    for i in range(count):
        if i:
            time.sleep(SCRAPE_GAP_SECONDS)
        scrapes.append(_scrape(session, page))
        _progress(f"\rreading {page}: {i + 1} of {count}")
    _progress("\n")
    whole = merge(scrapes)
    whole.source, whole.kind, whole.time_basis = page, InputKind.OPENMETRICS, "scrape times"
    whole.unused = scrapes[-1].unused
    return _told(whole)


def _told(capture: Capture) -> Capture:
    """The capture, saying how often and for how long the page was scraped."""
    moments = np.unique(capture.times) if capture.times is not None else np.empty(0)
    span = f" in {moments[-1] - moments[0]:.0f} s" if len(moments) > 1 else ""
    capture.recognised = f"{len(capture.series)} known series, {len(moments)} scrapes{span}"
    return capture


def _scrape(session: requests.Session, page: str) -> Capture:
    status, body = get(session, page, page)
    lines = body.decode("utf-8", "replace").splitlines()
    if status != requests.codes.ok:
        raise InputError(
            page, f"HTTP {status}", "no metrics here and no metrics API", "check the port and the path"
        )
    if not looks_like_exposition(lines[:400]):
        what = "an HTML page" if body.lstrip()[:1] == b"<" else "something else"
        raise InputError(
            page,
            "",
            f"answers with {what}, not metrics",
            "give the address of a metrics API or /metrics page",
        )
    capture = read_exposition(page, lines)
    if capture.times is not None:
        capture.times = np.where(np.isnan(capture.times), time.time(), capture.times)
    return capture


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(text)
        sys.stderr.flush()
