"""The ``diagnose`` command: parses options, calls the library, prints. It decides nothing."""

from __future__ import annotations

import contextlib
import gc
import os
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
    """Entry point of the console script.

    Somebody waits for this process: collections of a heap that only grows, and the orderly dismantling of modules at
    the end, are a tenth of a short run. What must be closed is closed by whoever opened it.
    """
    gc.set_threshold(100_000, 50, 50)
    status = main(sys.argv[1:])
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


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
    except OSError as error:
        print(f"diagnose: standard output: cannot be written: {error.strerror or error}", file=sys.stderr)
        return Exit.UNUSABLE
    except KeyboardInterrupt:
        return 130
