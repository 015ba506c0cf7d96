"""``diagnose dashboard INPUT...``: the dashboard on one's own inputs."""

from __future__ import annotations

from collections.abc import Sequence

from diagnostics.cli.options import Command, main_parser, parse_with_defaults, to_options


def parse(argv: Sequence[str]) -> Command:
    """Parse ``dashboard INPUT... --port --host`` with the options of the main command."""
    parser = main_parser()
    parser.prog = "diagnose dashboard"
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, help="port to listen on (default 8501, or a free one)")
    parser.add_argument(
        "--allow", action="append", default=[], metavar="URL", help="address the page may connect to; repeat"
    )
    command = parse_with_defaults(parser, argv[1:])
    command.action = run
    return command


def run(command: Command) -> int:
    """Start the server on the inputs of the command and block until it is stopped."""
    from app.server import serve  # noqa: PLC0415  Streamlit is only loaded when it is used
    from app.settings import Settings  # noqa: PLC0415

    settings = Settings.started_with(
        command.inputs, to_options(command), (*command.configuration.allow, *command.allow)
    )
    return serve(settings, command.host, command.port)
