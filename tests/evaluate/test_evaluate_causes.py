"""The choice of the primary cause: a truth table."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from support.series import Recording
from support.vllm import add_vllm, vllm

from diagnostics.evaluate.causes import PRECEDENCE, TOLD_APART, primary, rank, runner_up
from diagnostics.evaluate.registry import all_rules
from diagnostics.model.findings import ChartHint, Finding, Impact, Role, Scope, Severity, Window
from diagnostics.model.report import Report

Judge = Callable[..., Report]
C, S, A = Role.CAUSE, Role.SYMPTOM, Role.ADVICE
CRITICAL, WARNING, INFO = Severity.CRITICAL, Severity.WARNING, Severity.INFO


def make(
    rule: str,
    role: Role = C,
    severity: Severity = WARNING,
    explains: tuple[str, ...] = (),
    confidence: float = 0.9,
) -> Finding:
    """A finding with only what ranking looks at."""
    return Finding(
        code=rule, rule=rule, title=rule, severity=severity, role=role, confidence=confidence, confidence_because="",
        scope=Scope("d", "m", ("a",)), window=Window(None, None), summary=rule, explanation="", evidence=(),
        chart=ChartHint(()), impact=Impact(""), remedies=(), do_not=(), refuted_by="", verify=(), explains=explains,
        runbook="",
    )  # fmt: skip


TABLE = [
    ("nothing", [], None),
    ("only advice", [make("idle-capacity", A, INFO)], None),
    ("a quiet cause is no primary", [make("prefix-cache-miss", C, INFO)], None),
    ("a symptom without a cause", [make("past-saturation-knee", S)], "past-saturation-knee"),
    ("cause before symptom", [make("past-saturation-knee", S, CRITICAL), make("cap-throttled")], "cap-throttled"),
    ("memory before the cap", [make("cap-throttled"), make("memory-bound")], "memory-bound"),
    ("storm before memory", [make("memory-bound", C, CRITICAL), make("preemption-storm", C, CRITICAL)], "preemption-storm"),
    ("outage before a queue", [make("routing-skew"), make("replica-down-or-restarting", C, CRITICAL)],
     "replica-down-or-restarting"),
    ("outage before a storm", [make("preemption-storm", C, CRITICAL), make("replica-down-or-restarting", C, CRITICAL)],
     "replica-down-or-restarting"),
    ("lookup before low acceptance", [make("low-acceptance"), make("prompt-lookup-misfit")], "prompt-lookup-misfit"),
    ("limits before imbalance", [make("round-robin-imbalance"), make("memory-bound")], "memory-bound"),
    ("loud before quiet", [make("preemption-storm", C, INFO), make("client-disconnects")], "client-disconnects"),
    ("a cause that is explained becomes a symptom",
     [make("memory-bound"), make("routing-skew", explains=("memory-bound",))], "routing-skew"),
    ("an unknown rule comes last", [make("brand-new-rule"), make("past-saturation-knee", C)], "past-saturation-knee"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("findings", "expected"), [(f, e) for _, f, e in TABLE], ids=[name for name, _, _ in TABLE]
)
def test_the_primary_is_what_to_act_on_first(findings: list[Finding], expected: str | None) -> None:
    """One row a situation; the order in which rules answered does not matter."""
    for order in itertools.permutations(findings):
        first = primary(rank(list(order)))
        assert (first.rule if first else None) == expected


@pytest.mark.parametrize(("severity", "role"), [(WARNING, S), (CRITICAL, S), (INFO, C)])
def test_only_a_loud_cause_explains(severity: Severity, role: Role) -> None:
    """A loud cause turns what it explains into a symptom; a remark explains nothing."""
    ranked = rank(
        [make("round-robin-imbalance"), make("preemption-storm", C, severity, ("round-robin-imbalance",))]
    )
    roles = {f.rule: f.role for f in ranked}
    assert roles["round-robin-imbalance"] is role


def test_the_same_rule_on_two_deployments_keeps_the_surer_one_first() -> None:
    """Of two findings of one rule the surer one leads."""
    ranked = rank([make("memory-bound", confidence=0.4), make("memory-bound", confidence=0.9)])
    assert [f.confidence for f in ranked] == [0.9, 0.4]


@pytest.mark.parametrize(("first", "second"), sorted(TOLD_APART))
def test_what_separates_two_causes_is_said(first: str, second: str) -> None:
    """For each pair of the table the runner-up comes with the sign that tells it apart."""
    ranked = [make(first), make(second)]
    assert runner_up(ranked, ranked[0]) == (second, TOLD_APART[(first, second)])


def test_the_precedence_knows_every_loud_rule() -> None:
    """A rule of the first stage that the order forgot would rank by accident; no slug is listed twice."""
    known = {r.slug for r in all_rules()}
    assert len(set(PRECEDENCE)) == len(PRECEDENCE)
    assert known - set(PRECEDENCE) <= {"idle-capacity"} | (known - STAGE_ONE)


STAGE_ONE = {
    "cap-throttled", "memory-bound", "preemption-storm", "token-budget-bound", "past-saturation-knee",
    "prefill-stalls-decode", "low-acceptance", "draft-length-overshoot", "prompt-lookup-misfit",
    "round-robin-imbalance", "rank-imbalance", "routing-skew", "prefix-blind-routing", "prefix-cache-miss",
    "replica-down-or-restarting", "client-disconnects", "idle-capacity",
}  # fmt: skip


def test_every_explained_slug_is_a_rule(judge: Judge) -> None:
    """A cause may only explain what exists."""
    known = {r.slug for r in all_rules()}
    rec = Recording(command="vllm serve m --max-num-seqs 8")
    add_vllm(rec, running=8, waiting=20, queue_seconds=5, ttft_seconds=6)
    found = judge(rec).findings
    explained = {slug for f in found for slug in f.explains}
    assert explained
    assert explained <= known


def test_a_symptom_names_its_cause_through_the_cause(judge: Judge) -> None:
    """In a report with both, the knee is a symptom and in what the cause explains."""
    report = judge(
        vllm(running=8, waiting=20, queue_seconds=5, ttft_seconds=6, command="vllm serve m --max-num-seqs 8")
    )
    by_rule = {f.rule: f for f in report.findings}
    assert by_rule["past-saturation-knee"].role is Role.SYMPTOM
    assert "past-saturation-knee" in by_rule["cap-throttled"].explains
    assert report.findings[0].rule == report.verdict.primary == "cap-throttled"
