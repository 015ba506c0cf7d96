"""Recordings in a real Prometheus, with their times stretched."""

from __future__ import annotations

import gzip
import re
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = re.compile(r"^[a-zA-Z_:][\w:]*")
_JOB = re.compile(r'job="[^"]*"')
START = "process_start_time_seconds"
START_SECONDS = 30


def stretched(path: Path, job: str, factor: float, names: set[str]) -> tuple[list[str], float, float]:
    """Lines of a recording under a job of its own, with every time moved away from the first by a factor.

    The start of the process is a time too. Counters stay as they are, so per second they grow that much slower.

    Args:
        path: OpenMetrics text, gzip.
        job: replaces the recording's.
        factor: how far times are stretched.
        names: sample names to keep.

    Returns:
        (lines, first and last second).
    """
    lines = [x for x in gzip.decompress(path.read_bytes()).decode().splitlines() if x and x[0] != "#"]
    first = min(float(x.rsplit(" ", 1)[1]) for x in lines)
    found, last, renamed = [], first, f'job="{job}"'
    for line in lines:
        match = _NAME.match(line)
        if match is None or match[0] not in names:
            continue
        series, value, stamp = line.rsplit(" ", 2)
        moved = first + factor * (float(stamp) - first)
        last = max(last, moved)
        if match[0] == START:
            value = repr(first + factor * (float(value) - first))
        found.append(f"{_JOB.sub(renamed, series)} {value} {moved:.3f}")
    return found, first, last


@contextmanager
def prometheus(
    lines: list[str], work: Path, port: int = 0, config: str = "global: {scrape_interval: 15s}\n"
) -> Iterator[str]:
    """A Prometheus that holds these samples, beside what its folder holds already; yields its address."""
    assert shutil.which("prometheus"), "prometheus is needed: apt-get install prometheus"
    source, data = work / "samples.txt", work / "data"
    if lines:
        source.write_text("\n".join([*lines, "# EOF", ""]))
        subprocess.run(
            ["promtool", "tsdb", "create-blocks-from", "openmetrics", "-q", str(source), str(data)],
            check=True,
            capture_output=True,
        )
    (work / "prometheus.yml").write_text(config)
    url = f"http://127.0.0.1:{port or free_port()}"
    process = subprocess.Popen(
        ["prometheus", f"--config.file={work / 'prometheus.yml'}", f"--storage.tsdb.path={data}",
         "--storage.tsdb.retention.time=100y", f"--web.listen-address={url.removeprefix('http://')}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        _wait(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(url: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(10 * START_SECONDS):
        try:
            with urllib.request.urlopen(f"{url}/-/ready", timeout=1) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert process.poll() is None, "prometheus ended at once"
        time.sleep(0.1)
    raise AssertionError("prometheus did not become ready")
