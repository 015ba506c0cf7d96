"""A comparison in every format: there when asked for, absent otherwise, and no text in it can act."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.carriers import write_openmetrics
from support.vllm import vllm

from diagnostics import Options, diagnose
from diagnostics.model.comparison import SettingChange
from diagnostics.model.report import Diagnosis
from diagnostics.reports import html, markdown, text
from diagnostics.reports import json as as_json
from diagnostics.reports.redact import redact

HOSTILE = "<img src=x onerror=alert(1)>[x](javascript:alert(1))\x1b[31m"
Render = Callable[[Diagnosis], str]
FORMATS: dict[str, Render] = {
    "text": lambda d: text.render(d.report),
    "markdown": lambda d: markdown.render(d.report),
    "html": html.render,
    "json": lambda d: as_json.render(d.report),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    """A deploy that helped."""
    root = tmp_path_factory.mktemp("acme-secret-project")
    for name, cap, running, waiting in (("a", 8, 8, 20), ("b", 64, 16, 0)):
        (root / name).mkdir()
        write_openmetrics(vllm(running=running, waiting=waiting), root / name)
        (root / name / "run.sh").write_text(
            f"vllm serve /models/llama --max-num-seqs {cap} --api-key sk-{name}12345678\n"
        )
    return diagnose([str(root / "b")], Options(baseline=str(root / "a")))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_what_changed(name: str, asked: Diagnosis) -> None:
    said = FORMATS[name](asked).replace("\\_", "_")
    for wanted in ("max_num_seqs", "cap-throttled", "resolved", "requests waiting", "standard errors"):
        assert wanted in said
    assert "sk-a1" not in said


def test_the_json_has_it_only_when_asked_for(asked: Diagnosis) -> None:
    found = json.loads(as_json.render(asked.report))["comparison"]
    names = [
        "asked",
        "deployment",
        "kind",
        "sentence",
        "before",
        "after",
        "binding_before",
        "binding_now",
        "noise",
    ]
    assert list(found) == [*names, "restarted", "settings", "changes", "findings"]
    numbers = ["name", "aspect", "before", "after", "unit", "factor", "noise", "moved", "better"]
    assert list(found["changes"][0]) == numbers
    assert found["before"]["start"].endswith("Z")
    plain = replace(asked.report, comparison=None)
    assert "comparison" not in json.loads(as_json.render(plain))


@pytest.mark.parametrize(
    ("name", "active"), [("text", "\x1b[31m"), ("markdown", "](javascript:"), ("html", "<img")]
)
def test_names_from_inputs_stay_text(name: str, active: str, asked: Diagnosis) -> None:
    assert asked.report.comparison is not None
    hostile = replace(
        asked.report.comparison, sentence=HOSTILE, settings=(SettingChange(HOSTILE, HOSTILE, HOSTILE),)
    )
    said = FORMATS[name](Diagnosis(replace(asked.report, comparison=hostile)))
    assert "alert(1)" in said
    assert active not in said


def test_a_report_for_the_public_does_not_tell_where_the_baseline_lay(asked: Diagnosis) -> None:
    for render in FORMATS.values():
        assert "acme-secret-project" not in render(redact(asked))


def test_the_page_of_the_command_says_how_to_ask(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from diagnostics.cli.main import main

    write_openmetrics(vllm(), tmp_path)
    assert main([str(tmp_path), "--after", "2025-10-09T08:56:00Z"]) == 0
    assert "What changed, and did it help: nothing beyond noise" in capsys.readouterr().out
