"""A router that exports names of the engine: its series are no replica and are named in a warning."""

from __future__ import annotations

from pathlib import Path

from support.carriers import write_openmetrics, write_query_range
from support.series import Recording
from support.vllm import add_vllm

from diagnostics import diagnose
from diagnostics.model.report import Report


def _behind_a_router(job: str) -> Recording:
    recording = Recording()
    for host in ("a", "b"):
        add_vllm(recording, instance=f"{host}:8000", running=3, waiting=0)
    for host in ("a", "b"):
        recording.add(
            "vllm:num_requests_running",
            [90.0] * 61,
            server=f"http://{host}:8000",
            instance="router:80",
            job=job,
        )
    recording.add("process_start_time_seconds", [1.7e9] * 61, instance="router:80", job=job)
    return recording


def _check(report: Report) -> None:
    assert [d.replicas for d in report.deployments] == [2]
    assert {r.replica for r in report.regimes} == {"a:8000", "b:8000"}
    assert any("a router's own under names of vLLM" in w for i in report.inputs for w in i.warnings)


def test_a_router_beside_its_engines_is_no_replica(tmp_path: Path) -> None:
    for job in ("router", "vllm"):
        for write in (write_openmetrics, write_query_range):
            folder = tmp_path / f"{job}-{write.__name__}"
            folder.mkdir()
            write(_behind_a_router(job), folder)
            _check(diagnose([str(folder)]).report)


def test_a_router_alone_is_not_judged(tmp_path: Path) -> None:
    """Its counts are not the scheduler's: nothing saturated is found in them."""
    recording = Recording()
    recording.add("vllm:num_requests_running", [64.0] * 61, server="http://a:8000")
    recording.add("vllm:num_requests_waiting", [200.0] * 61, server="http://a:8000")
    write_openmetrics(recording, tmp_path)
    assert diagnose([str(tmp_path)]).report.verdict.status == "insufficient-data"


def test_a_server_label_of_ones_own_changes_nothing(tmp_path: Path) -> None:
    """A scrape that adds a label ``server`` to an engine's series leaves them what they are."""
    recording = add_vllm(Recording(), instance="a:8000", running=3)
    for line in recording.lines:
        line.labels["server"] = "rack-1"
    write_openmetrics(recording, tmp_path)
    report = diagnose([str(tmp_path)]).report
    assert [d.replicas for d in report.deployments] == [1]
    assert not any("router" in w for i in report.inputs for w in i.warnings)
