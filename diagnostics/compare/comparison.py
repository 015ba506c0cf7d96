"""Before and after of one deployment: what moved, what became of each finding, and whether it was deploy or traffic."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import replace

from diagnostics.compare import sentence
from diagnostics.compare.measures import (
    ARRIVING,
    ERRORS,
    LEAST,
    MEASURES,
    NOISE,
    UNDER,
    Measure,
    Value,
    allowance,
    enough,
    regime_measures,
    values,
)
from diagnostics.compare.outcomes import Side, outcomes
from diagnostics.compare.settings import changed_settings, told_settings
from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.model.comparison import Change, Comparison, Kind, Stretch
from diagnostics.model.report import Regime
from diagnostics.model.requests import Stat
from diagnostics.signals.regimes import SATURATED

__all__ = ["Side", "compare", "compare_worst"]

NOISE_IN_WORDS = (
    f"a change counts from {100 * NOISE:.0f} % on (one server twice under equal requests differed by up to 9 %) and beyond "
    f"{ERRORS:g} standard errors of what was counted; fewer than {LEAST} observations are not judged"
)
# Two process starts further apart than this are two processes.
_SAME_START = 1.0


def compare_worst(
    earlier: Sequence[Side], later: Sequence[Side], *, asked: str, same_servers: bool
) -> Comparison | None:
    """Compare the deployment that matters most now with itself before; None where there is nothing on a side.

    Deployments are matched by name; where each side has one only, they are the two.

    Args:
        earlier: deployments of the earlier side, or of the baseline.
        later: deployments of the later side, worst first.
        asked: the question, as the user put it.
        same_servers: whether both sides are the same processes at two times.
    """
    if len(earlier) == len(later) == 1:
        return compare(earlier[0], later[0], asked=asked, same_servers=same_servers)
    by_name = {side.facts.deployment: side for side in earlier}
    pair = next(((by_name[s.facts.deployment], s) for s in later if s.facts.deployment in by_name), None)
    return compare(*pair, asked=asked, same_servers=same_servers) if pair else None


def compare(before: Side, after: Side, *, asked: str, same_servers: bool) -> Comparison:
    """What differs between two sides, ranked by how much it moved, and what became of each earlier finding."""
    changes = _changes(values(before.facts), values(after.facts))
    load = _load(changes)
    changes = tuple(_follows(c, load) for c in changes)
    settings = changed_settings(before.facts, after.facts)
    restarted = _restarted(before.facts, after.facts) if same_servers else None
    # Settings do not change without a restart.
    ruled_out = restarted is False or told_settings(before.facts, after.facts)
    kind = _kind(changes, deployed=bool(settings), restarted=bool(restarted), ruled_out=ruled_out)
    found = outcomes(before, after, load)
    names = ("before", "after") if same_servers else ("baseline", "now")
    binding = _binding(before.facts), _binding(after.facts)
    return Comparison(
        asked=asked,
        deployment=after.facts.deployment,
        kind=kind,
        sentence=sentence.answer(kind, settings, changes, found, binding, ruled_out=ruled_out),
        before=_stretch(before.facts, names[0]),
        after=_stretch(after.facts, names[1]),
        binding_before=binding[0],
        binding_now=binding[1],
        noise=NOISE_IN_WORDS,
        restarted=restarted,
        settings=settings,
        changes=changes,
        findings=found,
    )


def _stretch(facts: Facts, name: str) -> Stretch:
    return Stretch(name, facts.observed.start, facts.observed.end)


def _changes(before: dict[str, Value], after: dict[str, Value]) -> tuple[Change, ...]:
    """Every number that a side tells; what moved first, the one that moved most at the head."""
    found = [
        (_change(m, before[m.name], after[m.name]), m)
        for m in (*MEASURES, *regime_measures())
        if not (math.isnan(before[m.name].value) and math.isnan(after[m.name].value))
    ]
    shown = [(c, m) for c, m in found if c.before or c.after]
    ordered = sorted(
        shown, key=lambda pair: (not pair[0].moved, -_size(pair[0].before or 0, pair[0].after or 0, pair[1]))
    )
    return tuple(change for change, _ in ordered)


def _size(before: float, after: float, measure: Measure) -> float:
    """How much a number moved, as the log of a factor; what lies below the floor counts as the floor."""
    return abs(math.log(max(after, measure.floor) / max(before, measure.floor)))


def _change(measure: Measure, before: Value, after: Value) -> Change:
    a, b = (None if math.isnan(v.value) else v.value for v in (before, after))
    noise = allowance(measure, before, after)
    moved = better = None
    if a is not None and b is not None and enough(measure, before, after):
        moved = abs(b - a) >= measure.floor and _size(a, b, measure) > math.log(noise)
        better = (b < a) == (measure.better == "lower") if moved and measure.better is not None else None
    return Change(
        measure.name,
        measure.aspect,
        a,
        b,
        measure.unit,
        factor=b / a if a is not None and b is not None and a >= measure.floor else None,
        noise=round(noise, 3),
        moved=moved,
        better=better,
    )


def _restarted(before: Facts, after: Facts) -> bool | None:
    """Whether a process started anew between the sides or within the later one; None where no start is told."""
    starts, later = (
        dict(zip((e.label for e in f.entities), f.column("start_time", Stat.LAST).tolist(), strict=True))
        for f in (before, after)
    )
    common = [(starts[name], later[name]) for name in starts.keys() & later.keys()]
    if not common:
        return True
    known = [(a, b) for a, b in common if not (math.isnan(a) or math.isnan(b))]
    return any(abs(a - b) > _SAME_START for a, b in known) if known else None


def _kind(changes: tuple[Change, ...], *, deployed: bool, restarted: bool, ruled_out: bool) -> Kind:
    """A deploy or a shift of traffic explains what moved; worse without either is a fault.

    Args:
        changes: every number.
        deployed: whether settings, version or replicas differ.
        restarted: whether processes were started anew.
        ruled_out: whether a deploy that is not seen can be ruled out.
    """
    moved = [c for c in changes if c.moved]
    shifted = any(c.aspect == "traffic" and not (c.name == ARRIVING and _was_down(moved)) for c in moved)
    if not any(c.moved is not None for c in changes):
        return "cannot-tell"
    if deployed and shifted:
        return "both"
    if deployed or shifted:
        return "deploy" if deployed else "traffic"
    if restarted:
        return "restart"
    felt = [c for c in moved if c.better is not None]
    if not felt:
        return "unchanged"
    if not ruled_out:
        return "unexplained"
    return "fault" if any(c.better is False for c in felt) else "improvement"


def _was_down(moved: list[Change]) -> bool:
    """Whether a side has more downtime: a server that is down counts no arrivals, so they seem fewer."""
    return any(c.name == f"{UNDER}{Regime.DOWN}" for c in moved)


def _follows(change: Change, load: float | None) -> Change:
    """A throughput that went the way of the work arriving is neither better nor worse."""
    if change.aspect != "throughput" or load is None or change.factor is None:
        return change
    return replace(change, better=None) if (change.factor > 1) == (load > 1) else change


def _load(changes: tuple[Change, ...]) -> float | None:
    """Work arriving, after by before: requests times prompt and answer lengths; None where it did not move."""
    by_name = {c.name: c for c in changes}
    arriving = [
        c.factor
        for name in (ARRIVING, "prompt length, mean", "answer length, mean")
        if (c := by_name.get(name)) is not None and c.moved and c.factor
    ]
    return math.prod(arriving) if arriving else None


def _binding(facts: Facts) -> str:
    """The limit that bound for longest, if for long enough to matter; else ``none``, or ``undecided``."""
    observed = sum(c.observed for c in facts.courses)
    held = {r: sum(c.seconds(r) for c in facts.courses) for r in SATURATED}
    longest = max(held, key=lambda r: held[r])
    if words.matters(held[longest], observed):
        return longest.value
    decided = sum(c.decided for c in facts.courses)
    return "none" if observed and decided >= observed / 2 else "undecided"
