"""The catalogue of concepts: each has an input on which a rule that teaches it speaks, in the words of the concept."""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from diagnostics import Options, diagnose
from diagnostics.evaluate.registry import rule_named
from diagnostics.model.report import Report
from diagnostics.reports.json import as_dict

HERE = Path(__file__).parent
CATALOGUE: dict[str, dict[str, Any]] = tomllib.loads((HERE / "concepts.toml").read_text("utf-8"))


@cache
def _report(source: str, options: tuple[tuple[str, Any], ...]) -> Report:
    return diagnose([str((HERE / source).resolve())], Options(**dict(options))).report


@pytest.mark.parametrize("concept", CATALOGUE)
def test_a_concept_is_taught_on_an_input_that_a_person_could_have(concept: str) -> None:
    entry = CATALOGUE[concept]
    rule = rule_named(entry["rule"])
    assert rule is not None
    assert concept in rule.concepts, f"{rule.slug} no longer teaches {concept}"
    report = _report(entry["input"], tuple(entry.get("options", {}).items()))
    found = [f for f in report.findings if f.rule == rule.slug]
    assert found, f"found only {[f.rule for f in report.findings]}"
    assert re.search(entry["says"], json.dumps(as_dict(found[0]))), (
        f"{rule.slug} does not say {entry['says']}"
    )


def test_the_catalogue_has_every_concept() -> None:
    assert list(CATALOGUE) == [f"S{i:02}" for i in range(1, 30)]
