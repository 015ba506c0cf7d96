"""The words of a report as frozen texts, one type a card."""

from __future__ import annotations

from dataclasses import dataclass

from diagnostics.model.findings import Role, Severity
from diagnostics.model.report import Status


@dataclass(frozen=True, slots=True)
class VerdictCard:
    """The first thing to read.

    Attributes:
        status: the verdict's status.
        headline: one sentence: what is wrong.
        what_to_do: one or two sentences; empty where nothing is to be done.
        runner_up: the second most likely cause and what tells them apart; empty where there is none.
        confidence: sure, likely or possible; empty without a finding.
        since: when it began, in words; empty where unknown.
        coverage: how much of the time was judged, in words.
        collect_next: commands that would settle what is open.
    """

    status: Status
    headline: str
    what_to_do: str
    runner_up: str
    confidence: str
    since: str
    coverage: str
    collect_next: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RemedyLine:
    """One change: the sentence, and the exact setting to copy where there is one."""

    text: str
    change: str
    copy: str
    restart: bool
    expected: str
    risk: str
    undo: str


@dataclass(frozen=True, slots=True)
class EvidenceRow:
    """One number that decided; every field ready to print."""

    signal: str
    statistic: str
    value: str
    comparison: str
    threshold: str
    replica: str
    provenance: str


@dataclass(frozen=True, slots=True)
class FindingCard:
    """One finding in words; ``key`` is unique in a report and fit for an anchor."""

    key: str
    title: str
    code: str
    rule: str
    variant: str
    severity: Severity
    role: Role
    confidence: str
    confidence_because: str
    scope: str
    window: str
    saw: str
    why: str
    impact: str
    now: tuple[RemedyLine, ...]
    next_rollout: tuple[RemedyLine, ...]
    capacity: tuple[RemedyLine, ...]
    do_not: tuple[str, ...]
    wrong_if: str
    verify: tuple[str, ...]
    runbook: str
    explains: tuple[str, ...]
    evidence: tuple[EvidenceRow, ...]


@dataclass(frozen=True, slots=True)
class HealthyCard:
    """A calm page: one sentence, and how far the limits are. ``headroom`` holds (what, how much)."""

    sentence: str
    headroom: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CheckedCard:
    """What was looked at and is fine."""

    title: str
    rules: tuple[str, ...]
    suppressed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UncheckedRow:
    """One rule that could not be asked: why, and how to make it so."""

    rule: str
    reason: str
    missing: str
    how: str


@dataclass(frozen=True, slots=True)
class UncheckedCard:
    """What could not be looked at."""

    title: str
    rows: tuple[UncheckedRow, ...]


@dataclass(frozen=True, slots=True)
class InputRow:
    """One input: what it is, and what became of it."""

    source: str
    kind: str
    engine: str
    replicas: int
    samples: str
    recognised: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputsCard:
    """Everything that was read. ``used`` inputs told something, ``unused`` ones did not."""

    title: str
    window: str
    used: tuple[InputRow, ...]
    unused: tuple[InputRow, ...]
