"""The words of a report as frozen texts, one type a card."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.model.findings import Role, Severity
from diagnostics.model.report import Status


class VerdictCard(Struct, frozen=True):
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


class RemedyLine(Struct, frozen=True):
    """One change: the sentence, and the exact setting to copy where there is one."""

    text: str
    change: str
    copy: str
    restart: bool
    expected: str
    risk: str
    undo: str


class EvidenceRow(Struct, frozen=True):
    """One number that decided; every field ready to print."""

    signal: str
    statistic: str
    value: str
    comparison: str
    threshold: str
    replica: str
    provenance: str


class FindingCard(Struct, frozen=True):
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
    team_runbook: str | None
    explains: tuple[str, ...]
    evidence: tuple[EvidenceRow, ...]


class HealthyCard(Struct, frozen=True):
    """A calm page: one sentence, and how far the limits are. ``headroom`` holds (what, how much)."""

    sentence: str
    headroom: tuple[tuple[str, str], ...]


class CheckedCard(Struct, frozen=True):
    """What was looked at and is fine."""

    title: str
    rules: tuple[str, ...]
    suppressed: tuple[str, ...]


class UncheckedRow(Struct, frozen=True):
    """One rule that could not be asked: why, and how to make it so."""

    rule: str
    reason: str
    missing: str
    how: str


class UncheckedCard(Struct, frozen=True):
    """What could not be looked at."""

    title: str
    rows: tuple[UncheckedRow, ...]


class InputRow(Struct, frozen=True):
    """One input: what it is, and what became of it."""

    source: str
    kind: str
    engine: str
    replicas: int
    samples: str
    recognised: str
    warnings: tuple[str, ...]


class InputsCard(Struct, frozen=True):
    """Everything that was read. ``used`` inputs told something, ``unused`` ones did not."""

    title: str
    window: str
    used: tuple[InputRow, ...]
    unused: tuple[InputRow, ...]
