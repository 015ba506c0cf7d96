"""Benchmark reports in YAML are results, though their nested lines look like metrics text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from support.bench import serve

from diagnostics import diagnose
from diagnostics.sources.bench.export import export


@pytest.mark.parametrize("comment", ["", "# written by a tool\n"])
def test_a_report_in_yaml_is_a_benchmark(comment: str, tmp_path: Path) -> None:
    """The same figures as in JSON."""
    (tmp_path / "run.json").write_text(json.dumps(serve(cap=8)))
    report = json.loads(export(diagnose([str(tmp_path / "run.json")]).runs))
    file = tmp_path / "report.yaml"
    file.write_text(comment + yaml.safe_dump(report))
    found = diagnose([str(file)])
    assert [i.kind for i in found.report.inputs] == ["bench"]
    assert found.runs[0].steps[0].concurrency_cap == 8


def test_metrics_with_a_version_are_metrics(tmp_path: Path) -> None:
    """One line that begins like a report's does not make one."""
    file = tmp_path / "metrics.txt"
    file.write_text("# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 1\n")
    assert [i.kind for i in diagnose([str(file)]).report.inputs] == ["exposition"]
