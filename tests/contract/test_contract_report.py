"""The JSON report against the contract: every field, every word of the closed lists, nothing more."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from support.series import Recording
from support.vllm import add_vllm, vllm

from diagnostics.model.report import Report
from diagnostics.reports import json as as_json

Judge = Callable[..., Report]

FIELDS = {
    "": "schema_version generated_at tool window inputs deployments verdict findings regimes time_to_first_token "
    "not_evaluated collect_next suppressed passed",
    "tool": "name version",
    "window": "start end step_seconds time_basis",
    "inputs": "source kind engine engine_version replicas samples recognised warnings",
    "deployments": "name model engine replicas status worst_regime since",
    "verdict": "status primary runner_up told_apart_by coverage headline",
    "findings": "code rule title variant severity role confidence confidence_because scope window summary explanation "
    "evidence chart impact remedies do_not refuted_by verify explains runbook",
    "findings.scope": "deployment model replicas run",
    "findings.window": "start end share_of_window",
    "findings.evidence": "signal statistic value unit comparison threshold replica provenance",
    "findings.chart": "signals thresholds",
    "findings.impact": "statement estimate unit basis",
    "findings.remedies": "action when restart engine flag current suggested expected risk undo",
    "findings.verify": "promql",
    "regimes": "replica segments",
    "regimes.segments": "start end regime inferred",
    "time_to_first_token": "replica before during",
    "not_evaluated": "rule reason missing how_to_get",
}
WORDS = {
    "inputs.kind": "prometheus exposition openmetrics log bench config telemetry quality paste unknown",
    "deployments.status": "healthy findings insufficient-data",
    "verdict.status": "healthy findings insufficient-data",
    "findings.severity": "critical warning info",
    "findings.role": "cause symptom advice",
    "findings.evidence.provenance": "measured configured inferred lifetime assumed",
    "findings.evidence.comparison": "< <= = >= >",
    "findings.remedies.when": "now next-rollout capacity-plan",
    "regimes.segments.regime": "down idle unsaturated cap kv-memory preempting token-budget queueing undecided",
    "not_evaluated.reason": "not-in-this-input needs-time-series not-exported-by-engine too-few-samples not-configured "
    "option-not-given input-failed rule-error",
}


def _fleet() -> Recording:
    rec = Recording()
    add_vllm(
        rec,
        instance="a:8000",
        running="8+0.01x60",
        waiting=12,
        kv=0.5,
        finished=8,
        queue_seconds=4,
        ttft_seconds=5,
    )
    return add_vllm(rec, instance="b:8000", running=2, finished=2)


REPORTS: dict[str, tuple[Recording, str, dict[str, object]]] = {
    "healthy": (vllm(), "openmetrics", {}),
    "cap": (vllm(running=8, waiting=20, queue_seconds=5, ttft_seconds=6), "openmetrics", {}),
    "cap with an SLO": (
        vllm(running=8, waiting=20, queue_seconds=5, ttft_seconds=6),
        "query_range",
        {"slo": {"ttft_p99": 1.0}},
    ),
    "storm": (vllm(preempted=4, finished=5, kv=0.95, running="5+0.1x60"), "openmetrics", {}),
    "outage": (vllm(up=[1.0] * 30 + [0.0] * 31), "openmetrics", {}),
    "fleet": (_fleet(), "openmetrics", {}),
    "idle at a price": (
        vllm(running=0, prompts=0, generated=0, finished=0),
        "openmetrics",
        {"gpu_hourly": 4.2},
    ),
    "dumps": (vllm(running=8, waiting=20, command="vllm serve m --max-num-seqs 8"), "dumps", {}),
    "one dump": (vllm(), "last dump", {}),
    "suppressed": (vllm(running=8, waiting=20), "openmetrics", {"ignore": ("cap-throttled",)}),
}


@pytest.fixture(params=REPORTS, name="report")
def _report(request: pytest.FixtureRequest, judge: Judge) -> dict[str, Any]:
    """One kind of report a parameter, as its JSON."""
    recording, carrier, options = REPORTS[request.param]
    text = as_json.render(judge(recording, carrier, **options))
    taken: dict[str, Any] = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    return taken


def _objects(report: Any, path: str) -> list[Any]:
    """Every object at a path of field names, through lists."""
    found = [report]
    for name in filter(None, path.split(".")):
        found = [
            part
            for one in found
            for value in [one[name]]
            for part in (value if isinstance(value, list) else [value])
        ]
    return found


def test_every_object_has_the_fields_of_the_contract(report: dict[str, Any]) -> None:
    """No field is missing, none is added without a new schema version."""
    for path, names in FIELDS.items():
        for found in _objects(report, path):
            assert set(found) == set(names.split()), path


def test_every_word_is_of_its_closed_list(report: dict[str, Any]) -> None:
    """Words that others compare against are spelt as promised."""
    for path, words in WORDS.items():
        for word in _objects(report, path):
            assert word in words.split(), path


def test_status_and_primary_agree(report: dict[str, Any]) -> None:
    """Findings exactly with a loud finding; the primary is one of those, and null otherwise."""
    loud = {f["rule"] for f in report["findings"] if f["severity"] in ("critical", "warning")}
    verdict = report["verdict"]
    assert (verdict["status"] == "findings") == bool(loud)
    assert (verdict["primary"] is not None) == bool(loud)
    assert verdict["primary"] in loud | {None}
    assert verdict["headline"].endswith((".", ")"))


def test_times_are_iso_and_in_order(report: dict[str, Any]) -> None:
    """Times are text in UTC; a window ends after it starts."""
    spans = [
        report["window"],
        *(f["window"] for f in report["findings"]),
        *_objects(report, "regimes.segments"),
    ]
    for span in spans:
        for end in (span["start"], span["end"]):
            assert end is None or (isinstance(end, str) and end.endswith("Z"))
        assert span["start"] is None or span["start"] <= span["end"]
    assert report["generated_at"].endswith("Z")


def test_shares_are_shares(report: dict[str, Any]) -> None:
    """Confidence, coverage and shares of a window lie between 0 and 1."""
    assert 0 <= report["verdict"]["coverage"] <= 1
    for found in report["findings"]:
        assert 0 < found["confidence"] <= 1
        share = found["window"]["share_of_window"]
        assert share is None or 0 <= share <= 1


def test_every_finding_can_be_acted_on(report: dict[str, Any]) -> None:
    """Evidence, a remedy, a way to refute and a runbook; a critical cause helps now without a restart."""
    for found in report["findings"]:
        assert found["evidence"]
        assert found["remedies"]
        assert found["refuted_by"]
        assert found["runbook"]
        assert found["summary"]
        assert found["confidence_because"]
        assert all(e["replica"] for e in found["evidence"])
        if found["severity"] == "critical" and found["role"] == "cause":
            first = found["remedies"][0]
            assert (first["when"], first["restart"]) == ("now", False)


def test_evidence_is_on_the_right_side_of_its_limit(report: dict[str, Any]) -> None:
    """What decided lies beyond the limit it is printed beside; nobody is shown 0.6 >= 0.9."""
    holds = {"<": float.__lt__, "<=": float.__le__, "=": float.__eq__, ">=": float.__ge__, ">": float.__gt__}
    for found in report["findings"]:
        for e in found["evidence"]:
            if e["threshold"] is not None:
                assert e["value"] is not None
                assert holds[e["comparison"]](float(e["value"]), float(e["threshold"])), e


def test_a_rule_is_in_one_list_only(report: dict[str, Any]) -> None:
    """Found, passed, suppressed and not evaluated do not overlap."""
    found = {f["rule"] for f in report["findings"]}
    left = {n["rule"] for n in report["not_evaluated"]}
    passed, hidden = set(report["passed"]), set(report["suppressed"])
    assert not found & left
    assert not found & passed
    assert not passed & left
    assert not hidden & (found | passed)


def test_what_to_collect_next_is_at_most_three_commands(report: dict[str, Any]) -> None:
    """Few enough to be done."""
    assert len(report["collect_next"]) <= 3


def test_moments_are_never_surer_than_half(judge: Judge) -> None:
    """Where there is no window, a saturation rule stays at warning and half sure, and regimes undecided."""
    recording, carrier, options = REPORTS["dumps"]
    report = judge(recording, carrier, **options)
    assert report.findings
    assert all(f.confidence <= 0.5 for f in report.findings)
    assert {s.regime.value for r in report.regimes for s in r.segments} <= {"undecided"}


def test_healthy_needs_evidence(judge: Judge) -> None:
    """Take away the queue, the cache or the latencies of a healthy server: it is no longer called healthy."""
    assert judge(vllm()).verdict.status == "healthy"
    for gone in ("vllm:num_requests_waiting", "vllm:num_requests_running", "vllm:request_success"):
        assert judge(vllm().without(gone)).verdict.status == "insufficient-data"


def test_health_needs_preemption_to_be_seen(judge: Judge) -> None:
    """Without the counter work may be thrown away unseen, unless the KV cache never comes near full."""
    full = vllm(kv=0.8).without("vllm:num_preemptions")
    assert judge(full).verdict.status == "insufficient-data"
    assert judge(vllm().without("vllm:num_preemptions")).verdict.status == "healthy"


def test_the_same_facts_give_the_same_report_whatever_carries_them(judge: Judge) -> None:
    """OpenMetrics and a saved answer of the same samples differ in nothing but what they say of the input."""
    for recording, _, options in REPORTS.values():
        one, other = (
            json.loads(as_json.render(judge(recording, c, **options))) for c in ("openmetrics", "query_range")
        )
        for report in (one, other):
            for name in ("inputs", "generated_at"):
                del report[name]
        assert one == other
