"""``diagnose watch INPUT...``: keep diagnosing until stopped."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, Parser, duration, main_parser, parse_with_defaults, to_options
from diagnostics.model.errors import OptionError
from diagnostics.model.findings import Severity
from diagnostics.watch.options import EVERY_SECONDS, SINCE, WatchOptions

DEFAULT_PORT = 9469
# s; a round that is under way when the process is told to stop may take so long to end.
GRACE_SECONDS = 10.0
_NOT_HERE = ("--from", "--to", "--after", "--baseline", "--format", "--output", "--fail-on", "--redact")


def parser() -> Parser:
    """The options of this command."""
    made = main_parser()
    made.prog = "diagnose watch"
    made.description = (
        f"Diagnose the last {SINCE} (or --since) again and again; say what opens, gets worse and is resolved."
    )
    made.epilog = (
        "Ends with Ctrl-C or SIGTERM. Without --store, a restart tells everything that is open once more."
    )
    made.set_defaults(since=SINCE)
    add_watch_options(made)
    made.add_argument("--host", default="127.0.0.1", help="address for /metrics (default 127.0.0.1)")
    made.add_argument("--port", type=int, default=DEFAULT_PORT,
        help=f"port for /metrics and /healthz (default {DEFAULT_PORT}; 0 for a free one)")  # fmt: skip
    return made


def add_watch_options(made: argparse.ArgumentParser) -> None:
    """The options of watching, which the dashboard takes too."""
    group = made.add_argument_group("watching")
    group.add_argument(
        "--every", default=f"{EVERY_SECONDS:g}s", metavar="T", help="time between rounds (default 60s)"
    )
    group.add_argument("--alertmanager", action="append", default=[], metavar="URL",
        help="post findings there as alerts; repeat (environment: DIAGNOSE_ALERTMANAGER)")  # fmt: skip
    group.add_argument("--webhook", action="append", default=[], metavar="URL",
        help="Slack-compatible webhook to tell; repeat (environment, as it is a secret: DIAGNOSE_WEBHOOK)")  # fmt: skip
    group.add_argument("--notify-on", choices=tuple(Severity), default=Severity.WARNING.value,
        help="tell of findings from this severity on (default warning)")  # fmt: skip


def to_watch_options(command: Command) -> WatchOptions:
    """What the command line and the environment say about watching.

    Raises:
        OptionError: a value is wrong.
    """
    if not command.inputs:
        raise OptionError("nothing to watch: name an address, a file or a folder")
    if "-" in command.inputs:
        raise OptionError("standard input can be read only once; watch an address, a file or a folder")
    _check_store(command)
    return WatchOptions(
        inputs=tuple(command.inputs),
        options=to_options(command),
        every=duration(command.every),
        alertmanagers=_addresses(command.alertmanager) or command.configuration.alertmanagers,
        webhooks=_addresses(command.webhook) or command.configuration.webhooks,
        level=Severity(command.notify_on),
    )


def _addresses(given: list[str]) -> tuple[str, ...]:
    """Addresses of an option, which a variable of the environment may give several of, apart by spaces."""
    return tuple(address for text in given for address in text.split())


def _check_store(command: Command) -> None:
    """Reading the store as an input would let go of the lock on it."""
    if not command.store:
        return
    store = Path(command.store).resolve()
    for source in command.inputs:
        if store.is_relative_to(Path(source).resolve()):
            raise OptionError(f"--store {command.store}: lies in the input {source}; put it elsewhere")


def parse(argv: Sequence[str]) -> Command:
    """Parse ``watch INPUT...``."""
    for argument in argv:
        name = argument.partition("=")[0]
        if name in _NOT_HERE:
            raise OptionError(
                f"{name}: not with watch, which looks back from now, again and again, and prints lines"
            )
    command = parse_with_defaults(parser(), argv[1:])
    command.action = run
    return command


def run(command: Command) -> int:
    """Watch until stopped."""
    from diagnostics.watch.server import serving  # noqa: PLC0415  only when it is used
    from diagnostics.watch.watcher import Watcher  # noqa: PLC0415

    plan = to_watch_options(command)
    stop = threading.Event()

    def say(line: str) -> None:
        try:
            print(line, flush=True)
        except BrokenPipeError:  # nobody reads any more
            stop.set()

    watcher = Watcher(plan, say)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with serving(command.host, command.port, lambda: watcher.exposition) as address:
        if not command.quiet:
            print(
                f"watching every {plan.every:g} s; metrics on {address}/metrics", file=sys.stderr, flush=True
            )
        rounds = threading.Thread(target=watcher.run, args=(stop,), name="watch", daemon=True)
        rounds.start()
        stop.wait()
        rounds.join(GRACE_SECONDS)
    return Exit.DONE
