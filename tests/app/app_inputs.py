"""Incidents for the pages, and how their HTML is read."""

from __future__ import annotations

import json
from pathlib import Path

from streamlit.testing.v1 import AppTest
from support.bench import detailed, serve
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


def write_bench(folder: Path) -> Path:
    """A sweep past its knee, two more runs with and without speculation, and single requests; a name that wants to be HTML."""
    folder.mkdir(parents=True)
    name = "<img src=x onerror=alert(1)>"
    results = [
        serve(rate=r, n=300, duration=300 / min(r, 4.4), ttft=t)
        for r, t in ((1.0, 0.1), (2.0, 0.1), (4.0, 0.12), (8.0, 30.0))
    ]
    for cap in (4, 16, 64):
        results.append(
            serve(
                cap=cap,
                n=20 * cap,
                output_tps=50.0 * cap,
                mean_tpot_ms=20.0,
                tensor_parallel_size=1,
                model_id="s",
            )
        )
        results.append(
            serve(cap=cap, n=20 * cap, output_tps=40.0 * cap, mean_tpot_ms=24.0, tensor_parallel_size=1, model_id="s",
                  spec_decode_acceptance_rate=60.0, spec_decode_acceptance_length=2.0)
        )  # fmt: skip
    lengths = [100 + i for i in range(60)]
    results.append(
        detailed(
            [0.5 * i for i in range(60)], [0.2] * 60, [1.0] * 60, lengths, lengths, rate=2.0, model_id="d"
        )
    )
    for i, result in enumerate(results):
        (folder / f"{name}_{i}.json").write_text(json.dumps(result))
    return folder


def write(recording: Recording, folder: Path) -> Path:
    """The recording as OpenMetrics in a folder of its own."""
    folder.mkdir(parents=True)
    write_openmetrics(recording, folder)
    return folder


def html_of(app: AppTest) -> str:
    """Everything that a page shows as HTML, its style left out."""
    return "\n".join(element.proto.body for element in app.get("html") if "<style" not in element.proto.body)
