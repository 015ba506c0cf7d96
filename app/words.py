"""Cards as HTML. Every text of a card is escaped here; nothing else in the pages writes HTML from data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from app import runbooks
from diagnostics.reports.cards import (
    EvidenceRow,
    FindingCard,
    InputRow,
    RemedyLine,
    UncheckedCard,
    UncheckedRow,
    VerdictCard,
)
from diagnostics.reports.escape import markup as escaped
from diagnostics.reports.escape import terminal

_STATES = {
    "findings": "Something is wrong",
    "healthy": "Healthy",
    "insufficient-data": "Not enough data to judge",
}


_SIGNS = {">=": "≥", "<=": "≤"}
_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|days?|GB|GiB|tokens|requests|times|replicas?|of)\b|%)")
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")


def markup(text: str) -> str:
    """Text for HTML; a number stays on one line with its unit."""
    return _UNIT.sub("\u00a0", escaped(text))


def prose(text: str) -> str:
    """Sentences for HTML; a command line flag in them is set as code and stays in one piece."""
    return _FLAG.sub(r"<code class='d-nb'>\g<0></code>", markup(text))


def block(content: str, classes: str = "") -> str:
    """HTML that the page's style applies to."""
    return f'<div class="d {classes}">{content}</div>'


def heading(text: str) -> str:
    """The heading of a part of a page."""
    return block(f'<h2 class="d-h">{markup(text)}</h2>')


def verdict(card: VerdictCard, own_since: str = "") -> str:
    """The first thing to read: one sentence, what to do, the runner-up; ``own_since`` is on the viewer's clock."""
    since = f"{card.since}{own_since}" if card.since else ""
    state = " · ".join(p for p in (_STATES[card.status], card.confidence, since) if p)
    parts = [f'<p class="d-state">{markup(state)}</p><h1>{markup(card.headline)}</h1>']
    if card.what_to_do:
        parts.append(f'<p class="d-do">{prose(card.what_to_do)}</p>')
    if card.collect_next:
        steps = "".join(f"<li><code>{markup(c)}</code></li>" for c in card.collect_next)
        parts.append(f'<div class="d-do">To settle it:<ol>{steps}</ol></div>')
    # That all of the time could be judged is no news where something was found.
    known = card.status == "findings" and card.coverage.startswith("100 %")
    behind = " ".join(p for p in (card.runner_up, "" if known else f"{card.coverage}.") if p)
    if behind:
        parts.append(f'<p class="d-runner">{markup(behind)}</p>')
    return block("".join(parts), f"d-verdict d-{card.status}")


def figures(pairs: Iterable[tuple[str, str]]) -> str:
    """A few figures side by side, each above what it is."""
    rooms = "".join(
        f"<div><b>{markup(v)}</b><span class='d-muted'>{markup(k)}</span></div>" for k, v in pairs
    )
    return block(rooms, "d-room")


def finding_head(card: FindingCard) -> str:
    """Severity, role, title, and the way to the runbook."""
    name = card.rule + (f"/{card.variant}" if card.variant else "")
    return block(
        f"<h3>{markup(card.title)}</h3>"
        f'<span class="d-badge d-{card.severity.value}">{card.severity.value}</span>'
        f'<span class="d-muted">{card.role.value} · {markup(name)} · {markup(card.scope)}</span>'
        f"{_runbook_link(card)}",
        "d-head",
    )


def _runbook_link(card: FindingCard) -> str:
    target = card.runbook if card.runbook.startswith(("https://", "http://")) else runbooks.address(card.rule)
    own = f'<a href="{markup(target)}">Runbook</a>' if target else ""
    # Only http addresses come out of a configuration.
    return own + (f' <a href="{markup(card.team_runbook)}">Your runbook</a>' if card.team_runbook else "")


def finding_story(card: FindingCard, *, folded: bool = False) -> str:
    """What was seen and why it matters; the line that was unfolded has said what was seen."""
    return words(
        (
            ("What we saw", "" if folded else prose(card.saw)),
            ("Why it hurts", prose(" ".join((card.why, card.impact)).strip())),
        )
    )


def finding_limits(card: FindingCard) -> str:
    """What not to do, and what would refute it."""
    return words((("Do not", _listed([prose(d) for d in card.do_not])), ("Wrong if", prose(card.wrong_if))))


def finding_ground(card: FindingCard, own_window: str = "") -> str:
    """How sure it is, when it was, and what it explains; ``own_window`` is on the viewer's clock."""
    explains = ", ".join(f"<code>{markup(e)}</code>" for e in card.explains)
    sure = f"{card.confidence}: {card.confidence_because}" if card.confidence_because else card.confidence
    return words(
        (
            ("How sure", markup(sure[:1].upper() + sure[1:] + ".")),
            ("When", markup(f"{card.window}{own_window}") if card.window else ""),
            ("Explains", explains),
        )
    )


def remedy(title: str, line: RemedyLine) -> str:
    """One change, with whether it restarts and what it risks."""
    restart = "Needs a restart." if line.restart else "No restart."
    notes = [
        restart,
        *(f"{name}: {text}." for name, text in (("Risk", line.risk), ("Undo", line.undo)) if text),
    ]
    expected = f" {markup(line.expected[:1].upper() + line.expected[1:])}." if line.expected else ""
    change = f"<br><code>{markup(line.change)}</code>" if line.change and not line.copy else ""
    return words(
        (
            (
                title,
                f"{prose(line.text)}{expected}{change}<br>"
                f"<span class='d-note'>{prose(' '.join(notes))}</span>",
            ),
        )
    )


def words(rows: Iterable[tuple[str, str]]) -> str:
    """Terms with their text; rows without text are left out. The text is HTML already."""
    made = "".join(
        f'<div><span class="d-t">{markup(t)}</span><span>{text}</span></div>' for t, text in rows if text
    )
    return block(made, "d-words")


def _listed(items: Sequence[str]) -> str:
    if len(items) < 2:
        return "".join(items)
    return "<ul>" + "".join(f"<li>{i}</li>" for i in items) + "</ul>"


def evidence(rows: Sequence[EvidenceRow]) -> str:
    """The numbers that decided; the replica is only named where there are several."""
    several = len({r.replica for r in rows}) > 1
    body = "".join(
        f"<tr><td>{markup(r.signal)}, {markup(r.statistic)}</td><td class='d-n'>{markup(r.value)}</td>"
        f"<td>{markup(f'{_SIGNS.get(r.comparison, r.comparison)} {r.threshold}'.strip())}</td>"
        f"{f'<td>{markup(r.replica)}</td>' if several else ''}<td>{markup(r.provenance)}</td></tr>"
        for r in rows
    )
    names = ("Signal", "Value", "Limit", "Replica", "Known from")
    return table(names if several else (*names[:3], names[4]), body)


def table(names: Sequence[str], body: str, classes: str = "") -> str:
    """A table; the body is HTML already."""
    head = "".join(f"<th>{markup(n)}</th>" for n in names)
    return block(f'<div class="d-wide"><table class="d-proof"><tr>{head}</tr>{body}</table></div>', classes)


def rows(names: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    """A table of plain texts; the first column is the name of its row."""
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=d-n' if i == 0 else ''}>{markup(c)}</td>" for i, c in enumerate(row))
        + "</tr>"
        for row in cells
    )
    return table(names, body)


def listing(items: Sequence[str]) -> str:
    """Sentences below each other."""
    return block("<ul>" + "".join(f"<li>{markup(i)}</li>" for i in items) + "</ul>", "d-words")


def chips(slugs: Sequence[str]) -> str:
    """Rules by name, each with the way to its runbook."""
    made = "".join(f'<a href="{markup(runbooks.address(s) or "/runbooks")}">{markup(s)}</a>' for s in slugs)
    return block(made, "d-chips")


def unchecked(card: UncheckedCard) -> str:
    """What could not be looked at, why, and how to make it so."""
    body = "".join(
        f"<tr><td>{markup(r.rule)}</td><td>{_reason(r)}</td><td>{markup(r.how)}</td></tr>" for r in card.rows
    )
    return table(("Rule", "Why not", "How to make it so"), body)


def _reason(row: UncheckedRow) -> str:
    return markup(row.reason) + (f": <code>{markup(row.missing)}</code>" if row.missing else "")


def inputs(rows: Sequence[InputRow]) -> str:
    """What was read, and what of it was known."""
    body = "".join(
        f"<tr><td>{markup(r.source)}</td><td>{markup(' '.join((r.kind, r.engine)).strip())}</td>"
        f"<td class='d-n'>{r.replicas}</td><td class='d-n'>{markup(r.samples)}</td>"
        f"<td>{_recognised(r)}</td></tr>"
        for r in rows
    )
    return table(("Input", "Kind", "Replicas", "Samples", "Recognised"), body, "d-inputs")


def _recognised(row: InputRow) -> str:
    return "<br>".join(
        [markup(row.recognised), *(f'<span class="d-muted">{markup(w)}</span>' for w in row.warnings)]
    )


def window(start: float | None, end: float | None, zone: str | None) -> str:
    """A stretch of time in the viewer's zone, with UTC beside it."""
    if start is None or end is None:
        return "no time in the inputs"
    first, last = (datetime.fromtimestamp(t, UTC) for t in (start, end))
    own = zone_of(zone)
    if own is None or first.astimezone(own).utcoffset() == timedelta(0):
        return f"{_span(first, last)} UTC"
    there = (first.astimezone(own), last.astimezone(own))
    return f"{_span(*there)} {own.key} ({_span(first, last, dated=there[0].date() != first.date())} UTC)"


def zone_of(name: str | None) -> ZoneInfo | None:
    """The viewer's zone; None where the browser did not say, or said one that is not known here."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def here(start: float | None, end: float | None, zone: str | None) -> str:
    """A moment, or a stretch, on the viewer's clock in brackets; empty where that is UTC or there is no time."""
    own = zone_of(zone)
    if start is None or own is None or not datetime.fromtimestamp(start, own).utcoffset():
        return ""
    said = " to ".join(f"{datetime.fromtimestamp(t, own):%H:%M:%S}" for t in (start, end) if t is not None)
    return f" ({said} {zone_name(start, zone)})"


def zone_name(seconds: float, name: str | None) -> str:
    """What the viewer's clock is called at a moment, such as CET; UTC where the zone is not known."""
    said = datetime.fromtimestamp(seconds, zone_of(name) or UTC).tzname() or "UTC"
    return f"UTC{said}" if said[:1] in "+-" else said


def _span(first: datetime, last: datetime, *, dated: bool = True) -> str:
    clock = "%H:%M:%S" if (last - first).total_seconds() < 600 else "%H:%M"
    day = "%Y-%m-%d "
    begin = first.strftime((day if dated else "") + clock)
    return f"{begin} to {last.strftime(clock if first.date() == last.date() else day + clock)}"


def age(seconds: float) -> str:
    """How old the newest data is, in words."""
    if seconds < 120:
        return f"{max(0, round(seconds))} s old"
    if seconds < 7200:
        return f"{round(seconds / 60)} min old"
    return f"{round(seconds / 3600)} h old" if seconds < 172800 else f"{round(seconds / 86400)} days old"


def ago(seconds: float) -> str:
    """How long ago something ended, in words."""
    return age(seconds).replace(" old", " ago")


def stand_in(title: str, text: str) -> str:
    """What a page shows in place of a report."""
    return block(
        f'<p class="d-state">{markup(title)}</p><h1>{markup(text)}</h1>',
        "d-verdict d-insufficient-data d-quiet",
    )


def plain_label(text: str | None) -> str:
    """Text for an option of a list: control characters and direction marks go."""
    return terminal(text or "")


def index(entries: Sequence[runbooks.Entry]) -> str:
    """Runbooks as a list of links."""
    body = "".join(
        f'<tr><td class="d-n"><a href="{markup(runbooks.address(e.slug) or "")}">{markup(e.slug)}</a></td>'
        f"<td>{markup(e.code)}</td><td>{markup(e.title)}</td></tr>"
        for e in entries
    )
    return table(("Runbook", "Rule", "What it is"), body)


def markdown_label(text: str) -> str:
    """Text for a label that Streamlit reads as Markdown: nothing of it is read as such."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]()<>#+-!|~$:" else c for c in terminal(text))
