"""What differs between two stretches of time, or two deployments: the vocabulary of a comparison."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

# A factor of a tenth and less is easier to grasp upside down: 1/12.
SMALL_FACTOR = 0.1

Kind = Literal[
    "deploy", "traffic", "both", "restart", "fault", "improvement", "unexplained", "unchanged", "cannot-tell"
]  # fmt: skip
Aspect = Literal["traffic", "cache", "latency", "throughput", "saturation"]
Outcome = Literal["resolved", "better", "unchanged", "worse", "cannot-tell", "new"]


class Stretch(Struct, frozen=True):
    """One side: what it is in words, and its time in Unix seconds (None where the input has none)."""

    name: str
    start: float | None
    end: float | None


class Change(Struct, frozen=True):
    """One number on both sides.

    Attributes:
        name: what was measured, in words.
        aspect: what it is about.
        before, after: in ``unit``; None where that side does not tell.
        unit: a unit of the signal catalogue.
        factor: after by before; None where one is missing, or the earlier is next to nothing.
        noise: the factor, above 1, that chance alone reaches here.
        moved: whether the change is beyond noise; None where a side is missing or saw too little.
        better: whether the change is for the better; None where it did not move, or is neither.
    """

    name: str
    aspect: Aspect
    before: float | None
    after: float | None
    unit: str
    factor: float | None
    noise: float
    moved: bool | None
    better: bool | None


class SettingChange(Struct, frozen=True):
    """One setting that is not the same on both sides; None where a side does not say."""

    name: str
    before: str | None
    after: str | None


class FindingChange(Struct, frozen=True):
    """What became of one finding, and why that is said."""

    rule: str
    variant: str | None
    outcome: Outcome
    because: str


class Comparison(Struct, frozen=True):
    """Before and after of one deployment.

    Attributes:
        asked: the question, as the user put it.
        deployment: whom it is about.
        kind: a deploy (settings, version or replicas changed), a shift of traffic, both, a restart with nothing changed
            (a crash looks like this too), a fault (worse without any of these),
            unexplained (whether settings differ is not in the inputs), or none.
        sentence: the answer.
        binding_before, binding_now: the regime that bound for longest, or ``none``.
        noise: where the limits of noise come from.
        restarted: whether processes were started anew in between; None where no side tells.
        settings: version and settings that changed.
        changes: every number, those that moved first, the one that moved most at the head.
        findings: each earlier finding, then new ones.
    """

    asked: str
    deployment: str
    kind: Kind
    sentence: str
    before: Stretch
    after: Stretch
    binding_before: str
    binding_now: str
    noise: str
    restarted: bool | None
    settings: tuple[SettingChange, ...]
    changes: tuple[Change, ...]
    findings: tuple[FindingChange, ...]
