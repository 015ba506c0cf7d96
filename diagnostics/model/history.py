"""What an option says about live pages: somebody keeps what was scraped before (see ``sources/history.py``)."""

from __future__ import annotations

from typing import Protocol

from diagnostics.model.samples import Capture


class ScrapeHistory(Protocol):
    """Scrapes of live pages, by address."""

    def follows(self, page: str, now: float) -> bool:
        """Whether one more scrape continues the course of a page; ``now`` in Unix seconds."""

    def extend(self, page: str, new: Capture, since: float) -> Capture:
        """Keep new scrapes and return the course of the last ``since`` seconds."""

    def recall(self, page: str) -> Capture | None:
        """What is kept of a page."""
