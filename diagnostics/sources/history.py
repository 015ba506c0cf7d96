"""What was scraped of live pages before, so that a page that is followed shows more than its last few scrapes.

A ``/metrics`` page tells of one moment only. Who follows it keeps a :class:`History` and hands it over with the options.
"""

from __future__ import annotations

import threading

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from diagnostics.model.samples import Capture
from diagnostics.sources.merge import merge
from diagnostics.sources.window import cut

# A page that was not read for so long is begun anew: what happened in between is not known.
FOLLOWED_SECONDS = 120.0
# Bounds of memory: about 24 bytes a sample.
MOST_SAMPLES, MOST_PAGES = 2_000_000, 8


class Page(Struct):
    """One page: what was scraped, and the longest look-back that anybody asked for, seconds."""

    capture: Capture
    since: float


class History:
    """Scrapes by address of the page; for all threads of a process, in memory only."""

    def __init__(self) -> None:
        self._pages: dict[str, Page] = {}
        self._lock = threading.Lock()

    def follows(self, page: str, now: float) -> bool:
        """Whether the page was read so lately that one more scrape continues its course."""
        with self._lock:
            kept = self._pages.get(page)
            return kept is not None and now - _last(kept.capture) <= FOLLOWED_SECONDS

    def extend(self, page: str, new: Capture, since: float) -> Capture:
        """Keep new scrapes of a page and return its course.

        Args:
            page: address, without credentials.
            new: its last scrapes, with times.
            since: seconds to look back from the last scrape; older samples are not returned.
        """
        last = _last(new)
        with self._lock:
            kept = self._pages.pop(page, None)
            if kept is not None and last - _last(kept.capture) <= FOLLOWED_SECONDS:
                since_kept = max(kept.since, since)
                whole = _joined(kept.capture, new)
            else:
                since_kept, whole = since, new
            cut(whole, last - since_kept, None)
            _bound(whole)
            self._pages[page] = Page(whole, since_kept)
            while len(self._pages) > MOST_PAGES:
                del self._pages[next(iter(self._pages))]
        course = _copy(whole)
        cut(course, last - since, None)
        return course

    def recall(self, page: str) -> Capture | None:
        """What is kept of a page, without reading it; None where there is nothing."""
        with self._lock:
            kept = self._pages.get(page)
            return None if kept is None else _copy(kept.capture)


def _last(capture: Capture) -> float:
    return float(capture.times.max()) if capture.times is not None and len(capture.times) else -np.inf


def _joined(kept: Capture, new: Capture) -> Capture:
    """Both as one; of what two readers scraped at the same time the first stays, so that times only grow."""
    later = _copy(new)
    cut(later, float(np.nextafter(_last(kept), np.inf)), None)
    whole = merge([kept, later])
    # What is set is what the last scrape says.
    return replace(
        new, series=whole.series, series_of=whole.series_of, times=whole.times, values=whole.values
    )


def _bound(capture: Capture) -> None:
    """Drop the oldest samples of a page with very many."""
    if capture.times is not None and len(capture.times) > MOST_SAMPLES:
        cut(capture, float(np.partition(capture.times, -MOST_SAMPLES)[-MOST_SAMPLES]), None)


def _copy(capture: Capture) -> Capture:
    """A capture that may be changed; its arrays are replaced and never written into, so they are shared."""
    return replace(
        capture,
        series=list(capture.series),
        settings=list(capture.settings),
        events=list(capture.events),
        warnings=list(capture.warnings),
    )
