"""Every reference recording against its key, whole and through its best single carrier."""

from __future__ import annotations

import csv
import json
import shutil
from functools import cache
from pathlib import Path

import pytest

from diagnostics import diagnose
from diagnostics.evaluate.registry import all_rules
from diagnostics.model.findings import Severity
from diagnostics.model.report import Report

REFERENCE = Path(__file__).parents[2].parent / "shared"
NOT_EVIDENCE = ("label.json", "README.md", "client_requests")
KNOWN = {r.slug for r in all_rules()} | {"healthy", "insufficient-data"}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(";") if word.strip()]


def _rows() -> list[dict[str, str]]:
    """Rows on whole recordings whose every allowed answer is a rule that exists."""
    rows = list(csv.DictReader((REFERENCE / "expected.csv").open(encoding="utf-8")))
    recorded = [r for r in rows if r["form"] == "trace" and r["stage"] == "1"]
    return [r for r in recorded if not r["carriers"] or "folder" in r["carriers"].split()]


ROWS = _rows()


@pytest.fixture(scope="module")
def neutral(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A place without the labels."""
    return tmp_path_factory.mktemp("incidents")


def _whole(neutral: Path, path: str) -> Path:
    """A copy of a recording without what tells the answer."""
    target = neutral / f"incident-{abs(hash(path)) % 10**6}"
    if not target.exists():
        target.mkdir()
        for file in sorted((REFERENCE / path).iterdir()):
            if not file.name.startswith(NOT_EVIDENCE):
                shutil.copyfile(file, target / file.name)
    return target


@cache
def _report(*paths: str) -> Report:
    return diagnose(list(paths)).report


def _verdict(report: Report) -> str:
    return report.verdict.primary or report.verdict.status


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["item"])
def test_the_folder_names_the_cause(row: dict[str, str], neutral: Path) -> None:
    """The primary is in the key, and no false alarm is raised beside it."""
    report = _report(str(_whole(neutral, row["path"])))
    assert _verdict(report) in _words(row["primary"])
    loud = {f.rule for f in report.findings if f.severity is not Severity.INFO}
    assert not loud & set(_words(row["must_not"]))


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["item"])
def test_replicas_are_counted_right(row: dict[str, str], neutral: Path) -> None:
    """Metrics, dumps and logs of a replica are one replica, whichever of them are there."""
    label = json.loads((REFERENCE / row["path"] / "label.json").read_text("utf-8"))
    expected = len(label.get("instances") or label["numbers"].get("by_instance") or _instances(row["path"]))
    report = _report(str(_whole(neutral, row["path"])))
    assert sum(d.replicas for d in report.deployments) == expected
    assert len(report.regimes) == expected


def _instances(path: str) -> set[str]:
    """Replicas by the names of the dumps, which the recorder gave."""
    dumps = [f.name for f in (REFERENCE / path).glob("metrics_end*.txt")]
    return set(dumps)


@pytest.mark.parametrize("row", ROWS, ids=lambda r: r["item"])
def test_the_folder_says_what_its_best_carrier_says(row: dict[str, str], neutral: Path) -> None:
    """More evidence does not change the cause: metrics over time alone say the same, or less."""
    folder = _whole(neutral, row["path"])
    best = _report(str(folder / "openmetrics.txt.gz"))
    allowed = {
        _verdict(best),
        "prompt-lookup-misfit" if _verdict(best) == "low-acceptance" else _verdict(best),
        # Benchmark results beside the metrics say more than the metrics alone; the key names what is right then.
        *(row["primary"].split(";") if any(folder.glob("bench*.json")) else ()),
    }
    assert _verdict(_report(str(folder))) in allowed


@pytest.mark.parametrize("row", [r for r in ROWS if r["incident"]], ids=lambda r: r["item"])
def test_an_incident_is_found_in_its_time(row: dict[str, str], neutral: Path) -> None:
    """The window of the finding covers at least half of the union with the true one."""
    start, end = map(float, row["incident"].split(".."))
    report = _report(str(_whole(neutral, row["path"])))
    window = next(f.window for f in report.findings if f.rule == report.verdict.primary)
    assert window.start is not None
    assert window.end is not None
    shared = min(end, window.end) - max(start, window.start)
    assert shared / (max(end, window.end) - min(start, window.start)) >= 0.5


def test_the_copy_of_the_list_of_rules_is_current() -> None:
    """The list that the other tests hold rules against equals the reference."""
    copy = Path(__file__).parent / "rules.csv"
    assert copy.read_text("utf-8") == (REFERENCE / "reference" / "rules.csv").read_text("utf-8")
