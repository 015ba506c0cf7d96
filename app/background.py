"""What the dashboard's process does beside showing pages: watching, and diagnosing received alerts."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from app.settings import Settings
from diagnostics.model.errors import InputError

if TYPE_CHECKING:
    from diagnostics.watch.investigate import Investigations
    from diagnostics.watch.watcher import Watcher

GRACE_SECONDS = 5.0
_LOG = logging.getLogger(__name__)


class Background:
    """The watcher and the investigations of one process; each None while it does not run."""

    def __init__(self) -> None:
        self.investigations: Investigations | None = None
        self._watcher: Watcher | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, settings: Settings) -> None:
        """Start what these settings ask for, without holding up the server."""
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, args=(settings,), name="background", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop; what is under way is waited for a little."""
        self._stop.set()
        if self.investigations is not None:
            self.investigations.close()
        if self._thread is not None:
            self._thread.join(GRACE_SECONDS)

    def exposition(self) -> str:
        """The watcher's numbers; empty when nothing is watched."""
        return self._watcher.exposition if self._watcher is not None else ""

    def _run(self, settings: Settings) -> None:
        from diagnostics.watch.investigate import Investigations  # noqa: PLC0415  beside the server, not before it listens
        from diagnostics.watch.watcher import Watcher  # noqa: PLC0415

        try:
            if settings.metrics_address is not None:
                self.investigations = Investigations(settings.metrics_address, settings.options)
            if settings.watch is not None:
                self._watcher = Watcher(settings.watch, lambda line: print(line, flush=True))
                self._watcher.run(self._stop)
        except InputError as error:
            print(f"dashboard: {error}", flush=True)


BACKGROUND = Background()
