"""When incidents open, get worse and are resolved; and what changes nothing."""

from __future__ import annotations

from diagnostics.model.findings import ChartHint, Finding, Impact, Role, Scope, Severity, Window
from diagnostics.model.incident import State, Transition
from diagnostics.model.report import Diagnosis, Report, ReportWindow, Verdict
from diagnostics.options import TOOL
from diagnostics.watch.tracker import (
    OVER_SECONDS,
    ROUNDS_TO_GIVE_UP,
    ROUNDS_TO_OPEN,
    ROUNDS_TO_RESOLVE,
    SHOWN_SECONDS,
    Tracker,
)

NOW = 1_760_000_000.0


def _finding(
    confidence: float = 0.9,
    severity: Severity = Severity.WARNING,
    ended: float = 0.0,
    deployment: str = "prod",
    rule: str = "cap-throttled",
) -> Finding:
    return Finding(
        code="SCH001", rule=rule, title="t", severity=severity, role=Role.CAUSE, confidence=confidence,
        confidence_because="", scope=Scope(deployment, "m", ("a",)), window=Window(NOW - 300, NOW - ended),
        summary="It waits.", explanation="", evidence=(), chart=ChartHint(()), impact=Impact(""), remedies=(),
        do_not=(), refuted_by="", verify=(), explains=(), runbook="",
    )  # fmt: skip


def _round(*findings: Finding, answered: dict[str, tuple[str, ...]] | None = None) -> Diagnosis:
    verdict = Verdict("healthy", None, None, "", 1.0, "")
    window = ReportWindow(NOW - 900, NOW, 15.0, "sample times")
    report = Report(
        schema_version=1, generated_at=NOW, tool=TOOL, window=window, inputs=(), deployments=(), verdict=verdict,
        findings=findings, regimes=(), time_to_first_token=(), not_evaluated=(), collect_next=(), suppressed={},
        passed=(),
    )  # fmt: skip
    known = {"prod": ("cap-throttled",)} if answered is None else answered
    return Diagnosis(report, (), known)


QUIET = _round()
UNASKED = _round(answered={"prod": ()})
ABSENT = _round(answered={})


def _states(changes: list[Transition]) -> list[State]:
    return [c.state for c in changes]


def test_a_sure_finding_opens_at_once_and_only_once() -> None:
    tracker = Tracker()
    assert _states(tracker.observe(_round(_finding()), NOW)) == [State.OPENED]
    assert tracker.observe(_round(_finding()), NOW + 60) == []
    assert tracker.open["prod", "cap-throttled"].finding["summary"] == "It waits."


def test_a_doubtful_finding_must_be_seen_twice_in_a_row() -> None:
    tracker = Tracker()
    doubtful = _round(_finding(confidence=0.6))
    for _ in range(3):
        for _ in range(ROUNDS_TO_OPEN - 1):
            assert tracker.observe(doubtful, NOW) == []
        assert tracker.observe(QUIET, NOW) == []
    assert tracker.observe(doubtful, NOW) == []
    assert tracker.observe(UNASKED, NOW) == []
    assert _states(tracker.observe(doubtful, NOW)) == [State.OPENED]


def test_it_is_resolved_after_quiet_rounds_in_a_row() -> None:
    tracker = Tracker()
    tracker.observe(_round(_finding()), NOW)
    for _ in range(ROUNDS_TO_RESOLVE - 1):
        assert tracker.observe(QUIET, NOW) == []
    assert tracker.observe(_round(_finding()), NOW) == []
    for _ in range(ROUNDS_TO_RESOLVE - 1):
        assert tracker.observe(QUIET, NOW) == []
    changes = tracker.observe(QUIET, NOW + 600)
    assert _states(changes) == [State.RESOLVED]
    assert changes[0].incident.resolved_at == NOW + 600
    assert not tracker.open


def test_rounds_in_which_it_was_not_asked_change_nothing() -> None:
    tracker = Tracker()
    tracker.observe(_round(_finding()), NOW)
    tracker.observe(QUIET, NOW)
    for unasked in (UNASKED, ABSENT) * ROUNDS_TO_RESOLVE:
        assert tracker.observe(unasked, NOW) == []
    assert tracker.open["prod", "cap-throttled"].quiet == 1


def test_a_deployment_that_is_gone_is_given_up_in_the_end() -> None:
    tracker = Tracker()
    tracker.observe(_round(_finding()), NOW)
    for _ in range(ROUNDS_TO_GIVE_UP - 1):
        assert tracker.observe(ABSENT, NOW) == []
    changes = tracker.observe(ABSENT, NOW)
    assert _states(changes) == [State.RESOLVED]
    assert "may be gone" in changes[0].note


def test_a_stretch_that_is_over_is_quiet() -> None:
    tracker = Tracker()
    assert tracker.observe(_round(_finding(ended=OVER_SECONDS + 1)), NOW) == []
    assert _states(tracker.observe(_round(_finding(ended=OVER_SECONDS - 1)), NOW)) == [State.OPENED]


def test_severity_only_rises() -> None:
    tracker = Tracker()
    tracker.observe(_round(_finding()), NOW)
    changes = tracker.observe(_round(_finding(severity=Severity.CRITICAL)), NOW)
    assert _states(changes) == [State.WORSE]
    assert changes[0].note == "was warning"
    assert tracker.observe(_round(_finding()), NOW) == []
    assert tracker.open["prod", "cap-throttled"].severity is Severity.CRITICAL


def test_deployments_and_rules_are_apart_and_one_rule_counts_once() -> None:
    tracker = Tracker()
    answered = {"prod": ("cap-throttled", "memory-bound"), "test": ("cap-throttled",)}
    both = (
        _finding(),
        _finding(severity=Severity.CRITICAL),
        _finding(deployment="test"),
        _finding(rule="memory-bound"),
    )
    changes = tracker.observe(_round(*both, answered=answered), NOW)
    assert [(c.incident.key, c.incident.severity.value) for c in changes] == [
        (("prod", "cap-throttled"), "critical"),
        (("test", "cap-throttled"), "warning"),
        (("prod", "memory-bound"), "warning"),
    ]


def test_what_was_open_before_goes_on_and_what_was_resolved_is_shown_for_a_day() -> None:
    before = Tracker()
    before.observe(_round(_finding()), NOW)
    after = Tracker(before.open.values())
    assert after.observe(_round(_finding()), NOW + 60) == []
    for _ in range(ROUNDS_TO_RESOLVE):
        after.observe(QUIET, NOW + 120)
    assert list(after.resolved) == [("prod", "cap-throttled")]
    after.observe(QUIET, NOW + 121 + SHOWN_SECONDS)
    assert not after.resolved
