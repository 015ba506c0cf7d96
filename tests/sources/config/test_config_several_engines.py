"""A configuration of several engines: each replica takes the settings of its own, and the rest is named."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.carriers import write_openmetrics
from support.series import Recording
from support.vllm import add_vllm

from diagnostics.model.samples import Capture, InputKind, Provenance, Setting
from diagnostics.pipeline import diagnose
from diagnostics.signals import identity
from diagnostics.signals.settings import by_entity, conflicts
from diagnostics.sources.config.manifest import read_manifest
from diagnostics.sources.exposition import read_exposition

_HEAD = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: NAME}\nspec: {template: {spec: {containers: ["
)
_CONTAINER = '{name: NAME, image: "vllm/vllm-openai:v0.11.0", args: [--model, MODEL, --max-num-seqs, "SEQS", --dtype, bfloat16]}'


def _container(name: str, model: str, seqs: int) -> str:
    return _CONTAINER.replace("NAME", name).replace("MODEL", model).replace("SEQS", str(seqs))


def _deployment(name: str, *containers: str) -> str:
    return _HEAD.replace("NAME", name) + ",\n".join(containers) + "]}}}\n"


TEN = _deployment("many", *(_container(f"vllm-{i}", f"org/model-{i}", 8 * (i + 1)) for i in range(10)))
SPLIT = "---\n".join(
    (
        _deployment("llm", _container("a", "org/m", 8)),
        _deployment("llm-decode", _container("a", "org/m", 256)),
    )
)


def _settings(text: str, pod: str, model: str) -> dict[str, str]:
    """What a pod of these runs with."""
    page = read_exposition("x", [f'vllm:num_requests_running{{pod="{pod}",model_name="{model}"}} 4'])
    config = Capture("y", InputKind.CONFIG, settings=read_manifest(text).settings)
    (found,) = by_entity([page, config], identity.resolve([page, config]), [])
    return {name: setting.value for name, setting in found.items()}


@pytest.mark.parametrize(
    ("text", "pod", "model", "seqs"),
    [
        (TEN, "many-7f-x", "org/model-6", "56"),
        (TEN, "many-7f-x", "model-2", "24"),
        (TEN, "other-7f-x", "org/model-6", "56"),
        (TEN, "many-7f-x", "org/unheard-of", None),
        (SPLIT, "llm-decode-7f-x", "org/m", "256"),
        (SPLIT, "llm-7f-x", "org/m", "8"),
        (SPLIT, "other-7f-x", "org/m", None),
    ],
)
def test_each_replica_has_the_settings_of_its_own_engine(
    text: str, pod: str, model: str, seqs: str | None
) -> None:
    found = _settings(text, pod, model)
    assert found.get("max_num_seqs") == seqs
    assert found["dtype"] == "bfloat16"  # what all of them say holds for whatever runs


def test_the_engines_are_named_once() -> None:
    """One notice with their places instead of a conflict for every pair."""
    found = read_manifest(TEN, "manifest")
    (notice,) = found.notices
    assert notice.startswith("manifest: describes 10 engines (many/vllm-0, many/vllm-1,")
    assert conflicts([Capture("y", InputKind.CONFIG, settings=found.settings)]) == []
    assert {s.where for s in found.settings if s.value == "56"} == {
        "manifest Deployment many, container vllm-6"
    }


def test_a_fleet_takes_its_limits_from_the_right_containers(tmp_path: Path) -> None:
    """Two models at their own caps, which one manifest gives: both are found, each with its number."""
    recording = Recording()
    for i, running in ((0, 8), (3, 32)):
        add_vllm(recording, instance=f"pod-{i}", model=f"org/model-{i}", running=running, waiting=40, kv=0.2)
    write_openmetrics(recording, tmp_path)
    (tmp_path / "deploy.yaml").write_text(TEN)
    report = diagnose([str(tmp_path)]).report
    assert {d.model for d in report.deployments} == {"org/model-0", "org/model-3"}
    cap = next(f for f in report.findings if f.rule == "cap-throttled")
    wanted = {"org/model-0": "8", "org/model-3": "32"}
    assert {r.current for r in cap.remedies if r.flag == "--max-num-seqs"} == {wanted[cap.scope.model]}


def test_a_group_of_leader_and_workers_is_one_engine() -> None:
    inner = f"{{spec: {{containers: [{_container('w', 'org/m', 8)}]}}}}"
    group = f"{{size: 2, leaderTemplate: {inner}, workerTemplate: {inner}}}"
    text = f"kind: LeaderWorkerSet\nmetadata: {{name: g}}\nspec: {{leaderWorkerTemplate: {group}}}\n"
    found = read_manifest(text)
    assert found.notices == []
    assert all(not setting.labels for setting in found.settings)


@pytest.mark.parametrize(
    ("model", "caps"), [("org/a", {"pod-0": "8"}), ("org/alias", {"pod-0": "8", "pod-1": "8"})]
)
def test_a_command_speaks_for_every_replica_of_its_model(model: str, caps: dict[str, str]) -> None:
    """Beside several replicas as beside one; where nobody serves that model, for all of them."""
    page = [f'vllm:num_requests_running{{pod="pod-{i}",model_name="org/{m}"}} 4' for i, m in enumerate("ab")]
    said = [
        Setting(n, v, Provenance.CONFIGURED, "launch command")
        for n, v in (("model", model), ("max_num_seqs", "8"))
    ]
    captures = [read_exposition("x", page), Capture("y", InputKind.CONFIG, settings=said)]
    identities = identity.resolve(captures)
    found = by_entity(captures, identities, [])
    named = {e.replica: found[e.number]["max_num_seqs"].value for e in identities.entities if found[e.number]}
    assert named == caps
