"""The one server: Streamlit's pages, the routes beside them, headers, start and end."""

from __future__ import annotations

import errno
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import streamlit as st
from msgspec.structs import replace
from starlette.middleware import Middleware

from app import style, warm
from app.ahead import Ahead
from app.background import BACKGROUND
from app.routes import READY, ROUTES, internal_error
from app.security import SecurityHeaders, page_policy
from app.settings import Settings, configure, current, is_loopback
from diagnostics.model.errors import OptionError

SCRIPT = Path(__file__).with_name("streamlit_app.py")
FIRST_PORT, PORTS_TRIED = 8501, 100
MAX_UPLOAD_MB = 64
_LOG = logging.getLogger(__name__)

CONFIG: dict[str, Any] = {
    "browser.gatherUsageStats": False,
    "server.headless": True,
    "server.showEmailPrompt": False,
    "server.fileWatcherType": "none",
    "server.runOnSave": False,
    "server.maxUploadSize": MAX_UPLOAD_MB,
    "client.showErrorDetails": "none",
    "client.toolbarMode": "minimal",
    "client.allowedOrigins": [],
    "logger.hideWelcomeMessage": True,
    "runner.cacheBackgroundRefreshTTLMultiplier": 8.0,
    **style.config(),
}


def _warm_up() -> None:
    """Load what the first page needs, so that the first visitor does not wait for imports."""
    try:
        warm.load()
    except Exception:
        _LOG.exception("the rules cannot be loaded; the dashboard stays not ready")
        return
    READY.set()
    _open_first()


def _open_first() -> None:
    """Diagnose what a visitor without a link is shown, unless it lives: that is asked for when somebody looks."""
    from app import data  # noqa: PLC0415

    first = data.find(None)
    if first is not None and not first.live:
        data.outcome(first, since=0.0, select="", start=None, end=None)


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[dict[str, Any]]:
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
    if address := os.environ.get("_DIAGNOSE_DASHBOARD_ADDRESS"):
        print(f"Dashboard: {address}", flush=True)
    BACKGROUND.start(current())
    yield {}
    READY.clear()
    BACKGROUND.stop()


def build() -> st.App:
    """The ASGI application."""
    return st.App(
        SCRIPT,
        routes=ROUTES,
        middleware=[Middleware(SecurityHeaders, policy=page_policy()), Middleware(Ahead)],
        lifespan=_lifespan,
        exception_handlers={500: internal_error},
    )


app = build()
"""For any ASGI server, as ``app.server:app``; inputs then come from the environment."""


def serve(settings: Settings, host: str = "127.0.0.1", port: int | None = None) -> int:
    """Serve until stopped.

    Args:
        settings: what to show.
        host: address to listen on.
        port: port, or None for 8501 or the next free one.

    Returns:
        The exit status.

    Raises:
        OptionError: the port is taken, or the address is none of this machine.
    """
    chosen = free_port(host, port)
    configure(replace(settings, local=is_loopback(host)))
    shown = f"[{host}]" if ":" in host else host
    os.environ["_DIAGNOSE_DASHBOARD_ADDRESS"] = f"http://{shown}:{chosen}"
    config = {**CONFIG, "server.address": host, "server.port": chosen}
    if is_loopback(host) and "STREAMLIT_SERVER_ALLOWED_HOSTS" not in os.environ:
        config["server.allowedHosts"] = ["localhost", "127.0.0.1", "::1"]
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    app.run(config=config)
    return 0


def free_port(host: str, wanted: int | None) -> int:
    """The wanted port, or the first free one from 8501 on.

    Raises:
        OptionError: the wanted port cannot be used, or none is free.
    """
    candidates = [wanted] if wanted is not None else range(FIRST_PORT, FIRST_PORT + PORTS_TRIED)
    for port in candidates:
        try:
            return _bindable(host, port)
        except OSError as error:
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise OptionError(f"--host {host}: cannot listen there: {error.strerror or error}") from error
        except OverflowError as error:
            raise OptionError(f"--port {port}: not a port; give 1 to 65535") from error
    if wanted is not None:
        raise OptionError(f"--port {wanted}: in use, or not permitted; leave it out to take a free one")
    raise OptionError(
        f"no free port from {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1}; give one with --port"
    )


def _bindable(host: str, port: int) -> int:
    """The port itself, or the one the system gives for 0.

    Raises:
        OSError: it cannot be bound.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    with socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        return int(probe.getsockname()[1])
