"""A team's TOML file: read in whole, refused by the place of the mistake, and heard in the report."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from diagnostics.cli.main import main

SAMPLE = str(Path(__file__).parents[2] / "sample_data" / "concurrency-cap")


def _file(folder: Path, text: str) -> str:
    file = folder / "team.toml"
    file.write_text(text, "utf-8")
    return str(file)


def _report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([SAMPLE, "--format", "json", *arguments]) in (0, 1)
    report: dict[str, object] = json.loads(capsys.readouterr().out)
    return report


def _finding(report: dict[str, object], slug: str) -> dict[str, object]:
    findings = report["findings"]
    assert isinstance(findings, list)
    return next(f for f in findings if f["rule"] == slug)


def test_a_file_changes_severity_links_and_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(
        tmp_path,
        'fail-on = "warning"\n[severity]\ncap-throttled = "warning"\n'
        '[runbooks]\ncap-throttled = "https://wiki.example/cap"\n',
    )
    assert main([SAMPLE, "--format", "json", "--config", path]) == 1
    found = _finding(json.loads(capsys.readouterr().out), "cap-throttled")
    assert found["severity"] == "warning"
    assert found["team_runbook"] == "https://wiki.example/cap"
    assert found["runbook"] == "diagnose explain cap-throttled"
    assert main([SAMPLE, "--config", path]) == 1
    said = capsys.readouterr().out
    assert "https://wiki.example/cap" in said
    assert "diagnose explain cap-throttled" in said


def test_the_command_line_wins_over_environment_and_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, 'format = "markdown"\n')
    monkeypatch.setenv("DIAGNOSE_CONFIG", path)
    assert main([SAMPLE]) == 0
    assert capsys.readouterr().out.startswith("#")
    monkeypatch.setenv("DIAGNOSE_FORMAT", "json")
    assert main([SAMPLE]) == 0
    json.loads(capsys.readouterr().out)
    assert main([SAMPLE, "--format", "markdown"]) == 0
    assert capsys.readouterr().out.startswith("#")


@pytest.mark.parametrize(
    ("extra", "counted"),
    [
        ("", {"cap-throttled": 1}),
        ("until = 2020-01-31\n", {}),
        ("until = 2999-01-31\n", {"cap-throttled": 1}),
        ('deployment = "another-*"\n', {}),
        ('model = "*"\nreplica = "*"\n', {"cap-throttled": 1}),
    ],
    ids=["always", "run out", "still holds", "of another", "of all"],
)
def test_an_ignore_holds_for_its_scope_and_time(
    extra: str, counted: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = _file(tmp_path, '[[ignore]]\nrule = "cap-throttled"\nreason = "load test of this week"\n' + extra)
    report = _report(capsys, "--config", path)
    assert report["suppressed"] == counted


def test_names_of_an_unknown_exporter_become_signals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same readings under names that nobody knows give nothing, and with the names told they give the cap."""
    for i in range(3):
        lines = [
            "acme_active_sequences 64", "acme_queue_depth 90", "acme_kv_fill 0.3",
            f"acme_output_tokens_total {1000 + 500 * i}",
        ]  # fmt: skip
        (tmp_path / f"metrics_{i}.txt").write_text("\n".join(lines) + "\n", "utf-8")
    inputs = [str(tmp_path / f"metrics_{i}.txt") for i in range(3)]
    common = [
        *inputs,
        "--format",
        "json",
        "--interval",
        "10s",
        "--engine-args",
        "vllm serve m --max-num-seqs 64",
    ]
    main(common)
    assert not any(f["rule"] == "cap-throttled" for f in json.loads(capsys.readouterr().out)["findings"])
    path = _file(
        tmp_path,
        '[names]\nacme_active_sequences = "running"\nacme_queue_depth = "waiting"\nacme_kv_fill = "kv_usage"\n'
        'acme_output_tokens_total = "generation_tokens"\n',
    )
    main([*common, "--config", path])
    found = _finding(json.loads(capsys.readouterr().out), "cap-throttled")
    verify = found["verify"]
    assert isinstance(verify, list)
    assert any("acme_active_sequences" in q["promql"] for q in verify)
    main(common)
    assert not any(f["rule"] == "cap-throttled" for f in json.loads(capsys.readouterr().out)["findings"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sinc = '1h'", "sinc: no such key; the nearest is since"),
        ("[severity]\ncap-throtled = 'info'", "the nearest is cap-throttled"),
        ("[severity]\ncap-throttled = 'loud'", "severity.cap-throttled: must be critical, warning or info"),
        ("[[ignore]]\nrule = 'cap-throttled'", "ignore, entry 1: needs a reason"),
        ("[[ignore]]\nrule = 'cap-throttled'\nreason = 'x'\nuntil = 'May'", "until: must be a day"),
        ("[names]\nx = 'runing'", "the nearest is running"),
        ("[runbooks]\ncap-throttled = 'javascript:alert(1)'", "must be an http or https address"),
        ("[watch]\nwebhooks = []", "watch.webhooks: no such key; the nearest is webhook"),
        ("since = [1", "is no TOML"),
    ],
)
def test_mistakes_are_one_line_with_the_place(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([SAMPLE, "--config", _file(tmp_path, text)]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([SAMPLE, "--config", "/nowhere/team.toml"]) == 2
    assert "/nowhere/team.toml: cannot be read" in capsys.readouterr().err


def test_the_example_of_the_docs_is_read(tmp_path: Path) -> None:
    """What the page shows is a file that works."""
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text("utf-8")
    example = page.split("```toml\n")[1].split("```")[0]
    assert (
        main([SAMPLE, "--quiet", "--output", str(tmp_path / "out"), "--config", _file(tmp_path, example)])
        == 0
    )


def test_what_is_left_out_is_said_in_the_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A limit that binds under an ignored finding is never called nothing."""
    text = "".join(
        f'[[ignore]]\nrule = "{r}"\nreason = "known"\n' for r in ("cap-throttled", "past-saturation-knee")
    )
    main([SAMPLE, "--config", _file(tmp_path, text)])
    said = " ".join(capsys.readouterr().out.split())
    assert "Nothing is wrong" not in said
    assert "left out as asked: cap-throttled, past-saturation-knee" in said
