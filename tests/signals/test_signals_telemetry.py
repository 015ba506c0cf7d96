"""GPU series of an exporter: joined to the replica that has the GPU, or set apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.answers import fired, found
from support.carriers import write_openmetrics
from support.series import Recording
from support.vllm import add_vllm, counter

from diagnostics import diagnose
from diagnostics.model.report import Report
from diagnostics.signals import identity
from diagnostics.sources.exposition import read_exposition

SLUG = "gpu-throttled"
N = 61
ONE = 'vllm:num_requests_running{instance="10.0.0.1:8000",job="vllm",model_name="m",engine="0"} 4'
TWO = 'vllm:num_requests_running{instance="10.0.0.2:8000",job="vllm",model_name="m",engine="0"} 4'
PODS = [
    f'vllm:num_requests_running{{pod="llm-{i}",namespace="prod",node="gpu-7.example.com",model_name="m",engine="0"}} 4'
    for i in range(2)
]
BARE = 'vllm:num_requests_running{model_name="m",engine="0"} 4'


def _owners(engines: list[str], *gpus: str) -> list[list[str]]:
    """The replicas that each GPU series is of; engines and GPUs come from two pages."""
    pages = [read_exposition("engines.txt", engines)]
    pages.append(read_exposition("gpus.txt", [f"DCGM_FI_DEV_SM_CLOCK{{{labels}}} 1410" for labels in gpus]))
    identities = identity.resolve(pages)
    return [[identities.entities[e].replica for e in owners] for owners in identities.of_series[1]]


@pytest.mark.parametrize(
    ("engines", "labels", "owner"),
    [
        (PODS, 'gpu="0",Hostname="gpu-7",namespace="prod",pod="llm-1"', ["prod/llm-1"]),
        (PODS, 'gpu="0",Hostname="gpu-7",pod="dcgm-exporter-x7",exported_pod="llm-1"', ["prod/llm-1"]),
        (PODS, 'gpu="0",exported_namespace="prod",exported_pod="llm-0",pod="x"', ["prod/llm-0"]),
        (PODS, 'gpu="0",namespace="test",pod="llm-1"', []),
        (PODS, 'gpu="0",Hostname="gpu-7",pod="training-1"', []),
        (PODS, 'gpu="0",Hostname="gpu-7"', []),
        (PODS[:1], 'gpu="0",Hostname="gpu-7",pod="nvidia-dcgm-exporter-x7"', ["prod/llm-0"]),
        (PODS[:1], 'gpu="0",Hostname="GPU-7.example.com"', ["prod/llm-0"]),
        (PODS[:1], 'gpu="0",Hostname="gpu-8"', []),
        ([ONE, TWO], 'gpu="0",instance="10.0.0.2:9400",job="dcgm"', ["10.0.0.2:8000"]),
        ([ONE, TWO], 'gpu="0",instance="10.0.0.3:9400",job="dcgm"', []),
        ([ONE, TWO], 'gpu="0",Hostname="gpu-7"', []),
        ([ONE, ONE.replace("8000", "8001")], 'gpu="0",instance="10.0.0.1:9400"', []),
        ([BARE], 'gpu="0",Hostname="gpu-7"', ["replica"]),
    ],
    ids=[
        "pod", "renamed pod", "renamed namespace", "same pod elsewhere", "pod of something else", "two on the host",
        "pod of the exporter", "host with its domain", "other host", "address", "other address", "address against name",
        "two ports of one address", "one of each",
    ],
)  # fmt: skip
def test_a_gpu_belongs_to_the_replica_that_has_it(engines: list[str], labels: str, owner: list[str]) -> None:
    assert _owners(engines, labels) == [owner]


def test_gpus_that_no_pod_holds_are_idle() -> None:
    """Where the exporter knows the pods, the other GPUs of that host belong to nobody."""
    labels = 'gpu="{}",Hostname="gpu-7"'
    assert _owners(PODS[:1], labels.format(0) + ',pod="llm-0"', labels.format(1)) == [["prod/llm-0"], []]


def test_two_hosts_cannot_both_be_the_only_one() -> None:
    assert _owners([BARE], 'gpu="0",Hostname="a"', 'gpu="0",Hostname="b"') == [[], []]


def test_every_rank_of_a_replica_has_its_gpus() -> None:
    ranks = [BARE, BARE.replace('engine="0"', 'engine="1"')]
    assert _owners(ranks, 'gpu="0",Hostname="a"') == [["replica", "replica"]]


def _hot(place: dict[str, str]) -> Recording:
    """Two servers, and a GPU somewhere whose clocks are held down by heat."""
    recording = Recording()
    for host in ("10.0.0.1", "10.0.0.2"):
        add_vllm(recording, N, instance=f"{host}:8000", running=8)
    recording.add("DCGM_FI_DEV_SM_CLOCK", [1755.0] * N, **place, gpu="0")
    recording.add("DCGM_FI_DEV_SM_CLOCK", [1065.0] * N, **place, gpu="3")
    recording.add("DCGM_FI_DEV_THERMAL_VIOLATION", counter(3e9, N), **place, gpu="3")
    return recording


def _report(recording: Recording, folder: Path) -> Report:
    write_openmetrics(recording, folder)
    return diagnose([str(folder)]).report


def test_a_hot_gpu_is_charged_to_its_replica_alone(tmp_path: Path) -> None:
    report = _report(_hot({"instance": "10.0.0.2:9400", "job": "dcgm"}), tmp_path)
    assert fired(report, SLUG).scope.replicas == ("10.0.0.2:8000",)
    assert [d.replicas for d in report.deployments] == [2]


def test_a_hot_gpu_of_nobody_is_told_of_and_not_judged(tmp_path: Path) -> None:
    report = _report(_hot({"instance": "10.0.0.9:9400", "job": "dcgm", "Hostname": "gpu-9"}), tmp_path)
    assert found(report, SLUG) is None
    assert [d.replicas for d in report.deployments] == [2]
    (said,) = [w for i in report.inputs for w in i.warnings if w.startswith("GPU series of gpu-9")]
    assert "not judged" in said


def test_an_exporter_of_amd_is_joined_too() -> None:
    pages = [
        read_exposition("a", PODS),
        read_exposition("b", ['gpu_package_power{gpu_id="0",hostname="gpu-7",pod="llm-0"} 700']),
    ]
    identities = identity.resolve(pages)
    assert [[identities.entities[e].replica for e in owners] for owners in identities.of_series[1]] == [
        ["prod/llm-0"]
    ]
