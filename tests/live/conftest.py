"""A real Prometheus, refilled with the sample recordings and started on a free port of this machine."""

from __future__ import annotations

import gzip
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SAMPLES = Path(__file__).parents[2] / "sample_data"
START_SECONDS = 30
# Each sample is a target of its own name here, so that one Prometheus can hold all of them.
FOLDERS = sorted(p.name for p in SAMPLES.iterdir() if (p / "openmetrics.txt.gz").is_file())


@dataclass(frozen=True)
class Server:
    """A running Prometheus: its address and the time range of each sample."""

    url: str
    ranges: dict[str, tuple[float, float]]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _refill(folder: str, work: Path, data: Path) -> tuple[float, float]:
    """Put one recording into the data folder under its own job; returns its first and last second."""
    text = gzip.decompress((SAMPLES / folder / "openmetrics.txt.gz").read_bytes()).decode()
    text = text.replace('job="vllm"', f'job="{folder}"').replace('instance="vllm-', f'instance="{folder}-')
    stamps = [
        float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line and not line.startswith("#")
    ]
    source = work / f"{folder}.txt"
    source.write_text(text)
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(source), str(data)],
        check=True,
        capture_output=True,
    )
    return min(stamps), max(stamps)


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


@pytest.fixture(scope="session")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Debian's Prometheus over all samples."""
    assert shutil.which("prometheus"), "prometheus is needed: apt-get install prometheus"
    work = tmp_path_factory.mktemp("prometheus")
    data = work / "data"
    ranges = {folder: _refill(folder, work, data) for folder in FOLDERS}
    (work / "prometheus.yml").write_text("global: {scrape_interval: 15s}\n")
    port = _free_port()
    process = subprocess.Popen(
        ["prometheus", f"--config.file={work / 'prometheus.yml'}", f"--storage.tsdb.path={data}",
         "--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(url, process)
        yield Server(url, ranges)
    finally:
        process.terminate()
        process.wait(timeout=30)
