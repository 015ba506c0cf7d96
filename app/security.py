"""Headers that every answer carries, Streamlit's own pages included."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import streamlit
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COMMON = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
}
DOCUMENT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; "
    "frame-ancestors 'self'"
)
_INLINE_SCRIPT = re.compile(r"<script(?![^>]*\bsrc=)[^>]*>(.*?)</script>", re.DOTALL | re.IGNORECASE)


def page_policy() -> str:
    """The content policy of Streamlit's pages: scripts of this server, and those inline in its index page."""
    index = Path(streamlit.__file__).parent / "static" / "index.html"
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in _INLINE_SCRIPT.findall(index.read_text("utf-8"))
    ]
    return "; ".join(
        (
            "default-src 'self'",
            # Small scripts of this server's own pages (``gestures``) come as blobs, which only a running script can make.
            " ".join(("script-src 'self' blob:", *hashes)),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "frame-src 'self' blob: data:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


class SecurityHeaders:
    """ASGI middleware that adds the headers which an answer does not set itself."""

    def __init__(self, app: ASGIApp, policy: str) -> None:
        self.app, self.policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and put the headers on what comes back."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in (*COMMON.items(), ("Content-Security-Policy", self.policy)):
                    headers.setdefault(name, value)
            await send(message)

        await self.app(scope, receive, send_with_headers)
