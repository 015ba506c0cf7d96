"""What a user may say about watching."""

from __future__ import annotations

from urllib.parse import urlsplit

from msgspec import Struct

from diagnostics.model.errors import OptionError
from diagnostics.model.findings import Severity
from diagnostics.options import Options

# s; a shorter round would diagnose the same samples again.
EVERY_SECONDS = 60.0
# s; long enough for rules that need many requests, short enough that an old incident leaves the window.
SINCE = "15m"


class WatchOptions(Struct, frozen=True):
    """What to watch, how often, and whom to tell.

    Attributes:
        inputs: addresses, files, folders; read anew in each round.
        options: of each diagnosis; its store keeps incidents, not samples.
        every: seconds between the starts of two rounds.
        alertmanagers: base addresses of Alertmanagers.
        webhooks: addresses of Slack-compatible webhooks; they are secrets.
        level: severity from which on somebody is told.
    """

    inputs: tuple[str, ...]
    options: Options
    every: float = EVERY_SECONDS
    alertmanagers: tuple[str, ...] = ()
    webhooks: tuple[str, ...] = ()
    level: Severity = Severity.WARNING

    def __post_init__(self) -> None:
        """Refuse addresses that are none; what was given may be a secret, so it is not repeated."""
        for name, addresses in (("--alertmanager", self.alertmanagers), ("--webhook", self.webhooks)):
            for number, address in enumerate(addresses, start=1):
                if not _is_web(address):
                    raise OptionError(f"{name}, address {number}: write it like http://host:port/path")

    def __repr__(self) -> str:
        """Without addresses that hold secrets."""
        return f"WatchOptions({self.inputs}, every={self.every:g})"


def _is_web(address: str) -> bool:
    try:
        parts = urlsplit(address)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
