"""Incidents for the pages, and how their HTML is read."""

from __future__ import annotations

from pathlib import Path

from streamlit.testing.v1 import AppTest
from support.carriers import write_openmetrics
from support.series import Recording
from support.vllm import add_vllm

HOSTILE = '<img src=x onerror="window.hit=1">"\'](javascript:window.hit=1)'


def capped(names: tuple[str, ...] = ("vllm-0:8000", "vllm-1:8000")) -> Recording:
    """Replicas of which the first sits at 8 running requests from minute 2 to 4 while 20 wait."""
    recording = Recording()
    for i, name in enumerate(names):
        sick = i == 0
        add_vllm(
            recording, 73, instance=name, kv=0.3,
            running="3x23 8x24 3x23" if sick else 3, waiting="0x23 20x24 0x23" if sick else 0,
            queue_seconds=4.0 if sick else 0.01, ttft_seconds=4.2 if sick else 0.1,
        )  # fmt: skip
    return recording


def calm() -> Recording:
    """One replica with nothing wrong."""
    return add_vllm(Recording(), 73)


def write(recording: Recording, folder: Path) -> Path:
    """The recording as OpenMetrics in a folder of its own."""
    folder.mkdir(parents=True)
    write_openmetrics(recording, folder)
    return folder


def html_of(app: AppTest) -> str:
    """Everything that a page shows as HTML, its style left out."""
    return "\n".join(element.proto.body for element in app.get("html") if "<style" not in element.proto.body)
