"""What the dashboard was started with: set once by the command line, or read from the environment."""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct, field
from msgspec.structs import replace

from diagnostics.model.errors import OptionError
from diagnostics.options import Options
from diagnostics.watch.options import WatchOptions

ENVIRONMENT = "DIAGNOSE_DASHBOARD"
_PLAIN_OPTIONS = (
    "since",
    "start",
    "end",
    "step",
    "select",
    "interval",
    "timezone",
    "engine_args",
    "gpu",
    "gpu_hourly",
    "slo",
    "only",
    "ignore",
    "runbook_base",
)
_LISTS = frozenset({"only", "ignore"})


class Settings(Struct, frozen=True):
    """Attributes of one start.

    Attributes:
        inputs: what the command line named; empty means the sample data.
        options: everything else it said, secrets included; they never leave the process.
        allowed: addresses a page may make the server read, beside those in ``inputs``.
        local: whether the server listens on this machine only.
        samples: folder of the sample data.
        watch: what to keep diagnosing beside the pages; None for nothing.
    """

    inputs: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)
    allowed: tuple[str, ...] = ()
    local: bool = True
    samples: Path = Path("sample_data")
    watch: WatchOptions | None = None

    @property
    def metrics_address(self) -> str | None:
        """The address that received alerts are diagnosed on: the first that was named at the start."""
        addresses = (a for a in (*self.inputs, *self.allowed) if a.startswith(("http://", "https://")))
        return next(addresses, None)

    @classmethod
    def started_with(
        cls, inputs: Sequence[str], options: Options | None = None, allowed: Sequence[str] = ()
    ) -> Settings:
        """Settings of a command line; one folder with an index of samples is taken as the sample data.

        Raises:
            OptionError: an allowed address is none.
        """
        for address in allowed:
            if origin(address) is None:
                raise OptionError(f"--allow {address}: write it like http://prometheus:9090")
        made = cls(tuple(inputs), options or Options(), tuple(allowed), samples=samples_folder())
        if len(inputs) == 1 and (Path(inputs[0]) / "index.toml").is_file():
            return replace(made, inputs=(), samples=Path(inputs[0]))
        return made

    def may_read(self, address: str) -> bool:
        """Whether a page may make the server read this address.

        On a server for this machine only, the person at the page is the administrator, so everything but the
        link-local addresses of cloud metadata is allowed; elsewhere only what was named at the start.
        """
        wanted = origin(address)
        if wanted is None:
            return False
        if wanted in {origin(a) for a in (*self.inputs, *self.allowed)}:
            return True
        return self.local and not self.allowed and not _is_link_local(urlsplit(address).hostname or "")


def origin(address: str) -> str | None:
    """Scheme, host and port of an address, or None when it is no http address or carries a password."""
    try:
        parts = urlsplit(address)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return None
    if port is None or not parts.hostname or parts.username or parts.password:
        return None
    return f"{parts.scheme}://{parts.hostname.lower()}:{port}"


def _is_link_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_link_local
    except ValueError:
        return host.lower() in {"metadata.google.internal", "metadata"}


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def samples_folder() -> Path:
    """The sample data: of the current folder, else beside the package."""
    here = Path("sample_data")
    return here if here.is_dir() else Path(__file__).resolve().parent.parent / "sample_data"


_started: list[Settings] = []


def configure(settings: Settings) -> None:
    """Set what the dashboard runs on, for this process."""
    _started[:] = [settings]


def current() -> Settings:
    """What the dashboard runs on.

    Raises:
        OptionError: the environment variable is no JSON of the known form.
    """
    if not _started:
        configure(_from_environment(os.environ.get(ENVIRONMENT, "")))
    return _started[0]


def _from_environment(text: str) -> Settings:
    if not text.strip():
        return Settings.started_with(())
    try:
        said = json.loads(text)
        chosen = {k: v for k, v in said.get("options", {}).items() if k in _PLAIN_OPTIONS}
        chosen = {k: tuple(v) if k in _LISTS else v for k, v in chosen.items()}
        settings = Settings.started_with(
            [str(i) for i in said.get("inputs", [])], Options(**chosen), said.get("allowed", [])
        )
        return replace(settings, local=bool(said.get("local", True)))
    except (ValueError, AttributeError, TypeError) as error:
        raise OptionError(f'{ENVIRONMENT}: write it like {{"inputs": ["metrics.txt"]}}') from error
