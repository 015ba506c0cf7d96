"""What to run next where a benchmark was given: its load, or production's where metrics are there."""

from __future__ import annotations

import itertools
import json
import re
import shlex
from pathlib import Path

from support.bench import serve
from support.carriers import write_openmetrics
from support.series import Recording
from support.vllm import add_vllm

from diagnostics import diagnose


def _command(found: tuple[str, ...]) -> dict[str, str]:
    """The flags of the benchmark among the commands."""
    (line,) = (c for c in found if c.startswith("vllm bench serve"))
    words = shlex.split(line.partition("  #")[0])
    return {a: b for a, b in itertools.pairwise(words) if a.startswith("--")}


def test_a_benchmark_alone_gets_a_ready_command(tmp_path: Path) -> None:
    """The model of the result, and flags that make it one to rely on."""
    (tmp_path / "bench.json").write_text(json.dumps(serve(cap=8, n=40, model_id="org/model")))
    flags = _command(diagnose([str(tmp_path)]).report.collect_next)
    assert flags["--model"] == "org/model"
    assert int(flags["--num-prompts"]) >= 300
    assert {"--request-rate", "--random-range-ratio"} <= flags.keys()


def test_with_metrics_it_sends_the_load_of_production(tmp_path: Path) -> None:
    """Lengths and arrival rate are those of the metrics."""
    (tmp_path / "bench.json").write_text(json.dumps(serve(cap=8, n=40)))
    write_openmetrics(add_vllm(Recording(), 73), tmp_path)
    diagnosis = diagnose([str(tmp_path)], charts=True)
    assert diagnosis.bench is not None
    command = diagnosis.bench.command
    told = re.search(r"--random-input-len (\d+) --random-output-len (\d+)", command)
    assert told is not None
    assert "arrival rate" in command
    assert (int(told[1]), int(told[2])) != (1024, 256)
    (card,) = diagnosis.bench.scorecards
    assert any("requests/s on average" in row.production for row in card.rows)
