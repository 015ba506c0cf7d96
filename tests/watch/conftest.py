"""Processes as users start them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

REPOSITORY = Path(__file__).parents[2]
PATIENCE = 120.0


def until(what: str, holds: Callable[[], object]) -> object:
    """Wait until something holds; its value then."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if value := holds():
            return value
        time.sleep(0.2)
    raise AssertionError(f"{what}: not within {PATIENCE:g} s")


@contextmanager
def started(*arguments: str, log: Path, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command of the product; its output goes to a file."""
    with log.open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "diagnostics", *arguments],
            cwd=REPOSITORY, env={**os.environ, **environment}, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(60)


def address_in(log: Path, pattern: str, process: subprocess.Popen[bytes]) -> str:
    """The address that a process printed."""

    def found() -> str | None:
        assert process.poll() is None, log.read_text()
        match = re.search(pattern, log.read_text())
        return match[1] if match else None

    return str(until(f"{pattern} in the output", found))


def answers(url: str) -> bool:
    """Whether an address answers with success."""
    try:
        return requests.get(url, timeout=10).ok
    except requests.exceptions.ConnectionError:
        return False
