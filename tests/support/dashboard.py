"""The dashboard started as users start it, on a free port, and stopped again."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

REPOSITORY = Path(__file__).parents[2]
_ADDRESS = re.compile(r"Dashboard: (http://\S+)")


@contextmanager
def dashboard(*inputs: str) -> Iterator[str]:
    """The address of a dashboard on these inputs, or on the sample data, once it is ready."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app", *inputs, "--port", "0"],
        cwd=REPOSITORY, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        said = process.stdout.readline()
        found = _ADDRESS.search(said)
        assert found is not None, f"the dashboard printed no address: {said!r}"
        while requests.get(f"{found[1]}/readyz", timeout=60).status_code != requests.codes.ok:
            assert process.poll() is None, "the dashboard ended"
            time.sleep(0.1)
        yield found[1]
    finally:
        process.terminate()
        process.wait(60)


def metric(address: str, name: str, label: str = "") -> float:
    """The sum of one of the dashboard's own numbers, over its labels or over those that hold a word."""
    lines = requests.get(f"{address}/metrics", timeout=60).text.splitlines()
    found = [x for x in lines if x.startswith((name + " ", name + "{")) and label in x]
    assert found, f"the dashboard does not tell {name}"
    return sum(float(x.rpartition(" ")[2]) for x in found)
