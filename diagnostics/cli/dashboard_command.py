"""``diagnose dashboard INPUT...``: the dashboard on one's own inputs."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from diagnostics.cli.options import Command, main_parser, parse_with_defaults, to_options
from diagnostics.cli.watch_command import add_watch_options, to_watch_options


def parse(argv: Sequence[str]) -> Command:
    """Parse ``dashboard INPUT... --port --host`` with the options of the main command."""
    parser = main_parser()
    parser.prog = "diagnose dashboard"
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default 8501, or a free one)")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="URL", help="address the page may connect to; repeat"
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep diagnosing the inputs, as diagnose watch does"
    )
    add_watch_options(parser)
    command = parse_with_defaults(parser, argv[1:])
    command.action = run
    return command


def run(command: Command) -> int:
    """Start the server on the inputs of the command and block until it is stopped."""
    from app.server import serve  # noqa: PLC0415  Streamlit is only loaded when it is used
    from app.settings import Settings  # noqa: PLC0415

    allowed = (*command.configuration.allow, *command.allow)
    settings = Settings.started_with(command.inputs, to_options(command), allowed)
    if command.watch:
        settings = replace(settings, watch=to_watch_options(command))
    return serve(settings, command.host, command.port)
