"""Diagnosing begins when a page is asked for, while the browser still loads scripts."""

from __future__ import annotations

import logging
import threading
from urllib.parse import parse_qs

from starlette.types import ASGIApp, Receive, Scope, Send

from app.routes import READY

_LOG = logging.getLogger(__name__)
# More at once would only wait for each other.
_FREE = threading.BoundedSemaphore(2)


class Ahead:
    """ASGI middleware that looks at requests for pages and passes all of them on."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin the diagnosis that the page will show, then answer."""
        if scope["type"] == "http" and scope["method"] == "GET" and _is_document(scope) and READY.is_set():
            asked = parse_qs(scope["query_string"].decode("latin-1"))
            if _FREE.acquire(blocking=False):
                threading.Thread(target=_open, args=(asked,), name="ahead", daemon=True).start()
        await self.app(scope, receive, send)


def _is_document(scope: Scope) -> bool:
    """Whether a browser asks for a page, and not for something that a page needs."""
    return any(name == b"accept" and value.startswith(b"text/html") for name, value in scope["headers"])


def _open(asked: dict[str, list[str]]) -> None:
    from app import data, state  # noqa: PLC0415  beside the server, not before it listens

    try:
        source = data.find(asked.get("source", [None])[0])
        start, end = (state.moment(asked.get(name, [""])[0]) for name in ("from", "to"))
        if source is not None and not source.live:
            data.outcome(source, since=0.0, select="", start=start, end=end)
    except Exception:
        _LOG.exception("a diagnosis ahead of its page failed")
    finally:
        _FREE.release()
