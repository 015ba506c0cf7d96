"""The ``diagnose`` command: parses options, calls the library, prints. It decides nothing."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import IntEnum

from diagnostics.model.errors import InputError, OptionError


class Exit(IntEnum):
    """Exit statuses; scripts rely on them."""

    DONE = 0
    FINDING_AT_LIMIT = 1
    UNUSABLE = 2
    INSUFFICIENT_DATA = 3


def run() -> None:
    """Entry point of the console script."""
    sys.exit(main(sys.argv[1:]))


def main(argv: Sequence[str]) -> int:
    """Run one command.

    Returns:
        The exit status.
    """
    from diagnostics.cli.options import parse  # noqa: PLC0415  keeps --version quick

    try:
        command = parse(argv)
        return command.action(command)
    except (InputError, OptionError) as error:
        print(f"diagnose: {error}", file=sys.stderr)
        return Exit.UNUSABLE
    except BrokenPipeError:
        sys.stderr.close()
        return Exit.DONE
    except KeyboardInterrupt:
        return 130
