"""What became of each finding: resolved, better, unchanged, worse, or it cannot be told."""

from __future__ import annotations

import math

from msgspec import Struct

from diagnostics.compare.measures import NOISE
from diagnostics.evaluate.registry import rule_named
from diagnostics.evaluate.runner import Results
from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.model.comparison import FindingChange, Outcome
from diagnostics.model.findings import Evidence, Finding, Severity
from diagnostics.model.samples import Provenance

# Share of the time seen by which a finding must hold longer or shorter to be worse or better.
SHARE = 0.1
# Rules about a limit that only a load can reach: with less load, silence proves nothing.
NEEDS_LOAD = frozenset({"scheduler", "memory", "host"})
_ABOVE, _BELOW = (">", ">="), ("<", "<=")


class Side(Struct, frozen=True):
    """One side of a comparison: the deployment as rules saw it, and what they said of it."""

    facts: Facts
    results: Results
    findings: list[Finding]

    def unanswered(self, slug: str) -> str | None:
        """Why a rule could not look, in words; None where it could."""
        return next((n.reason.replace("-", " ") for n in self.results.not_evaluated if n.rule == slug), None)


def outcomes(before: Side, after: Side, load_factor: float | None) -> tuple[FindingChange, ...]:
    """Each earlier finding with what became of it, then the new ones.

    Args:
        before: the earlier side.
        after: the later side.
        load_factor: work arriving after by before where it moved beyond noise, else None.
    """
    earlier = _by_rule(before.findings)
    later = _by_rule(after.findings)
    found = [_of(f, later.get(slug), after, load_factor) for slug, f in earlier.items()]
    fresh = [
        FindingChange(f.rule, f.variant, "new", _fresh(slug, before))
        for slug, f in later.items()
        if slug not in earlier and f.severity is not Severity.INFO
    ]
    return (*found, *fresh)


def _by_rule(findings: list[Finding]) -> dict[str, Finding]:
    """The loudest finding of each rule, in the order in which they were ranked."""
    found: dict[str, Finding] = {}
    for finding in findings:
        known = found.get(finding.rule)
        if known is None or finding.severity.rank < known.severity.rank:
            found[finding.rule] = finding
    return found


def _fresh(slug: str, before: Side) -> str:
    reason = before.unanswered(slug)
    return f"could not be checked before ({reason})" if reason else "not found before"


def _of(old: Finding, new: Finding | None, after: Side, load_factor: float | None) -> FindingChange:
    if new is not None:
        outcome, why = _still(old, new)
        return FindingChange(old.rule, old.variant, outcome, why)
    if old.rule not in after.results.passed:
        why = f"could not be checked after ({after.unanswered(old.rule) or 'not asked'})"
        return FindingChange(old.rule, old.variant, "cannot-tell", why)
    rule = rule_named(old.rule)
    if load_factor is not None and load_factor < 1 and rule is not None and rule.family in NEEDS_LOAD:
        why = f"no longer seen, but only {load_factor:.2g} times the work arrives: the limit was not put to the test"
        return FindingChange(old.rule, old.variant, "cannot-tell", why)
    return FindingChange(old.rule, old.variant, "resolved", "looked for again and not found")


def _still(old: Finding, new: Finding) -> tuple[Outcome, str]:
    """Better or worse by severity, else by how long it held, else by the evidence that moved most."""
    if old.severity is not new.severity:
        quieter = new.severity.rank > old.severity.rank
        return ("better" if quieter else "worse"), f"{old.severity.value} before, {new.severity.value} after"
    a, b = old.window.share_of_window, new.window.share_of_window
    if a is not None and b is not None and abs(a - b) >= SHARE:
        return (
            "worse" if b > a else "better"
        ), f"held for {words.percent(a)} of the time before and {words.percent(b)} after"
    moved = [
        m
        for e in old.evidence
        if (m := _moved(e, new.evidence)) is not None and abs(m[0]) > math.log1p(NOISE)
    ]
    if not moved:
        return "unchanged", "its evidence is the same within noise"
    size, why = max(moved, key=lambda m: abs(m[0]))
    return ("worse" if size > 0 else "better"), why


def _moved(old: Evidence, evidence: tuple[Evidence, ...]) -> tuple[float, str] | None:
    """How far one number went into its limit (positive: further), as the log of a factor, and in words.

    Both sides are held against their own limit: a batch that fills a larger cap is as full as before.
    """
    new = next((e for e in evidence if (e.signal, e.statistic) == (old.signal, old.statistic)), None)
    if new is None or new.provenance is Provenance.LIFETIME or old.comparison not in (*_ABOVE, *_BELOW):
        return None
    if not old.threshold or not new.threshold:
        return None
    ratio = (new.value / new.threshold) / (old.value / old.threshold) if old.value and new.value else math.nan
    if not math.isfinite(ratio) or ratio <= 0:
        return None
    size = math.log(ratio) if old.comparison in _ABOVE else -math.log(ratio)
    return (
        size,
        f"{old.signal}, {old.statistic}: {old.value:.3g} before, {new.value:.3g} after {new.unit}".rstrip(),
    )
