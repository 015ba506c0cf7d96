"""The answer to "what changed, did it help" in a few sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from diagnostics.execute import words
from diagnostics.model.comparison import SMALL_FACTOR, Change, FindingChange, Kind, SettingChange

_FELT = ("time to first token, mean", "gap between tokens, mean", "generated tokens", "whole request, mean")
_LISTED = 3
_BINDING = {
    "cap": "the concurrency cap", "kv-memory": "KV cache memory", "preempting": "KV cache memory, with preemptions",
    "token-budget": "the token budget of a step", "queueing": "something that makes requests queue",
    "none": "no limit", "undecided": "it cannot be told which limit",
}  # fmt: skip
_OPENINGS: dict[Kind, str] = {
    "fault": "It got worse without a deploy and without a shift of traffic: look for a fault of the server, its machine "
    "or what lies behind it",
    "improvement": "It got better without a deploy and without a shift of traffic that this input shows",
    "unexplained": "The traffic is the same; whether settings differ is not in the inputs: give the log or the launch command "
    "of both sides",
    "unchanged": "Nothing that people feel moved beyond noise",
    "cannot-tell": "Too little was seen on one of the sides to tell what changed",
}


def answer(
    kind: Kind,
    settings: Sequence[SettingChange],
    changes: Sequence[Change],
    found: Sequence[FindingChange],
    binding: tuple[str, str],
    *,
    ruled_out: bool,
) -> str:
    """What happened, what it did, what became of the findings, and which limit binds now."""
    parts = [
        _happened(kind, settings, changes, ruled_out),
        *_felt(changes),
        *_findings(found),
        _binds(binding),
    ]
    return " ".join(f"{p[:1].upper()}{p[1:]}." for p in parts if p)


def _happened(
    kind: Kind, settings: Sequence[SettingChange], changes: Sequence[Change], ruled_out: bool
) -> str:
    if kind in _OPENINGS:
        return _OPENINGS[kind]
    deployed = _deployed(settings)
    shifted = _shifted(changes)
    if kind == "deploy":
        return f"a deploy, under the same traffic: {deployed}"
    if kind == "restart":
        shown = "" if ruled_out else " that this input shows"
        return f"processes were started anew with no change of settings{shown}: a restart or a crash, under the same traffic"
    if kind == "traffic":
        known = (
            " and nothing was deployed"
            if ruled_out
            else " (whether anything was deployed is not in the inputs)"
        )
        return f"traffic shifted{known}: {shifted}"
    return f"both a deploy ({deployed}) and a shift of traffic ({shifted}), so the effect of either alone cannot be told"


def _deployed(settings: Sequence[SettingChange]) -> str:
    named = [f"{s.name} {s.before or 'unset'} to {s.after or 'unset'}" for s in settings[:_LISTED]]
    more = len(settings) - len(named)
    named += [f"{more} more settings"] if more > 0 else []
    return ", ".join(named)


def _shifted(changes: Sequence[Change]) -> str:
    moved = [c for c in changes if c.moved and c.aspect == "traffic"]
    return ", ".join(step(c) for c in moved[:_LISTED])


def _felt(changes: Sequence[Change]) -> Iterator[str]:
    """What people feel, the better and the worse apart: a change can buy one with the other."""
    by_name = {c.name: c for c in changes}
    felt = [c for name in _FELT if (c := by_name.get(name)) is not None and c.moved]
    for verb, better in (("better", True), ("worse", False)):
        steps = [step(c) for c in felt if c.better is better]
        if steps:
            yield f"{verb}: {', '.join(steps)}"


def step(change: Change) -> str:
    """One change in words: from what to what, and by which factor."""
    if change.before is None or change.after is None:
        return change.name
    by = f" ({factor(change.factor)})" if change.factor else ""
    return f"{change.name} {amount(change.before, change.unit)} to {amount(change.after, change.unit)}{by}"


def amount(value: float, unit: str) -> str:
    """A number with its unit."""
    if unit == "s":
        return words.seconds(value)
    return words.percent(value) if unit == "ratio" else f"{words.number(value)} {unit}"


def factor(value: float) -> str:
    """A factor as people say it: 3.1 times, or 1/218."""
    return f"{value:.3g} times" if value >= SMALL_FACTOR else f"1/{1 / value:.0f}"


def _findings(found: Sequence[FindingChange]) -> Iterator[str]:
    for outcome, verb in (
        ("resolved", "resolved"), ("better", "milder"), ("worse", "more severe"), ("unchanged", "unchanged"),
        ("cannot-tell", "whether it is gone cannot be told"), ("new", "new"),
    ):  # fmt: skip
        named = [f.rule for f in found if f.outcome == outcome]
        if named:
            yield f"{verb}: {', '.join(named)}"


def _binds(binding: tuple[str, str]) -> str:
    before, now = (_BINDING[b] for b in binding)
    if binding[1] == "undecided":
        return "Which limit binds now cannot be told"
    return f"What binds now is {now}" + (
        f", before it was {before}" if binding[0] != binding[1] else ", as before"
    )
