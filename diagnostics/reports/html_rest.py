"""Everything on the HTML page around the findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from diagnostics.model.report import Diagnosis, Report
from diagnostics.reports import ribbon as letters
from diagnostics.reports import runbook
from diagnostics.reports.cards import (
    InputRow,
    checked_card,
    healthy_card,
    inputs_card,
    stage_rows,
    unchecked_card,
)
from diagnostics.reports.escape import markup
from diagnostics.reports.html_cards import local
from diagnostics.reports.theme import Theme, clock, duration

if TYPE_CHECKING:
    from diagnostics.reports.html import Figures

_TEXT_COLUMNS, _TEXT_ROWS = 96, 24


def _card(title: str, content: str) -> str:
    return f'<section class="card"><h2>{title}</h2>{content}</section>' if content else ""


def deployments(report: Report) -> str:
    """One line a deployment, worst first; nothing where there is only one."""
    if len(report.deployments) < 2:
        return ""
    rows = "".join(
        f"<tr><td><b>{markup(d.name)}</b></td><td>{markup(d.model)}</td><td>{markup(d.engine)}</td>"
        f'<td class="n">{d.replicas}</td><td>{d.status}</td><td>{markup(d.worst_regime)}</td>'
        f'<td class="n">{_since(d.since)}</td></tr>'
        for d in report.deployments
    )
    names = ("deployment", "model", "engine", "replicas", "status", "worst regime", "since")
    head = "".join(f"<th>{name}</th>" for name in names)
    return _card("Deployments", f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>')


def _since(moment: float | None) -> str:
    return f"{clock(moment)} UTC{local(moment)}" if moment is not None else ""


def ribbon(report: Report, figures: Figures) -> str:
    """What was binding, when; in letters where scripts do not run."""
    lines = letters.plain(report.regimes, _TEXT_COLUMNS, _TEXT_ROWS)
    if not lines:
        return ""
    from diagnostics.reports.charts import ribbon_figure  # noqa: PLC0415  loads plotly

    drawn = figures.place(
        ribbon_figure(report, Theme.LIGHT), "which limit was binding on each replica over time"
    )
    plain = "\n".join(markup(line) if line.strip() else line for line in lines)
    return _card("What was binding", f"{drawn}<noscript><pre>{plain}</pre></noscript>")


def headroom(diagnosis: Diagnosis) -> str:
    """On a healthy page: how far the limits are."""
    card = healthy_card(diagnosis.report, diagnosis.series)
    if card is None:
        return ""
    items = "".join(f"<div><b>{markup(value)}</b>{markup(what)}</div>" for what, value in card.headroom)
    return _card("Headroom", f'<div class="headroom">{items}</div>' if items else "")


def stages_and_load(diagnosis: Diagnosis, figures: Figures) -> str:
    """Where the time to first token goes, beside the load."""
    from diagnostics.reports.charts import load_figure, ttft_figure  # noqa: PLC0415  loads plotly

    stages = figures.place(ttft_figure(diagnosis.report, Theme.LIGHT), "time to first token by stage")
    load = figures.place(
        load_figure(diagnosis, Theme.LIGHT), "requests running, waiting and finished over time"
    )
    cards = [
        _card("Where time to first token goes", stages + _stage_table(diagnosis.report)),
        _card("Load", load),
    ]
    shown = [c for c in cards if c]
    return f'<div class="pair">{"".join(shown)}</div>' if len(shown) == 2 else "".join(shown)


def _stage_table(report: Report) -> str:
    """The stages in numbers, of the replica with the longest time to first token."""
    rows = stage_rows(report)
    if not rows:
        return ""
    item, stages = rows
    columns = [(word, found) for word, found in (("before", item.before), ("during", item.during)) if found]
    head = "".join(f'<th class="n">{word if item.during else "mean"}</th>' for word, _ in columns)
    body = "".join(
        f"<tr><td>{markup(name)}</td>"
        + "".join(
            f'<td class="n">{duration(found[key]) if key in found else ""}</td>' for _, found in columns
        )
        + "</tr>"
        for key, name in stages
    )
    name = markup(item.replica)
    return f'<div class="scroll stages"><table><tr><th>{name}</th>{head}</tr>{body}</table></div>'


def fleet(diagnosis: Diagnosis, figures: Figures) -> str:
    """The replicas side by side; nothing for one replica."""
    from diagnostics.reports.charts import fleet_figures  # noqa: PLC0415  loads plotly

    drawn = [figures.place(f, "replicas compared") for f in fleet_figures(diagnosis, Theme.LIGHT)]
    return _card("Replicas compared", "".join(drawn))


def remarks(findings: list[str]) -> str:
    """What is worth knowing and not hurting now."""
    if not findings:
        return ""
    inner = "".join(findings)
    title = f"Worth knowing, not hurting now ({len(findings)})"
    return f'<details class="card remarks"><summary>{title}</summary>{inner}</details>'


def looked_at(report: Report) -> str:
    """What was checked, what could not be, and what was read."""
    return f'<section class="card">{"".join(_looked_at(report))}</section>'


def _looked_at(report: Report) -> Iterator[str]:
    checked, unchecked, read = checked_card(report), unchecked_card(report), inputs_card(report)
    if checked.rules:
        chips = "".join(f'<span class="tag">{markup(r)}</span>' for r in checked.rules)
        yield f'<details><summary>{checked.title}</summary><div class="chips">{chips}</div></details>'
    if checked.suppressed:
        yield f'<p class="quiet">Suppressed: {markup(", ".join(checked.suppressed))}</p>'
    if unchecked.rows:
        rows = "".join(
            f"<tr><td>{markup(r.rule)}</td><td>{markup(r.reason)}</td><td>{markup(r.how)}</td></tr>"
            for r in unchecked.rows
        )
        head = "<th>rule</th><th>why not</th><th>how to get it</th>"
        # Where nothing could be judged, what is missing is the news.
        is_open = " open" if report.verdict.status == "insufficient-data" else ""
        yield (
            f"<details{is_open}><summary>{unchecked.title}</summary>"
            f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div></details>'
        )
    head = "<th>input</th><th>kind</th><th>engine</th><th>samples</th><th>what became of it</th>"
    rows = "".join(_input(i) for i in (*read.used, *read.unused))
    when = f'<p class="quiet">{markup(read.window)}</p>' if read.window else ""
    yield (
        f"<details><summary>{read.title}</summary>{when}"
        f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div></details>'
    )


def _input(row: InputRow) -> str:
    notes = "".join(f'<br><span class="small">{markup(w)}</span>' for w in row.warnings)
    return (
        f"<tr><td>{markup(row.source)}</td><td>{markup(row.kind)}</td><td>{markup(row.engine)}</td>"
        f'<td class="n">{row.samples}</td><td>{markup(row.recognised)}{notes}</td></tr>'
    )


def runbooks(report: Report) -> str:
    """The runbook of every finding, to be read without a network."""
    texts = {f.rule: text for f in report.findings if (text := runbook.text_of(f.rule)) is not None}
    if not texts:
        return ""
    known = frozenset(texts)
    parts = "".join(
        f'<details class="runbook"><summary><h2 id="runbook-{slug}">{slug}</h2></summary>'
        f"{runbook.to_html(text, known=known)}</details>"
        for slug, text in texts.items()
    )
    return f'<section class="card runbooks"><h2>Runbooks</h2>{parts}</section>'
