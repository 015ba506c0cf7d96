"""One deployment judged: its rules asked, its findings ranked, its verdict said."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.evaluate import preferences
from diagnostics.evaluate.causes import rank
from diagnostics.evaluate.registry import all_rules
from diagnostics.evaluate.runner import Results, run_rules
from diagnostics.evaluate.verdict import coverage, verdict
from diagnostics.execute.facts import Facts
from diagnostics.model.findings import Finding
from diagnostics.model.report import Verdict
from diagnostics.options import Options


class Judged(Struct):
    """One deployment with its verdict."""

    facts: Facts
    results: Results
    findings: list[Finding]
    verdict: Verdict


def judge(facts: Facts, options: Options) -> Judged:
    """Ask every rule of a deployment."""
    rules = [r for r in all_rules() if not options.only or r.slug in options.only]
    results = run_rules(rules, facts, matchers=options.select, runbook_base=options.runbook_base)
    preferences.apply(results, options.configuration, options.ignore)
    ranked = rank(results.findings)
    return Judged(facts, results, ranked, verdict(facts, ranked, results.suppressed))


def answered(judged: Judged) -> tuple[str, ...]:
    """The rules that could be asked of a deployment."""
    fired = {f.rule for f in judged.findings}
    return tuple(sorted(fired | set(judged.results.passed) | set(judged.results.suppressed)))


_ORDER = {"findings": 0, "insufficient-data": 1, "healthy": 2}


def worst_first(judged: list[Judged]) -> list[Judged]:
    """Deployments by status, by their loudest finding, by how much of them was seen."""

    def key(j: Judged) -> tuple[int, int, float]:
        loudest = min((f.severity.rank for f in j.findings), default=9)
        return (_ORDER[j.verdict.status], loudest, -coverage(j.facts))

    return sorted(judged, key=key)
