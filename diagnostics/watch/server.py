"""The watcher's own small HTTP server: ``/metrics`` and ``/healthz``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from diagnostics.model.errors import OptionError
from diagnostics.watch.exposition import CONTENT_TYPE

# s; a client that says nothing for so long is hung up on.
IDLE_SECONDS = 10.0


@contextmanager
def serving(host: str, port: int, metrics: Callable[[], str]) -> Iterator[str]:
    """Serve in the background.

    Args:
        host: address to listen on.
        port: port, 0 for any free one.
        metrics: gives the text of ``/metrics``.

    Yields:
        The server's address.

    Raises:
        OptionError: it cannot listen there.
    """

    class Handler(BaseHTTPRequestHandler):
        timeout = IDLE_SECONDS

        def do_GET(self) -> None:
            """Answer the two paths there are."""
            path = self.path.partition("?")[0]
            answers = {"/metrics": (CONTENT_TYPE, metrics), "/healthz": ("text/plain", lambda: "ok\n")}
            kind, make = answers.get(path, ("text/plain", lambda: "only /metrics and /healthz are here\n"))
            body = make().encode()
            self.send_response(200 if path in answers else 404)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name of the base class
            """Say nothing: standard output is for transitions."""

    try:
        server = ThreadingHTTPServer((host, port), Handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OptionError(f"--host {host} --port {port}: cannot listen there: {reason}") from error
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    shown = f"[{host}]" if ":" in host else host
    try:
        yield f"http://{shown}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
