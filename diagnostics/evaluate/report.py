"""The report: the deployments as they were judged, in the words of the contract."""

from __future__ import annotations

import time

from msgspec import Struct

from diagnostics.evaluate.collect import collect_next
from diagnostics.evaluate.judgement import Judged
from diagnostics.evaluate.verdict import since, worst_regime
from diagnostics.execute.ttft import time_to_first_token
from diagnostics.model.report import (
    SCHEMA_VERSION,
    DeploymentSummary,
    InputSummary,
    NotEvaluated,
    ReplicaRegimes,
    Report,
    ReportWindow,
    Verdict,
)
from diagnostics.model.samples import Capture
from diagnostics.options import TOOL


class Seen(Struct, frozen=True):
    """The time that samples cover, in Unix seconds, and the usual spacing of scrapes in seconds."""

    start: float | None
    end: float | None
    step: float | None


def report_of(
    inputs: list[InputSummary], captures: list[Capture], ordered: list[Judged], seen: Seen
) -> Report:
    """The report of all deployments.

    Args:
        inputs: what became of each input.
        captures: what was read, for where its times come from.
        ordered: the deployments, worst first; the verdict is that of the first.
        seen: the time that was covered.
    """
    first = ordered[0] if ordered else None
    basis = "; ".join(dict.fromkeys(c.time_basis for c in captures if c.series)) or "no times"
    not_evaluated = _merged([n for j in ordered for n in j.results.not_evaluated], ordered)
    return Report(
        schema_version=SCHEMA_VERSION,
        generated_at=time.time(),
        tool=TOOL,
        window=ReportWindow(seen.start, seen.end, seen.step, basis),
        inputs=tuple(inputs),
        deployments=tuple(
            DeploymentSummary(
                j.facts.deployment, j.facts.model, j.facts.engine, len({e.replica for e in j.facts.entities}),
                j.verdict.status, worst_regime(j.facts), since(j.facts, j.findings),
            )
            for j in ordered
        ),
        verdict=first.verdict if first else _nothing(),
        findings=tuple(f for j in ordered for f in j.findings),
        regimes=tuple(
            ReplicaRegimes(e.label, tuple(c.segments))
            for j in ordered
            for e, c in zip(j.facts.entities, j.facts.courses, strict=True)
        ),
        time_to_first_token=tuple(t for j in ordered for t in time_to_first_token(j.facts)),
        not_evaluated=not_evaluated,
        collect_next=collect_next(first.facts, first.verdict) if first else (),
        suppressed={k: v for j in ordered for k, v in j.results.suppressed.items()},
        passed=tuple(sorted({p for j in ordered for p in j.results.passed})),
    )  # fmt: skip


def _nothing() -> Verdict:
    sentence = "Nothing known was found in the input, so nothing can be said about the server."
    return Verdict("insufficient-data", None, None, "", 0.0, sentence)


def _merged(entries: list[NotEvaluated], judged: list[Judged]) -> tuple[NotEvaluated, ...]:
    """One entry a rule; a rule that was answered on some deployment is not listed."""
    answered = {p for j in judged for p in j.results.passed} | {f.rule for j in judged for f in j.findings}
    return tuple({n.rule: n for n in entries if n.rule not in answered}.values())
