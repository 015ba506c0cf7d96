"""Alerts that an Alertmanager sent here: where they arrive, and the page of each with its diagnosis."""

from __future__ import annotations

import hmac
import os
import time
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from app.background import BACKGROUND
from app.runbooks import document
from app.security import DOCUMENT_POLICY
from app.settings import current
from diagnostics.model.errors import InputError
from diagnostics.model.investigation import Investigation
from diagnostics.reports import html
from diagnostics.reports.escape import markup
from diagnostics.watch.page import alert_card, rows
from diagnostics.watch.received import MAX_BODY, read_notification

TOKEN_VARIABLE = "DIAGNOSE_WEBHOOK_TOKEN"  # noqa: S105  its name, not its value
# The report brings its own, stricter policy; a page that embeds it must be of this server.
_REPORT_POLICY = "frame-ancestors 'self'; base-uri 'none'; form-action 'none'"
_PLAIN = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_PAGE = {"Cache-Control": "no-store", "Content-Security-Policy": DOCUMENT_POLICY}
_OFF = (
    "Alerts are not taken here: start the dashboard on the address of a metrics API"
    " (diagnose dashboard http://prometheus:9090), or allow one with --allow."
)
_NOT_READY = "The dashboard is still starting; try again."


def _answer(text: str, status: int, **headers: str) -> Response:
    return PlainTextResponse(text + "\n", status, headers={**_PLAIN, **headers})


async def receive(request: Request) -> Response:
    """Take a notification; its alerts are diagnosed in the background."""
    if current().metrics_address is None:
        return _answer(_OFF, 404)
    token = os.environ.get(TOKEN_VARIABLE, "")
    given = request.headers.get("Authorization", "")
    if token and not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
        return _answer(f"Access was refused: send the token of {TOKEN_VARIABLE} as a bearer token.", 401,
                       **{"WWW-Authenticate": "Bearer"})  # fmt: skip
    body = bytearray()
    async for block in request.stream():
        body += block
        if len(body) > MAX_BODY:
            return _answer(f"Too large: a notification may have {MAX_BODY >> 20} MiB; lower max_alerts.", 413)
    try:
        alerts = read_notification(bytes(body))
    except InputError as error:
        return _answer(str(error), 400)
    investigations = BACKGROUND.investigations
    if investigations is None:
        return _answer(_NOT_READY, 503)
    taken = await run_in_threadpool(investigations.receive, alerts, time.time())
    if not taken:
        return _answer("Too many alerts wait for their diagnosis; send again.", 503)
    return _answer(f"taken: {len(alerts)}", 202)


def overview(request: Request) -> Response:
    """All received alerts, or those whose labels are those of the query; a single one is opened at once."""
    wanted = dict(parse_qsl(request.url.query))
    investigations = BACKGROUND.investigations
    items = investigations.kept.everything() if investigations else []
    found = [i for i in items if wanted.items() <= i.labels.items()]
    if wanted and len(found) == 1:
        return RedirectResponse(f"/incidents/{found[0].fingerprint}", 303, headers=_PLAIN)
    note = (
        ""
        if investigations
        else f"<p>{markup(_OFF if current().metrics_address is None else _NOT_READY)}</p>"
    )
    return HTMLResponse(document("Incidents", f"<h1>Incidents</h1>{note}{rows(found)}"), headers=_PAGE)


def incident(request: Request) -> Response:
    """The report of one alert's time, with the alert above it."""
    fingerprint = request.path_params["fingerprint"]
    investigations = BACKGROUND.investigations
    item = investigations.kept.find(fingerprint) if investigations else None
    if investigations is None or item is None:
        text = (
            f"<h1>No such incident</h1><p>No alert <code>{markup(fingerprint[:80])}</code> is kept here.</p>"
        )
        return HTMLResponse(document("No such incident", text), 404, _PAGE)
    diagnosis = investigations.kept.diagnosis(fingerprint)
    if diagnosis is None:
        return HTMLResponse(document(item.name, f"<h1>{markup(item.name)}</h1>{alert_card(item)}{_why(item)}"),
                            headers=_PAGE)  # fmt: skip
    headers = {**_PAGE, "Content-Security-Policy": _REPORT_POLICY}
    return HTMLResponse(html.render(diagnosis, alert_card(item)), headers=headers)


def _why(item: Investigation) -> str:
    """Why there is no report yet."""
    if item.state == "failed":
        return f"<p>The diagnosis failed: {markup(item.error)}</p>"
    waiting = "The diagnosis is being made; open this page again in some seconds."
    return f"<p>{waiting if item.state == 'waiting' else 'The report was made by another version of this program.'}</p>"


ROUTES = (
    Route("/api/alertmanager", receive, methods=["POST"]),
    Route("/incidents", overview),
    Route("/incidents/{fingerprint}", incident),
)
