"""A real HTTP server that takes what is posted to it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Inbox:
    """Bodies by path; while ``status`` is no success, nothing is taken."""

    def __init__(self) -> None:
        self.url = ""
        self.status = 200
        self.bodies: list[tuple[str, Any]] = []

    def texts(self) -> list[str]:
        """The texts that a chat would show."""
        return [body["text"] for _, body in self.bodies]


@contextmanager
def inbox() -> Iterator[Inbox]:
    """Serve on a free port."""
    taken = Inbox()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if taken.status == 200:
                taken.bodies.append((self.path, body))
            self.send_response(taken.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    taken.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield taken
    server.shutdown()
    server.server_close()
