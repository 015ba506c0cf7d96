"""The command: exit statuses, options, one line for what is wrong."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.carriers import dump, openmetrics
from support.vllm import vllm

from diagnostics.cli.main import main
from diagnostics.cli.options import duration
from diagnostics.model.errors import OptionError
from diagnostics.model.moments import moment
from diagnostics.options import TOOL

SICK = {"running": 8, "waiting": 20, "command": "vllm serve m --max-num-seqs 8"}


@pytest.fixture
def sick(tmp_path: Path) -> str:
    """A server at its cap."""
    path = tmp_path / "sick.txt"
    path.write_text(openmetrics(vllm(**SICK)))  # type: ignore[arg-type]
    return str(path)


@pytest.fixture
def well(tmp_path: Path) -> str:
    """A server with nothing wrong."""
    path = tmp_path / "well.txt"
    path.write_text(openmetrics(vllm()))
    return str(path)


def _said(capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


@pytest.mark.parametrize(("limit", "status"), [("never", 0), ("critical", 0), ("warning", 1), ("info", 1)])
def test_the_status_follows_the_limit(limit: str, status: int, sick: str) -> None:
    """A finding at warning fails from warning on."""
    assert main([sick, "--fail-on", limit]) == status


@pytest.mark.parametrize("limit", ["never", "critical", "warning"])
def test_a_healthy_server_is_done(limit: str, well: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing wrong is status 0 at any limit that nothing reaches."""
    assert main([well, "--fail-on", limit]) == 0
    assert "Nothing is wrong" in _said(capsys)[0]


def test_too_little_is_status_three(tmp_path: Path) -> None:
    """One quiet dump cannot be judged; that wins over any limit."""
    path = tmp_path / "metrics.txt"
    path.write_text(dump(vllm(), 60))
    assert main([str(path)]) == 3
    assert main([str(path), "--fail-on", "info"]) == 3


def test_readable_text_in_which_nothing_is_known_is_status_three(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Prose is no error and no health: unknown."""
    path = tmp_path / "notes.txt"
    path.write_text("The service felt slow on Tuesday.\n")
    assert main([str(path), "--format", "json"]) == 3
    report = json.loads(_said(capsys)[0])
    assert report["verdict"]["status"] == "insufficient-data"
    assert report["verdict"]["primary"] is None


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("gone.txt", None),
        ("empty.txt", b""),
        ("binary.bin", bytes(range(256)) * 20),
        ("login.html", b"<!DOCTYPE html><html></html>"),
        ("cut.txt.gz", gzip.compress(os.urandom(4000))[:-30]),
    ],
)
def test_an_input_that_cannot_be_read_is_status_two_and_one_line(
    name: str, data: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Which input, what is wrong with it, in one line on standard error; nothing on standard output."""
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    assert main([str(path)]) == 2
    out, err = _said(capsys)
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("diagnose: ")
    assert name in err


def test_a_bad_input_beside_a_good_one_is_a_warning(
    sick: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report goes on, and says of the bad input what was wrong."""
    bad = tmp_path / "bad.bin"
    bad.write_bytes(bytes(range(256)) * 20)
    assert main([sick, str(bad), str(tmp_path / "gone.txt"), "--format", "json"]) == 0
    report = json.loads(_said(capsys)[0])
    assert report["verdict"]["primary"] == "cap-throttled"
    warnings = {i["source"]: i["warnings"] for i in report["inputs"]}
    assert "binary" in warnings[str(bad)][0]
    assert "does not exist" in warnings[str(tmp_path / "gone.txt")][0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no input"),
        (["x", "--no-such-option"], "--no-such-option"),
        (["x", "--format", "yaml"], "yaml"),
        (["x", "--since", "soon"], "soon"),
        (["x", "--since", "-5m"], "--since"),
        (["x", "--from", "yesterday"], "yesterday"),
        (["x", "--from", "2026-01-02T00:00:00Z", "--to", "2026-01-01T00:00:00Z"], "--from"),
        (["x", "--interval", "0"], "0"),
        (["x", "--timezone", "Mars/Olympus"], "Mars/Olympus"),
        (["x", "--rule", "no-such-rule"], "no-such-rule"),
        (["x", "--ignore", "no-such-rule"], "no-such-rule"),
        (["x", "--slo", "ttft_p99"], "--slo"),
        (["x", "--header", "token"], "--header"),
        (["x", "--fail-on", "sometimes"], "sometimes"),
        (["x", "--bearer-token-file", "/no/such/file"], "/no/such/file"),
        (["x", "--gpu-hourly", "cheap"], "cheap"),
        (["ftp://host/metrics"], "ftp"),
        (["explain", "no-such-rule"], "no-such-rule"),
        (["explain"], "CODE"),
        (["rules", "--format", "pdf"], "pdf"),
    ],
)
def test_wrong_options_get_one_line(
    options: list[str], said: str, sick: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, and one line that names what was wrong."""
    assert main([sick if o == "x" else o for o in options]) == 2
    out, err = _said(capsys)
    assert out == ""
    assert err.count("\n") == 1
    assert said in err


def test_a_secret_is_never_printed(
    sick: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a header, nor basic auth, nor a password in an address comes back in a message or report."""
    monkeypatch.setenv("DIAGNOSE_BASIC_AUTH", "user:hunter2")
    main([sick, "--header", "Authorization=Bearer s3cr3t", "--format", "json", "--verbose"])
    main([sick, "--header", "Bearer s3cr3t"])
    main(["http://user:hunter2@127.0.0.1:1/metrics", "--header", "X-Key=s3cr3t"])
    out, err = _said(capsys)
    assert "s3cr3t" not in out + err
    assert "hunter2" not in out + err


def test_standard_input_is_an_input(capsys: pytest.CaptureFixture[str]) -> None:
    """A dash reads a paste from standard input."""
    run = subprocess.run(
        [sys.executable, "-m", "diagnostics", "-", "--format", "json"],
        input=openmetrics(vllm(**SICK)), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 0
    report = json.loads(run.stdout)
    assert report["inputs"][0]["source"] == "standard input"
    assert report["verdict"]["primary"] == "cap-throttled"


def test_output_goes_to_a_file(sick: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --output nothing is printed, and the file holds the report."""
    out = tmp_path / "report.json"
    assert main([sick, "--format", "json", "--output", str(out)]) == 0
    assert _said(capsys)[0] == ""
    assert json.loads(out.read_text())["verdict"]["primary"] == "cap-throttled"


def test_an_output_that_cannot_be_written_is_one_line(
    sick: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder that does not exist is named."""
    target = tmp_path / "no" / "report.json"
    assert main([sick, "--output", str(target)]) == 2
    assert str(target) in _said(capsys)[1]


def test_a_store_that_cannot_be_written_is_one_line(
    sick: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The place of the store is named, and nothing else is printed."""
    target = tmp_path / "no" / "store.duckdb"
    assert main([sick, "--store", str(target)]) == 2
    out, err = _said(capsys)
    assert (out, err.count("\n")) == ("", 1)
    assert str(target) in err


def test_the_same_input_into_a_store_twice_gives_the_same_report(
    sick: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A kept store neither doubles the samples nor changes the verdict."""
    reports = []
    for _ in range(2):
        assert main([sick, "--store", str(tmp_path / "s.duckdb"), "--format", "json"]) == 0
        reports.append(json.loads(_said(capsys)[0]))
    for report in reports:
        del report["generated_at"]
    assert reports[0] == reports[1]


def test_an_engine_command_supplies_what_no_input_carries(
    sick: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cap of --engine-args is configured, not inferred."""
    main([sick, "--engine-args", "vllm serve m --max-num-seqs 8", "--format", "json"])
    found = json.loads(_said(capsys)[0])["findings"][0]
    assert found["evidence"][0]["provenance"] == "configured"
    assert found["chart"]["thresholds"] == {"running": 8.0}


def test_options_come_from_the_environment_and_the_line_wins(
    sick: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """DIAGNOSE_FORMAT sets the format; --format overrides it."""
    monkeypatch.setenv("DIAGNOSE_FORMAT", "json")
    main([sick])
    assert json.loads(_said(capsys)[0])["schema_version"] == 1
    main([sick, "--format", "text"])
    assert not _said(capsys)[0].startswith("{")


def test_there_is_no_colour_outside_a_terminal(sick: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A report in a pipe holds no escape codes."""
    main([sick])
    assert "\x1b" not in _said(capsys)[0]


@pytest.mark.parametrize(
    ("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_on_a_terminal_unless_refused(variables: dict[str, str], coloured: bool, sick: str) -> None:
    """On a real pseudo-terminal there is colour, except with NO_COLOR or a dumb terminal."""
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | variables
    program = (
        "import os, pty, sys\n"
        "pid, master = pty.fork()\n"
        "if pid == 0:\n"
        "    os.execv(sys.executable, [sys.executable, '-m', 'diagnostics', sys.argv[1]])\n"
        "data = b''\n"
        "try:\n"
        "    while block := os.read(master, 65536):\n"
        "        data += block\n"
        "except OSError:\n"
        "    pass\n"
        "os.waitpid(pid, 0)\n"
        "sys.stdout.buffer.write(data)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, sick], env=environment, capture_output=True, check=True
    )
    assert b"cap" in run.stdout
    assert (b"\x1b[" in run.stdout) is coloured


def test_hostile_names_reach_the_terminal_as_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model name with escape codes and line breaks cannot move the cursor or fake a line."""
    rec = vllm(model="evil\x1b[2J\nVerdict: healthy\x07", **SICK)  # type: ignore[arg-type]
    path = tmp_path / "hostile.txt"
    path.write_text(openmetrics(rec))
    main([str(path)])
    out = _said(capsys)[0]
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "\nVerdict: healthy" not in out


def test_rules_lists_every_rule(capsys: pytest.CaptureFixture[str]) -> None:
    """A line a rule, and the same as JSON."""
    assert main(["rules"]) == 0
    lines = _said(capsys)[0].splitlines()
    assert main(["rules", "--format", "json"]) == 0
    rows = json.loads(_said(capsys)[0])
    assert [line.split()[:2] for line in lines] == [[r["code"], r["rule"]] for r in rows]
    assert {"SCH001", "MEM001", "RTE006"} & {r["code"] for r in rows}
    assert all(r["title"] and r["family"] and r["concepts"] for r in rows)


@pytest.mark.parametrize("name", ["SCH001", "cap-throttled"])
def test_explain_prints_the_runbook(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """By code or slug."""
    assert main(["explain", name]) == 0
    assert _said(capsys)[0].startswith("# cap-throttled")


def test_explain_suggests_what_was_meant(capsys: pytest.CaptureFixture[str]) -> None:
    """A typing error gets the nearest slug."""
    assert main(["explain", "cap-throtled"]) == 2
    assert "did you mean cap-throttled" in _said(capsys)[1]


def test_the_runbook_link_is_a_command_that_works(sick: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a base the link is a command; with one it is an address."""
    main([sick, "--format", "json"])
    link = json.loads(_said(capsys)[0])["findings"][0]["runbook"]
    assert link == "diagnose explain cap-throttled"
    assert main(link.split()[1:]) == 0
    capsys.readouterr()
    main([sick, "--format", "json", "--runbook-base", "https://wiki/runbooks/"])
    assert json.loads(_said(capsys)[0])["findings"][0]["runbook"] == "https://wiki/runbooks/cap-throttled"


def test_the_version_is_that_of_the_package() -> None:
    """The installed command says which version it is."""
    run = subprocess.run(
        [sys.executable, "-m", "diagnostics", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == f"diagnose {TOOL.version}"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("15m", 900), ("1h30m", 5400), ("2d", 172800), ("500ms", 0.5), ("45", 45)],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    """Prometheus' spelling and plain seconds."""
    assert duration(text) == seconds


@pytest.mark.parametrize("text", ["", "5 minutes", "m", "-3", "nan", "inf", "1h-3m", "0s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Nothing is guessed, and no time is not a time."""
    with pytest.raises(OptionError):
        duration(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1760000000", 1760000000.0),
        ("2025-10-09T08:53:20Z", 1760000000.0),
        ("2025-10-09T10:53:20+02:00", 1760000000.0),
        ("2025-10-09T08:53:20", 1760000000.0),
    ],
)
def test_moments_are_read(text: str, seconds: float) -> None:
    """ISO 8601 with and without a zone, and Unix seconds, are the same moment."""
    assert moment(text) == seconds


@pytest.mark.parametrize("text", ["yesterday", "2025-13-01", "", "nan", "inf"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    """Words and impossible dates are refused."""
    with pytest.raises(OptionError):
        moment(text)


@pytest.mark.parametrize(("where", "status"), [("auto", 0), ("local", 0), ("pushdown", 2), ("moon", 2)])
def test_where_statistics_are_computed(where: str, status: int, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not there is said in one line, and never done another way in silence."""
    sample = Path(__file__).parents[2] / "sample_data" / "concurrency-cap"
    assert main([str(sample), "--execution", where]) == status
    said = capsys.readouterr().err
    assert said.count("\n") == (1 if status else 0)


@pytest.mark.parametrize("arguments", [["rules"], ["SAMPLE"], ["SAMPLE", "--format", "json"]])
def test_output_that_cannot_be_written_is_no_success(arguments: list[str]) -> None:
    """A full disk behind standard output is one line and status 2, also for what is still held back."""
    sample = Path(__file__).parents[2] / "sample_data" / "concurrency-cap"
    command = [str(sample) if a == "SAMPLE" else a for a in arguments]
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "diagnostics", *command],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert run.returncode == 2
    assert "no space left on device" in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize(("said", "recognised"), [("1", True), ("0", False), ("false", False)])
def test_a_switch_of_the_environment_can_be_off(
    said: str, recognised: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DIAGNOSE_VERBOSE", said)
    main([str(Path(__file__).parents[2] / "sample_data" / "concurrency-cap")])
    assert (": openmetrics; " in capsys.readouterr().err) is recognised
