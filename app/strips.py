"""Rows of bars as plain HTML: the ribbon of regimes, and the stages of the time to first token.

They are drawn at once and need no script; a stretch with ``data-stretch`` is chosen by a click (``gestures``).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo

from app.words import block, markup, zone_name, zone_of
from diagnostics.model.report import Regime, ReplicaRegimes, Report, Segment
from diagnostics.reports.cards import STAGES
from diagnostics.reports.charts.base import short_names, worst_first
from diagnostics.reports.charts.stages import slowest_first, spells
from diagnostics.reports.escape import terminal
from diagnostics.reports.ribbon import CALM, LETTER, MEANING, longest, merged, span
from diagnostics.reports.theme import duration

SHOWN, NAME = 12, 14
_TICKS = 7
_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def ribbon(report: Report, zone: str | None = None, rows: int = SHOWN) -> str:
    """One row a replica, worst first, with letters in the stretches; empty where there is no time.

    Args:
        report: the report.
        zone: the viewer's, by name; None for UTC.
        rows: show so many replicas; the others are counted in a line below.
    """
    whole = span(report.regimes)
    if whole is None or whole[1] <= whole[0]:
        return ""
    names = worst_first(report)
    by_name, short = {r.replica: r for r in report.regimes}, short_names(names[:rows], NAME)
    shown = [by_name[n] for n in names[:rows]]
    clock = zone_of(zone) or UTC
    body = "".join(_row(r, short[r.replica], whole, clock) for r in shown)
    present = {(s.regime, s.inferred) for r in shown for s in merged(r)}
    more = _others([by_name[n] for n in names[rows:]])
    return block(f"{body}{_axis(whole, clock, zone_name(whole[0], zone))}{_legend(present)}{more}", "d-rows")


def _row(replica: ReplicaRegimes, name: str, whole: tuple[float, float], zone: tzinfo) -> str:
    bars = "".join(_stretch(part, whole, zone, replica.replica) for part in merged(replica))
    return (
        f'<div class="d-row"><span class="d-name" title="{markup(terminal(replica.replica))}">{name}</span>'
        f'<div class="d-bar">{bars}</div><span class="d-end">{markup(longest(replica))}</span></div>'
    )


def _stretch(part: Segment, whole: tuple[float, float], zone: tzinfo, name: str) -> str:
    """One stretch: how much of its words is seen depends on its width."""
    begin, length = whole[0], whole[1] - whole[0]
    left, width = 100 * (part.start - begin) / length, 100 * (part.end - part.start) / length
    meaning = MEANING[part.regime] + (", inferred" if part.inferred else "")
    said = f"{_clock(part.start, zone)} to {_clock(part.end, zone)}, {duration(part.end - part.start)}: {meaning}"
    # Stretches without a limit are no stops of the tabulator key.
    kind = "span" if part.regime in CALM else "button"
    return (
        f'<{kind} class="d-r-{part.regime.value}" style="left:{left:.2f}%;width:{width:.2f}%" '
        f'data-stretch="{part.start:.0f} {part.end:.0f}" title="{markup(f"{terminal(name)}, {said}")}"></{kind}>'
    )


def _clock(seconds: float, zone: tzinfo) -> str:
    return datetime.fromtimestamp(seconds, zone).strftime("%H:%M:%S")


def _axis(whole: tuple[float, float], zone: tzinfo, clock: str) -> str:
    """Times below the bars, at round moments of the viewer's clock."""
    start, end = whole
    step = next((s for s in _STEPS if (end - start) / s <= _TICKS), _STEPS[-1])
    shift = (datetime.fromtimestamp(start, zone).utcoffset() or timedelta()).total_seconds()
    first = -(-(start + shift) // step) * step - shift
    form = "%H:%M:%S" if step < 60 else "%H:%M" if step < 86400 else "%d %b"
    marks = "".join(
        f'<span style="left:{100 * (t - start) / (end - start):.3f}%">'
        f"{datetime.fromtimestamp(t, zone).strftime(form)}</span>"
        for t in (first + step * i for i in range(int((end - first) // step) + 1))
        if t <= start + 0.97 * (end - start)
    )
    return f'<div class="d-row d-axis"><span></span><div>{marks}</div><span>{markup(clock)}</span></div>'


def _legend(present: set[tuple[Regime, bool]]) -> str:
    items = "".join(
        f'<span><i class="d-r-{r.value}">{LETTER[r]}</i>{MEANING[r]}{"" if (r, False) in present else " (inferred)"}</span>'
        for r in Regime
        if (r, True) in present or (r, False) in present
    )
    return f'<div class="d-legend">{items}</div>'


def _others(hidden: list[ReplicaRegimes]) -> str:
    """What the replicas below the last row did, in a sentence."""
    if not hidden:
        return ""
    sick = sum(bool(longest(r)) for r in hidden)
    said = f"{sick} of them under a limit at times" if sick else "none of them under a limit"
    return f'<p class="d-muted">and {len(hidden)} more replicas, {said}</p>'


def stages(report: Report) -> str:
    """Mean time to first token by stage, before and during the trouble; empty without measurements."""
    items = slowest_first(report)
    spelt = [(item.replica, when, parts) for item in items for when, parts in spells(item)]
    longest_bar = max((sum(parts.values()) for _, _, parts in spelt), default=0.0)
    if not longest_bar:
        return ""
    short = short_names([i.replica for i in items], NAME)
    named = len(report.time_to_first_token) > 1
    body = "".join(
        f'<div class="d-row"><span class="d-name" title="{markup(terminal(replica))}">'
        f"{_spelt(short[replica] if named else '', when)}</span>"
        f'<div class="d-bar">{_stage_bars(parts, longest_bar)}</div>'
        f'<span class="d-end">{markup(duration(sum(parts.values())))}</span></div>'
        for replica, when, parts in spelt
    )
    told = {key for _, _, parts in spelt for key, value in parts.items() if value}
    legend = "".join(f'<span><i class="d-s-{k}"></i>{name}</span>' for k, name in STAGES.items() if k in told)
    return block(f'{body}<div class="d-legend">{legend}</div>', "d-rows d-stages")


def _spelt(name: str, when: str) -> str:
    """The name of a row; what was measured all the time needs no word for when."""
    return name if name and when == "mean" else f"{when} {name}".rstrip()


def _stage_bars(parts: dict[str, float], whole: float) -> str:
    return "".join(
        f'<span class="d-s-{key}" style="width:{100 * parts[key] / whole:.3f}%" '
        f'title="{markup(f"{name} {duration(parts[key])}")}"><i>{name} {markup(duration(parts[key]))}</i></span>'
        for key, name in STAGES.items()
        if parts.get(key)
    )
