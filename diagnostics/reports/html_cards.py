"""The verdict and the findings as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from diagnostics.model.findings import Finding
from diagnostics.model.report import Diagnosis, Report
from diagnostics.reports.cards import (
    FindingCard,
    RemedyLine,
    VerdictCard,
    primary,
    verdict_card,
    without_do_not,
)
from diagnostics.reports.escape import link, markup
from diagnostics.reports.json import iso
from diagnostics.reports.runbook import text_of

if TYPE_CHECKING:
    from diagnostics.reports.html import Figures


_SHORT_NAME = 16
_SIGNS = {">=": "≥", "<=": "≤"}


def verdict(report: Report) -> str:
    """The sentence, what to do, what else it could be."""
    card = verdict_card(report)
    first = primary(report)
    moment = local(first.window.start) if first is not None and card.since else ""
    facts = [f"<span>{_status(card)}</span>"]
    if card.since:
        facts.append(f"<span>{markup(card.since)}{moment}</span>")
    facts.append(f"<span>{markup(card.coverage)}</span>")
    lines = [
        f'<div class="facts">{"".join(facts)}</div>',
        f"<h1>{markup(card.headline)}</h1>",
        f'<p class="do">{markup(card.what_to_do)}</p>' if card.what_to_do else "",
        f'<p class="quiet">{markup(card.runner_up)}</p>' if card.runner_up else "",
        *_collect(card),
    ]
    return f'<header class="verdict">{"".join(lines)}</header>'


def _status(card: VerdictCard) -> str:
    if card.status == "findings":
        return f"<b>{card.confidence}</b>"
    return "<b>healthy</b>" if card.status == "healthy" else "<b>not enough data</b>"


def _collect(card: VerdictCard) -> Iterator[str]:
    if card.collect_next:
        yield '<p class="quiet">To settle what is open:</p>'
    for step in card.collect_next:
        yield query(step)


def local(moment: float | None) -> str:
    """A place where the page writes a moment in the reader's own zone."""
    return f'<time class="local" datetime="{iso(moment)}"></time>' if moment is not None else ""


def query(text: str) -> str:
    """Something to copy: a query or a command."""
    return f'<div class="query"><code>{markup(text)}</code>{copy_button(text)}</div>'


def copy_button(text: str) -> str:
    """A button that copies; it stays hidden where scripts do not run."""
    return f'<button class="copy" type="button" hidden data-copy="{markup(text)}">copy</button>'


def finding(
    diagnosis: Diagnosis, found: Finding, card: FindingCard, cards: Iterable[FindingCard], figures: Figures
) -> str:
    """One finding: proof on the left, words on the right."""
    from diagnostics.reports.charts import acceptance_figure, finding_figure  # noqa: PLC0415  loads plotly
    from diagnostics.reports.theme import Theme  # noqa: PLC0415

    proof = figures.place(finding_figure(diagnosis, found, Theme.LIGHT), f"{found.rule}: {card.saw}")
    proof += figures.place(acceptance_figure(found, Theme.LIGHT), "acceptance by draft position")
    name = card.rule + (f" ({card.variant})" if card.variant else "")
    because = f": {markup(card.confidence_because)}" if card.confidence_because else ""
    return (
        f'<article class="card finding {card.severity.value}" id="finding-{markup(card.key)}">'
        f'<div class="head"><h3>{markup(name)}</h3>'
        f'<span class="badge">{card.severity.value}</span><span class="quiet">{card.role.value}</span>'
        f'<span class="book">{_runbook(card)}</span></div>'
        f'<p class="quiet">{markup(card.title)}. {markup(card.scope)}. {markup(card.window)}'
        f"{local(found.window.start)}. <b>{card.confidence}</b>{because}.</p>"
        '<div class="proof">'
        f'<div class="figures">{proof}{_evidence(card)}{_verify(card)}</div>'
        f"<dl>{''.join(_words(card, cards))}</dl></div></article>"
    )


def _runbook(card: FindingCard) -> str:
    """A link to the runbook: inside this file when it is the product's own."""
    if card.runbook.startswith("diagnose explain "):
        own = f'<a href="#runbook-{markup(card.rule)}">runbook</a>' if text_of(card.rule) else ""
    else:
        own = _outside(card.runbook, "runbook")
    return f"{own} {_outside(card.team_runbook, 'your runbook')}" if card.team_runbook else own


def _outside(address: str, words: str) -> str:
    """A link that leaves this file, or the plain text of what is no address."""
    target = link(address)
    return f'<a href="{target}" rel="noopener noreferrer">{words}</a>' if target else markup(address)


def _words(card: FindingCard, cards: Iterable[FindingCard]) -> Iterator[str]:
    yield _row("What we saw", f"<p>{markup(card.saw)}</p>")
    why = f"<p>{markup(card.why)}</p>"
    yield _row("Why it hurts", why + (f'<p class="small">{markup(card.impact)}</p>' if card.impact else ""))
    for heading, steps in (
        ("Now", card.now),
        ("Next rollout", card.next_rollout),
        ("Capacity", card.capacity),
    ):
        if steps:
            yield _row(heading, "".join(_step(s) for s in steps))
    if card.do_not:
        yield _row("Do not", "".join(f"<p>{markup(without_do_not(d))}</p>" for d in card.do_not))
    yield _row("Wrong if", f"<p>{markup(card.wrong_if)}</p>")
    if card.explains:
        keys = {c.rule: c.key for c in cards}
        linked = ", ".join(
            f'<a href="#finding-{markup(keys[s])}">{markup(s)}</a>' for s in card.explains if s in keys
        )
        if linked:
            yield _row("Explains", f"<p>{linked}</p>")


def _row(heading: str, content: str) -> str:
    return f"<dt>{heading}</dt><dd>{content}</dd>"


def _step(step: RemedyLine) -> str:
    restart = ' <span class="tag">restart</span>' if step.restart else ' <span class="tag">no restart</span>'
    change = ""
    if step.change:
        button = copy_button(step.copy) if step.copy else ""
        change = f'<div><span class="change"><code>{markup(step.change)}</code>{button}</span></div>'
    notes = "; ".join(
        f"{word}: {markup(text)}"
        for word, text in (("expect", step.expected), ("risk", step.risk), ("undo", step.undo))
        if text
    )
    small = f"<small>{notes}</small>" if notes else ""
    return f'<div class="step"><p>{markup(step.text)}{restart}</p>{change}{small}</div>'


def _evidence(card: FindingCard) -> str:
    rows = "".join(
        f'<tr><td>{markup(e.signal)}, {markup(e.statistic)}</td><td class="n"><b>{markup(e.value)}</b></td>'
        f'<td class="n">{_SIGNS.get(e.comparison, markup(e.comparison))} {markup(e.threshold)}</td>'
        f"<td{_whole(e.replica)}>{markup(e.replica)}</td>"
        f"<td>{markup(e.provenance)}</td></tr>"
        for e in card.evidence
    )
    if not rows:
        return ""
    head = "<th>proof</th><th>value</th><th>held against</th><th>replica</th><th>known how</th>"
    return f'<div class="scroll evidence"><table><tr>{head}</tr>{rows}</table></div>'


def _whole(name: str) -> str:
    """A short name is not broken into lines; a long one may be."""
    return ' class="n"' if len(name) <= _SHORT_NAME else ""


def _verify(card: FindingCard) -> str:
    if not card.verify:
        return ""
    return '<div class="verify"><h2>Check it yourself</h2>' + "".join(map(query, card.verify)) + "</div>"
