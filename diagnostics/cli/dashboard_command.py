"""``diagnose dashboard INPUT...``: the dashboard on one's own inputs."""

from __future__ import annotations

from diagnostics.cli.options import Command, to_options


def run(command: Command) -> int:
    """Start the server on the inputs of the command and block until it is stopped."""
    from app.server import serve  # noqa: PLC0415  Streamlit is only loaded when it is used
    from app.settings import Settings  # noqa: PLC0415

    settings = Settings.started_with(command.inputs, to_options(command), getattr(command, "allow", ()))
    return serve(settings, getattr(command, "host", "127.0.0.1"), getattr(command, "port", None))
