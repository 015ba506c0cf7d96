"""Asks every rule, and turns drafts into findings."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from diagnostics.engines import registry as engines
from diagnostics.evaluate.confidence import confidence
from diagnostics.execute.facts import Facts
from diagnostics.execute.promql import promql
from diagnostics.execute.rule import Draft, Fired, Need, Passed, Rule, Unanswered
from diagnostics.model.findings import Finding, Query, Scope
from diagnostics.model.report import NotEvaluated, Reason
from diagnostics.model.samples import Resolution


class Results(Struct):
    """What all rules answered."""

    findings: list[Finding] = field(default_factory=list)
    passed: list[str] = field(default_factory=list)
    not_evaluated: list[NotEvaluated] = field(default_factory=list)
    suppressed: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)


def run_rules(
    rules: Iterable[Rule], facts: Facts, *, matchers: str = "", runbook_base: str | None = None
) -> Results:
    """Evaluate rules on one deployment.

    A rule whose needs are not met is not called. A rule that raises is reported as such and the rest goes on.
    """
    results = Results()
    for rule in rules:
        missing = [need for need in rule.needs if not _met(need, facts)]
        if missing:
            results.not_evaluated.append(_unmet(rule, missing, facts))
            continue
        try:
            outcome = rule.evaluate(facts)
        except Exception as error:  # one broken rule must not take the verdict with it
            results.errors.append(f"{rule.slug}: {type(error).__name__}: {error}")
            results.not_evaluated.append(
                NotEvaluated(
                    rule.slug, Reason.RULE_ERROR, (), f"report this: {type(error).__name__}: {error}"
                )
            )
            continue
        if isinstance(outcome, Fired):
            results.findings += [_finding(rule, d, facts, matchers, runbook_base) for d in outcome.drafts]
        elif isinstance(outcome, Unanswered):
            results.not_evaluated.append(
                NotEvaluated(rule.slug, outcome.reason, outcome.missing, outcome.how_to_get)
            )
        elif isinstance(outcome, Passed):
            _pass(rule, facts, results)
    return results


def _pass(rule: Rule, facts: Facts, results: Results) -> None:
    """Silence means health only where the data could have shown the fault."""
    if max(facts.resolution, default=Resolution.SNAPSHOT) >= rule.full:
        results.passed.append(rule.slug)
        return
    results.not_evaluated.append(
        NotEvaluated(
            rule.slug,
            Reason.NEEDS_TIME_SERIES,
            tuple(s for n in rule.needs for s in n.any_of[:1]),
            HOW_TO_GET_TIME,
        )
    )


HOW_TO_GET_TIME = (
    "give a metrics API (http://prometheus:9090), or dumps saved every few seconds with --interval"
)


def _met(need: Need, facts: Facts) -> bool:
    return any(
        bool(facts.has(signal).any()) and max(facts.resolution, default=Resolution.SNAPSHOT) >= need.at_least
        for signal in need.any_of
    ) or any(facts.setting(i, *need.any_of) is not None for i in range(facts.size))


def _unmet(rule: Rule, needs: list[Need], facts: Facts) -> NotEvaluated:
    signals = tuple(need.any_of[0] for need in needs)
    engine = engines.engine_named(facts.engine)
    how = next((need.how_to_get for need in needs if need.how_to_get), "")
    if all(any(facts.has(s).any() for s in need.any_of) for need in needs):
        return NotEvaluated(rule.slug, Reason.NEEDS_TIME_SERIES, signals, how or HOW_TO_GET_TIME)
    hints = engine.not_exported if engine else {}
    if any(s in hints for s in signals):
        return NotEvaluated(
            rule.slug,
            Reason.NOT_EXPORTED_BY_ENGINE,
            signals,
            how or "; ".join(hints[s] for s in signals if s in hints),
        )
    default = f"give metrics of the engine that carry {', '.join(signals)}"
    return NotEvaluated(rule.slug, Reason.NOT_IN_THIS_INPUT, signals, how or default)


def _finding(rule: Rule, draft: Draft, facts: Facts, matchers: str, base: str | None) -> Finding:
    value, because = confidence(draft, rule.support, engines.engine_named(facts.engine))
    queries = [q for r in draft.verify if (q := promql(r, facts.engine, matchers)) is not None]
    return Finding(
        code=rule.code,
        rule=rule.slug,
        title=rule.title,
        variant=draft.variant,
        severity=draft.severity,
        role=draft.role,
        confidence=value,
        confidence_because=because,
        scope=Scope(facts.deployment, facts.model, facts.names(draft.replicas)),
        window=draft.window,
        summary=draft.summary,
        explanation=draft.explanation,
        evidence=draft.evidence,
        chart=draft.chart,
        impact=draft.impact,
        remedies=draft.remedies,
        do_not=draft.do_not,
        refuted_by=draft.refuted_by,
        verify=tuple(Query(q) for q in dict.fromkeys(queries)),
        explains=draft.explains,
        runbook=runbook_link(rule.slug, base),
    )


def runbook_link(slug: str, base: str | None) -> str:
    """Where the runbook of a rule is: below a base address, else the command that prints it."""
    return f"{base.rstrip('/')}/{slug}" if base else f"diagnose explain {slug}"
