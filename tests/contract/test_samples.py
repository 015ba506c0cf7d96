"""The sample recordings give what their index promises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from diagnostics import diagnose

SAMPLES = Path(__file__).parents[2] / "sample_data"
INDEX = tomllib.loads((SAMPLES / "index.toml").read_text("utf-8"))["sample"]
RECORDINGS = [s for s in INDEX if (SAMPLES / s["folder"] / "openmetrics.txt.gz").exists()]


@pytest.mark.parametrize("sample", INDEX, ids=lambda s: s["folder"])
def test_a_sample_gives_its_expected_verdict(sample: dict[str, str]) -> None:
    """The folder, read whole, names its cause, or is healthy."""
    verdict = diagnose([str(SAMPLES / sample["folder"])]).report.verdict
    assert (verdict.primary or verdict.status) == sample["expected"]


@pytest.mark.parametrize("sample", RECORDINGS, ids=lambda s: s["folder"])
def test_a_sample_says_the_same_without_its_log(sample: dict[str, str]) -> None:
    """The metrics alone say no other cause; where only a setting settles it, they may say less."""
    verdict = diagnose([str(SAMPLES / sample["folder"] / "openmetrics.txt.gz")]).report.verdict
    related = {"prompt-lookup-misfit": {"low-acceptance"}}.get(sample["expected"], set())
    assert (verdict.primary or verdict.status) in {sample["expected"], *related}


def test_every_folder_is_in_the_index() -> None:
    """No sample without an expectation, and none listed that is not there; all of them stay small."""
    folders = {p.name for p in SAMPLES.iterdir() if p.is_dir()}
    assert folders == {s["folder"] for s in INDEX}
    assert sum(f.stat().st_size for f in SAMPLES.rglob("*") if f.is_file()) < 10_000_000
