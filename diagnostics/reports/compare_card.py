"""A comparison in words: pure, for every format and the page."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.model.comparison import (
    SMALL_FACTOR,
    Change,
    Comparison,
    Kind,
    Outcome,
    SettingChange,
    Stretch,
)
from diagnostics.model.report import Regime
from diagnostics.reports.ribbon import MEANING
from diagnostics.reports.theme import clock, date, format_value, number

TITLE = "What changed, and did it help"
_KINDS: dict[Kind, str] = {
    "deploy": "a deploy",
    "traffic": "a shift of traffic",
    "both": "a deploy and a shift of traffic",
    "restart": "a restart or a crash",
    "fault": "worse without a deploy or a shift of traffic",
    "improvement": "better without a deploy or a shift of traffic",
    "unexplained": "a difference whose cause is not in the inputs",
    "unchanged": "nothing beyond noise",
    "cannot-tell": "too little seen to tell",
}
_OUTCOMES: dict[Outcome, str] = {
    "resolved": "resolved",
    "better": "better",
    "unchanged": "unchanged",
    "worse": "worse",
    "cannot-tell": "cannot tell",
    "new": "new",
}


class ChangeRow(Struct, frozen=True):
    """One number on both sides; every field ready to print. ``judged`` is better, worse, moved, same or unknown."""

    name: str
    before: str
    after: str
    factor: str
    judged: str


class OutcomeRow(Struct, frozen=True):
    """What became of one finding."""

    rule: str
    outcome: str
    because: str


class ComparisonCard(Struct, frozen=True):
    """A comparison in words.

    Attributes:
        kind: what kind of change it was.
        sentence: the answer.
        sides: name and time of both sides.
        names: of both sides, for the heads of tables.
        binding: which limit bound on both sides.
        settings: (name, before, after).
        moved: numbers that moved beyond noise, the one that moved most first.
        same: the others.
        findings: what became of each.
        noise: where the limit of noise comes from.
    """

    asked: str
    kind: str
    sentence: str
    sides: tuple[str, str]
    names: tuple[str, str]
    binding: str
    settings: tuple[tuple[str, str, str], ...]
    moved: tuple[ChangeRow, ...]
    same: tuple[ChangeRow, ...]
    findings: tuple[OutcomeRow, ...]
    noise: str


def comparison_card(found: Comparison) -> ComparisonCard:
    """The card of a comparison."""
    rows = [(c, _row(c)) for c in found.changes]
    return ComparisonCard(
        asked=found.asked,
        kind=_KINDS[found.kind],
        sentence=found.sentence,
        sides=(_side(found.before), _side(found.after)),
        names=(found.before.name, found.after.name),
        binding=f"{_limit(found.binding_before)}, then {_limit(found.binding_now)}"
        if found.binding_before != found.binding_now
        else f"{_limit(found.binding_now)} on both sides",
        settings=tuple(_setting(s) for s in found.settings),
        moved=tuple(row for change, row in rows if change.moved),
        same=tuple(row for change, row in rows if not change.moved),
        findings=tuple(
            OutcomeRow(f"{f.rule}/{f.variant}" if f.variant else f.rule, _OUTCOMES[f.outcome], f.because)
            for f in found.findings
        ),
        noise=found.noise,
    )


def _row(change: Change) -> ChangeRow:
    judged = {True: "better", False: "worse", None: "moved" if change.moved else "same"}[change.better]
    if change.moved is None:
        judged = "unknown"
    return ChangeRow(
        change.name, _value(change.before, change.unit), _value(change.after, change.unit),
        _factor(change.factor), judged,
    )  # fmt: skip


def _value(value: float | None, unit: str) -> str:
    return "unknown" if value is None else format_value(value, unit)


def _factor(factor: float | None) -> str:
    """How many times as much; of less than a hundredth, the part that is left."""
    if not factor:
        return ""
    return f"{number(factor)} times" if factor >= SMALL_FACTOR else f"1/{number(1 / factor)}"


def _side(stretch: Stretch) -> str:
    if stretch.start is None or stretch.end is None:
        return f"{stretch.name}: the input has no time"
    return f"{stretch.name}: {date(stretch.start)} {clock(stretch.start)} to {clock(stretch.end)} UTC"


def _limit(name: str) -> str:
    return "no limit" if name == "none" else MEANING[Regime(name)]


def _setting(change: SettingChange) -> tuple[str, str, str]:
    return change.name, change.before or "unset", change.after or "unset"
