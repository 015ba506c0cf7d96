"""``python -m app``: the dashboard on the sample data, or on the inputs that are named."""

from __future__ import annotations

import argparse
import sys

from app.server import serve
from app.settings import Settings
from diagnostics.model.errors import OptionError


def main() -> int:
    """Start the server and block until it ends.

    Returns:
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="python -m app", description="Start the dashboard.")
    parser.add_argument(
        "inputs", nargs="*", metavar="INPUT", help="files, folders or addresses (default: sample data)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port (default 8501, or the next free one)")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="URL", help="address the page may read; repeat"
    )
    given = parser.parse_args()
    try:
        return serve(Settings.started_with(given.inputs, allowed=given.allow), given.host, given.port)
    except OptionError as error:
        print(f"dashboard: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
