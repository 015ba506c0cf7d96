"""Asking the rules: what is missing never passes, and one broken rule does not take the verdict with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import loud, reason
from support.series import Recording
from support.vllm import add_vllm, counter, vllm

from diagnostics.engines import vllm as facts_of_vllm
from diagnostics.evaluate import judgement
from diagnostics.evaluate.registry import all_rules, rule_named, runbook_of
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Need, Outcome, Passed, Rule
from diagnostics.model.report import Reason, Report
from diagnostics.model.samples import Resolution

Judge = Callable[..., Report]


def _raises(_: Facts) -> Outcome:
    raise ZeroDivisionError("half a fact")


def _passes(_: Facts) -> Outcome:
    return Passed()


def _rule(evaluate: Callable[[Facts], Outcome], *needs: Need, full: Resolution = Resolution.RANGE) -> Rule:
    return Rule("TST001", "test-rule", "a test", "test", (), needs, evaluate, full=full)


@pytest.fixture
def with_rule(monkeypatch: pytest.MonkeyPatch) -> Callable[[Rule], None]:
    """Put a rule of the test beside the real ones."""

    def put(rule: Rule) -> None:
        everything = (*all_rules(), rule)
        monkeypatch.setattr(judgement, "all_rules", lambda: everything)

    return put


def test_a_rule_that_raises_is_reported_and_the_rest_goes_on(
    with_rule: Callable[[Rule], None], judge: Judge
) -> None:
    """The broken rule is not evaluated, with its error; the verdict is the one without it."""
    rec = vllm(running=8, waiting=20)
    before = judge(rec)
    with_rule(_rule(_raises, Need(("running",))))
    report = judge(rec)
    entry = next(n for n in report.not_evaluated if n.rule == "test-rule")
    assert entry.reason is Reason.RULE_ERROR
    assert "ZeroDivisionError: half a fact" in entry.how_to_get
    assert report.verdict == before.verdict
    assert "test-rule" not in report.passed


def test_no_rule_raises_on_any_kind_of_fact(judge: Judge) -> None:
    """Full, thin, empty and odd recordings: no real rule breaks."""
    odd = vllm(running=[float("nan")] * 61, kv="2x60", waiting="-1x60", prompts=0, generated=0, finished=0)
    two = add_vllm(add_vllm(Recording(), instance="a:1"), instance="b:1", finished=0)
    for rec, carrier in (
        (vllm(), "openmetrics"), (vllm(), "dumps"), (vllm(1), "last dump"), (odd, "openmetrics"), (odd, "dumps"),
        (two, "openmetrics"), (two, "last dump"), (vllm(2), "query_range"),
    ):  # fmt: skip
        report = judge(rec, carrier)
        assert Reason.RULE_ERROR not in {n.reason for n in report.not_evaluated}


def test_a_rule_whose_needs_are_missing_is_not_called(
    with_rule: Callable[[Rule], None], judge: Judge
) -> None:
    """All that is missing is listed with how to get it; the rule body never sees absence."""
    with_rule(
        _rule(
            _raises, Need(("swapped",)), Need(("running",)), Need(("lora_max",), how_to_get="ask the router")
        )
    )
    entry = next(n for n in judge(vllm()).not_evaluated if n.rule == "test-rule")
    assert entry.reason is Reason.NOT_IN_THIS_INPUT
    assert entry.missing == ("swapped", "lora_max")
    assert entry.how_to_get == "ask the router"


def test_what_an_engine_never_exports_is_said(with_rule: Callable[[Rule], None], judge: Judge) -> None:
    """The way to a setting that is in no metric is named."""
    with_rule(_rule(_raises, Need(("token_budget",))))
    entry = next(n for n in judge(vllm()).not_evaluated if n.rule == "test-rule")
    assert entry.reason is Reason.NOT_EXPORTED_BY_ENGINE
    assert "--max-num-batched-tokens" in entry.how_to_get


@pytest.mark.parametrize(
    ("carrier", "full", "passes"),
    [
        ("openmetrics", Resolution.RANGE, True),
        ("dumps", Resolution.RANGE, False),
        ("dumps", Resolution.PAIR, True),
        ("last dump", Resolution.PAIR, False),
        ("last dump", Resolution.SNAPSHOT, True),
    ],
)
def test_silence_means_health_only_where_the_fault_could_show(
    carrier: str, full: Resolution, passes: bool, with_rule: Callable[[Rule], None], judge: Judge
) -> None:
    """A rule that finds nothing in too little is not evaluated instead of passed."""
    with_rule(_rule(_passes, Need(("running",)), full=full))
    report = judge(vllm(), carrier)
    assert ("test-rule" in report.passed) is passes
    assert (reason(report, "test-rule") is Reason.NEEDS_TIME_SERIES) is not passes


def _native(signal: str) -> tuple[str, ...]:
    return tuple(m.native for m in facts_of_vllm.ENGINE.metrics if m.signal == signal) + (
        ("process_start_time",) if signal == "start_time" else ("up",) if signal == "up" else ()
    )


def _everything() -> Recording:
    """Two replicas with every signal, speculation included."""
    rec = Recording()
    for instance in ("a:8000", "b:8000"):
        add_vllm(rec, instance=instance)
        labels = {"instance": instance, "engine": "0"}
        for name, grown in (("drafts", 50.0), ("draft_tokens", 100.0), ("accepted_tokens", 70.0)):
            rec.add(f"vllm:spec_decode_num_{name}_total", counter(grown, 61), **labels)
        for position, grown in (("0", 40.0), ("1", 30.0)):
            name = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
            rec.add(name, counter(grown, 61), **labels, position=position)
    return rec


NEEDS = [(rule.slug, need) for rule in all_rules() for need in rule.needs]


@pytest.mark.parametrize(("slug", "need"), NEEDS, ids=[f"{s} without {n.any_of[0]}" for s, n in NEEDS])
def test_missing_never_passes(slug: str, need: Need, judge: Judge) -> None:
    """Take away what a rule needs, one need at a time: it is not evaluated, with a way to get it."""
    report = judge(_everything().without(*(name for s in need.any_of for name in _native(s))))
    assert slug not in report.passed
    assert slug not in {f.rule for f in report.findings}
    entry = next(n for n in report.not_evaluated if n.rule == slug)
    assert entry.how_to_get


def test_every_rule_has_exactly_one_answer(judge: Judge) -> None:
    """Found, passed or not evaluated: no rule is forgotten, and none is in two places."""
    for rec in (_everything(), vllm(running=8, waiting=20), vllm(2)):
        report = judge(rec)
        places = [
            {f.rule for f in report.findings},
            set(report.passed),
            {n.rule for n in report.not_evaluated},
        ]
        assert set.union(*places) == {r.slug for r in all_rules()}
        assert sum(map(len, places)) == len(all_rules())


def test_suppressed_findings_are_counted(judge: Judge) -> None:
    """What the user ignores is hidden with a number, not passed."""
    report = judge(vllm(running=8, waiting=20), ignore=("cap-throttled",))
    assert report.suppressed == {"cap-throttled": 1}
    assert "cap-throttled" not in loud(report) | set(report.passed)


def test_only_the_rules_asked_for_run(judge: Judge) -> None:
    """Restricted to one rule, nothing else is found or listed."""
    report = judge(vllm(running=8, waiting=20, queue_seconds=5, ttft_seconds=6), only=("cap-throttled",))
    assert {f.rule for f in report.findings} == {"cap-throttled"}
    assert report.not_evaluated == ()


@pytest.mark.parametrize("name", ["SCH001", "sch001", "cap-throttled", " Cap-Throttled "])
def test_a_rule_is_found_by_code_or_slug(name: str) -> None:
    """People write either, in any case."""
    rule = rule_named(name)
    assert rule is not None
    assert rule.slug == "cap-throttled"


@pytest.mark.parametrize("slug", [r.slug for r in all_rules()])
def test_every_runbook_says_what_to_do(slug: str) -> None:
    """A page a rule, with the parts that a person on call looks for."""
    page = runbook_of(slug)
    assert page.startswith("# ")
    for heading in ("Meaning", "Impact", "Diagnosis", "Mitigation", "When it is something else"):
        assert f"## {heading}" in page
