"""What the documentation says about pipelines and services is what the command does."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from watch.conftest import REPOSITORY

from diagnostics.cli.main import main
from diagnostics.cli.options import parse
from diagnostics.evaluate.registry import all_rules

DOCS = [REPOSITORY / "docs" / name for name in ("pipelines.md", "watch.md")]
TEXT = "\n".join(path.read_text() for path in DOCS)
SAMPLES = REPOSITORY / "sample_data"


def _commands() -> list[str]:
    joined = TEXT.replace("\\\n", " ")
    return re.findall(
        r"(?:^|ExecStart=/opt/diagnose/bin/|run: |- |DIAGNOSE_WEBHOOK_TOKEN=\.\.\. )(diagnose [^\n`]+)$",
        joined,
        re.M,
    )


@pytest.mark.parametrize("command", sorted(set(_commands())))
def test_a_documented_command_parses(command: str) -> None:
    line = command.replace("$STARTED", "2026-01-31T12:00:00Z").replace("$ENDED", "2026-01-31T12:30:00Z")
    assert parse(shlex.split(line)[1:]).inputs


def test_every_kind_of_command_is_documented() -> None:
    assert {c.split()[1] for c in _commands()} >= {"watch", "dashboard", "load-test/"}


def test_yaml_in_the_documentation_is_yaml() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    assert all(isinstance(yaml.safe_load(block), dict) for block in blocks)


@pytest.mark.parametrize(
    ("given", "status", "failures", "errors"),
    [
        (["concurrency-cap"], 1, True, False),
        (["healthy"], 0, False, False),
        (["healthy", "--since", "never"], 2, None, None),
        (["README.md"], 3, False, True),
    ],
)
def test_exit_statuses_and_cases(
    given: list[str], status: int, failures: bool | None, errors: bool | None, tmp_path: Path
) -> None:
    file = tmp_path / "diagnosis.xml"
    source, *more = given
    arguments = [
        str(SAMPLES / source),
        *more,
        "--fail-on",
        "warning",
        "--format",
        "junit",
        "--output",
        str(file),
    ]
    assert main(arguments) == status
    if failures is None:
        assert not file.exists()
        return
    suite = ElementTree.parse(file).getroot()
    assert (suite.get("failures") != "0") is failures
    assert (suite.get("errors") != "0") is errors


def test_runbooks_are_exported_with_links_that_hold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "site" / "runbooks"
    assert main(["explain", "--all", "--output", str(folder)]) == 0
    written = {f.name for f in folder.iterdir()}
    assert {f"{r.slug}.md" for r in all_rules()} | {"index.md"} <= written
    for file in folder.iterdir():
        links = re.findall(r"\]\(([a-z0-9-]+\.md)\)", file.read_text())
        assert set(links) <= written, file.name
        assert file.name != "index.md" or len(links) == len(written) - 1
    assert main(["explain", "SCH001", "--output", str(tmp_path / "one")]) == 0
    assert [f.name for f in (tmp_path / "one").iterdir()] == ["cap-throttled.md"]
    capsys.readouterr()
    for wrong in (["explain"], ["explain", "--all"], ["explain", "--all", "SCH001"]):
        assert main(wrong) == 2
        assert capsys.readouterr().err.count("\n") == 1
