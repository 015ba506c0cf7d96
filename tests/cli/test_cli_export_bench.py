"""``--export-bench``: what is written reads back with the same figures, and nothing to write is one clear line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bench import serve

from diagnostics import diagnose
from diagnostics.cli.main import main
from diagnostics.model.bench import BenchRun

FIGURES = (
    "requested_rps",
    "concurrency_cap",
    "duration_s",
    "completed",
    "failed",
    "rps",
    "output_tps",
    "total_tps",
)
STATS = [(m, s) for m in ("ttft", "e2e") for s in ("mean", "p50", "p99")]


def _sweep(folder: Path) -> Path:
    """Three rates and a run of another model."""
    folder.mkdir()
    for rate in (1.0, 2.0, 4.0):
        result = serve(
            rate=rate, ttft=0.1 * rate, tensor_parallel_size=2, api_key="sk-secret-0123456789abcdef"
        )
        (folder / f"rate{rate:g}.json").write_text(json.dumps(result))
    (folder / "other.json").write_text(json.dumps(serve(cap=8, model_id="other")))
    return folder


def _figures(runs: tuple[BenchRun, ...]) -> set[tuple[object, ...]]:
    return {
        (run.model, run.tp, *(getattr(s, f) for f in FIGURES), *(s.stat(*x) for x in STATS))
        for run in runs
        for s in run.steps
    }


def test_the_export_reads_back_with_the_same_figures(tmp_path: Path) -> None:
    """All load levels of all runs, one report each."""
    folder, file = _sweep(tmp_path / "runs"), tmp_path / "out.jsonl"
    assert main(
        [str(folder), "--export-bench", str(file), "--format", "json", "--output", str(tmp_path / "r")]
    ) in (0, 3)
    reports = [json.loads(line) for line in file.read_text().splitlines()]
    assert [r["version"] for r in reports] == ["0.2"] * 4
    before, after = diagnose([str(folder)]).runs, diagnose([str(file)]).runs
    assert _figures(after) == _figures(before)
    assert [len(run.steps) for run in after] == [len(run.steps) for run in before]


def test_a_redacted_export_keeps_no_secret(tmp_path: Path) -> None:
    """What is removed from the report is removed from the export."""
    folder, file = _sweep(tmp_path / "runs"), tmp_path / "out.jsonl"
    main([str(folder), "--export-bench", str(file), "--redact", "--output", str(tmp_path / "r")])
    assert "sk-secret" not in file.read_text()
    assert str(tmp_path) not in file.read_text()


def test_without_a_benchmark_there_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to export is an error that says what was expected."""
    log = tmp_path / "metrics.txt"
    log.write_text("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n")
    assert main([str(log), "--export-bench", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said == [
        "diagnose: --export-bench: no benchmark result among the inputs; give one, for example of vllm bench serve"
    ]
