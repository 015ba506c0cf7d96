"""Every ``.series`` file beside the rules: ``fires_*`` must fire, ``quiet_*`` must not, ``missing_*`` cannot be asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.series import Recording, load

from diagnostics.evaluate.registry import all_rules
from diagnostics.model.findings import Finding, Role, Severity
from diagnostics.model.report import Report

HERE = Path(__file__).parent
FIXTURES = sorted(HERE.glob("*/*.series"))
FIRES = [f for f in FIXTURES if f.name.startswith("fires_")]
QUIET = [f for f in FIXTURES if f.name.startswith("quiet_")]
MISSING = [f for f in FIXTURES if f.name.startswith("missing_")]

Judge = Callable[..., Report]


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def _slug(path: Path) -> str:
    return path.parent.name.replace("_", "-")


def _found(report: Report, slug: str) -> Finding | None:
    return next((f for f in report.findings if f.rule == slug), None)


def _check(finding: Finding, recording: Recording) -> None:
    """Hold a finding against what the fixture expects of it."""
    expect = recording.expect
    for field in ("severity", "role", "variant"):
        if field in expect:
            assert getattr(finding, field) == expect[field]
    if "provenance" in expect:
        assert expect["provenance"] in {e.provenance.value for e in finding.evidence}
    if "window_start" in expect:
        tolerance = float(expect["tolerance"])
        assert finding.window.start is not None
        assert finding.window.end is not None
        assert abs(finding.window.start - float(expect["window_start"])) <= tolerance
        assert abs(finding.window.end - float(expect["window_end"])) <= tolerance


@pytest.mark.parametrize("path", FIRES, ids=_name)
@pytest.mark.parametrize("carrier", ["openmetrics", "query_range"])
def test_fires(path: Path, carrier: str, judge: Judge) -> None:
    """The rule fires on its fixture, with the expected words, whichever carrier brings the facts."""
    recording = load(path)
    report = judge(recording, carrier)
    finding = _found(report, _slug(path))
    assert finding is not None, f"did not fire; found {[f.rule for f in report.findings]}"
    _check(finding, recording)
    if "primary" in recording.expect:
        assert report.verdict.primary == recording.expect["primary"]
    if "inferred" in recording.expect:
        assert any(s.inferred for r in report.regimes for s in r.segments)


@pytest.mark.parametrize("path", FIRES, ids=_name)
def test_three_dumps_say_less_but_nothing_else(path: Path, judge: Judge) -> None:
    """From three dumps of the same facts the rule fires or says why not; no cause is found that the course lacks."""
    recording = load(path)
    known = {f.rule for f in judge(recording).findings}
    report = judge(recording, "dumps")
    causes = {f.rule for f in report.findings if f.severity is not Severity.INFO and f.role is Role.CAUSE}
    assert causes <= known
    assert report.verdict.status != "healthy"
    assert _slug(path) in {f.rule for f in report.findings} | {n.rule for n in report.not_evaluated}


@pytest.mark.parametrize("path", QUIET, ids=_name)
@pytest.mark.parametrize("carrier", ["openmetrics", "query_range", "dumps"])
def test_stays_quiet(path: Path, carrier: str, judge: Judge) -> None:
    """The rule finds nothing where its fault is not, whichever carrier brings the facts."""
    recording = load(path)
    report = judge(recording, carrier)
    assert _found(report, _slug(path)) is None
    if carrier != "dumps":
        assert _slug(path) in report.passed
        if "primary" in recording.expect:
            assert report.verdict.primary == recording.expect["primary"]


@pytest.mark.parametrize("path", MISSING, ids=_name)
def test_is_not_evaluated(path: Path, judge: Judge) -> None:
    """Without its signals the rule neither fires nor passes, and says how to get them."""
    recording = load(path)
    report = judge(recording)
    entry = next((n for n in report.not_evaluated if n.rule == _slug(path)), None)
    assert entry is not None, "passed or fired on what is not there"
    assert entry.reason == recording.expect["reason"]
    assert entry.how_to_get
    assert _found(report, _slug(path)) is None
    assert _slug(path) not in report.passed


@pytest.mark.parametrize("slug", sorted({_slug(f) for f in FIXTURES}))
def test_fixtures_come_in_three_kinds(slug: str) -> None:
    """A rule with a fixture that fires has one that is quiet and one with signals missing, and exists."""
    assert slug in {r.slug for r in all_rules()}
    names = {f.name.split("_")[0] for f in FIXTURES if _slug(f) == slug}
    assert names == {"fires", "quiet", "missing"}
