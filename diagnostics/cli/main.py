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
    status = _flushed(main(sys.argv[1:]))
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    os._exit(status)


def _flushed(status: int) -> int:
    """Write out what is still held back; the status says so when that fails, unless nobody reads any more."""
    try:
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        return status
    except OSError as error:
        print(
            f"diagnose: standard output: cannot be written: {(error.strerror or str(error)).lower()}",
            file=sys.stderr,
        )
        return Exit.UNUSABLE
    return status


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
        place = f"{error.filename}: " if error.filename else ""
        print(f"diagnose: {place}{(error.strerror or str(error)).lower()}", file=sys.stderr)
        return Exit.UNUSABLE
    except KeyboardInterrupt:
        return 130
