"""The server's own addresses, beside Streamlit's pages."""

from __future__ import annotations

import threading

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from app import incidents, runbooks
from app.background import BACKGROUND
from app.security import COMMON, DOCUMENT_POLICY
from app.telemetry import TELEMETRY
from diagnostics.watch.exposition import CONTENT_TYPE

READY = threading.Event()
_PLAIN_POLICY = "default-src 'none'; frame-ancestors 'none'"
_NO_STORE = {"Cache-Control": "no-store", "Content-Security-Policy": _PLAIN_POLICY}


async def healthz(_: Request) -> Response:
    """The process lives."""
    return PlainTextResponse("ok\n", headers=_NO_STORE)


async def readyz(_: Request) -> Response:
    """A page can be shown at once: rules, store and charts are loaded."""
    if READY.is_set():
        return PlainTextResponse("ready\n", headers=_NO_STORE)
    return PlainTextResponse("starting\n", 503, headers={**_NO_STORE, "Retry-After": "1"})


async def metrics(_: Request) -> Response:
    """The dashboard's own numbers, and the watcher's when it runs."""
    text = TELEMETRY.exposition(ready=READY.is_set()) + BACKGROUND.exposition()
    return Response(text, media_type=CONTENT_TYPE, headers=_NO_STORE)


async def runbook(request: Request) -> Response:
    """The page of one rule."""
    slug = request.path_params["slug"]
    content = runbooks.page(slug)
    headers = {"Content-Security-Policy": DOCUMENT_POLICY, "Cache-Control": "no-cache"}
    if content is None:
        return HTMLResponse(runbooks.missing_page(slug), 404, headers)
    return HTMLResponse(content, headers=headers)


async def internal_error(_: Request, __: Exception) -> Response:
    """A fault of this program: it is in the log, not in the answer."""
    return PlainTextResponse(
        "Internal error; the log of the server says more.\n", 500, headers={**COMMON, **_NO_STORE}
    )


ROUTES = (
    Route("/healthz", healthz),
    Route("/readyz", readyz),
    Route("/metrics", metrics),
    Route("/runbooks/{slug}", runbook),
    *incidents.ROUTES,
)
