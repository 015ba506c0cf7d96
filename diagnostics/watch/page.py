"""Received alerts as markup: a card above a report, and a list."""

from __future__ import annotations

from collections.abc import Iterable

from diagnostics.model.investigation import Investigation
from diagnostics.reports.escape import markup
from diagnostics.reports.theme import clock, date, duration


def alert_card(item: Investigation) -> str:
    """The alert: what fires, since when, on which labels, and what was asked because of it."""
    labels = ", ".join(f"{k}={v}" for k, v in sorted(item.labels.items()) if k != "alertname")
    asked = item.select or "everything there, as no label of the alert is on the series of an engine"
    lines = [
        f"<b>{markup(item.name)}</b>: {when(item)}",
        markup(item.summary),
        f"Labels: {markup(labels)}",
        f"Diagnosed: {markup(asked)}" if item.state == "done" else "",
    ]
    text = "".join(f"<p>{line}</p>" for line in lines if line)
    return f'<section class="card alert"><h2>Alert</h2>{text}</section>'


def when(item: Investigation) -> str:
    """Whether it fires, since when, for how long."""
    start = f"{date(item.starts_at)} {clock(item.starts_at)} UTC"
    if item.status == "firing":
        return f"firing since {start}"
    if item.ends_at is None:
        return f"resolved, fired from {start}"
    lasted = duration(max(0.0, item.ends_at - item.starts_at))
    return f"resolved at {clock(item.ends_at)} UTC, fired from {start} for {lasted}"


def rows(items: Iterable[Investigation]) -> str:
    """A table of alerts with what was found, newest first."""
    lines = "".join(
        f'<tr><td><a href="/incidents/{markup(i.fingerprint)}">{markup(i.name)}</a></td><td>{when(i)}</td>'
        f"<td>{markup(i.primary or i.verdict or i.state)}</td><td>{markup(i.headline or i.error)}</td></tr>"
        for i in items
    )
    if not lines:
        return "<p>No alert was received yet.</p>"
    head = "".join(f"<th>{name}</th>" for name in ("alert", "when", "found", "in a sentence"))
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
