"""Every native metric with a canonical signal is mapped, or listed with the reason why it is not."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from diagnostics.engines import amd, dcgm, llamacpp, lmdeploy, process, registry, sglang, tgi, trtllm, vllm
from diagnostics.engines.base import Engine
from diagnostics.model.catalog import SIGNALS, Kind

REFERENCE = Path(__file__).with_name("engine_metrics.csv")
MODULES = {"vllm-v1": vllm, "vllm-v0": vllm, "sglang": sglang, "tgi": tgi}
ENGINES = [m.ENGINE for m in (vllm, sglang, tgi, trtllm, llamacpp, lmdeploy, dcgm, amd, process)]


def reference() -> list[dict[str, str]]:
    lines = [line for line in REFERENCE.read_text("utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def names_of(engine: Engine) -> set[str]:
    return {m.native for m in engine.metrics} | {i.native for i in engine.infos}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_every_row_is_mapped_or_has_a_reason(name: str) -> None:
    module = MODULES[name]
    wanted = {row["metric"] for row in reference() if row["engine"] == name}
    assert len(wanted) > 20
    open_ = wanted - names_of(module.ENGINE) - set(module.NOT_MAPPED)
    assert not open_, f"neither mapped nor explained: {sorted(open_)}"


@pytest.mark.parametrize("module", [vllm, sglang, tgi])
def test_nothing_is_both_mapped_and_explained_away(module: object) -> None:
    assert not names_of(module.ENGINE) & set(module.NOT_MAPPED)  # type: ignore[attr-defined]
    assert all(why.strip() for why in module.NOT_MAPPED.values())  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", [vllm, sglang, tgi])
def test_reasons_are_given_for_known_metrics_only(module: object) -> None:
    known = {row["metric"] for row in reference()}
    assert set(module.NOT_MAPPED) <= known  # type: ignore[attr-defined]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_every_signal_is_in_the_catalogue_with_its_kind(engine: Engine) -> None:
    for metric in engine.metrics:
        spec = SIGNALS[metric.signal]
        fits = metric.kind is spec.kind or (metric.kind is Kind.RATE and spec.kind is Kind.COUNTER)
        assert fits, f"{metric.native} is a {metric.kind} and {metric.signal} a {spec.kind}"


@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: e.name)
def test_prefixes_recognise_the_engines_own_metrics(engine: Engine) -> None:
    for metric in engine.metrics:
        if ":log:" in metric.native or not engine.serves:
            continue
        assert registry.engine_of(metric.native) == engine.name


def test_an_exporter_is_no_engine() -> None:
    assert registry.engine_of("DCGM_FI_DEV_SM_CLOCK") is None
    assert registry.wanted("DCGM_FI_DEV_SM_CLOCK")
