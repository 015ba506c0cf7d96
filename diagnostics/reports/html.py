"""The report as one HTML file: no server, no network, light and dark, on paper too.

Everything it shows is inside, the chart library as well; its policy lets nothing in from elsewhere, and only
the scripts that this module wrote run.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from diagnostics.model.report import Diagnosis, Report
from diagnostics.reports import html_cards as parts
from diagnostics.reports import html_rest as rest
from diagnostics.reports.cards import finding_cards, primary, verdict_card
from diagnostics.reports.escape import markup
from diagnostics.reports.html_compare import comparison
from diagnostics.reports.json import iso
from diagnostics.reports.theme import FONT, MONO, SEVERITY_STYLES, Theme, counterparts

# A strict policy; inline styles are needed because the chart library sets them.
_POLICY = (
    "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
_COLOURS = ("paper", "panel", "ink", "muted", "line", "strong", "good", "alarm", "doubt")


class Figures:
    """The figures of one page; each is drawn by its number."""

    def __init__(self) -> None:
        self.drawn: list[Any] = []

    def place(self, figure: Any | None, what: str) -> str:
        """The element in which a figure is drawn; empty without a figure.

        Args:
            figure: a Plotly figure in the light theme, or None.
            what: what it shows, for those who do not see it.
        """
        if figure is None:
            return ""
        self.drawn.append(figure.to_plotly_json())
        height = int(figure.layout.height)
        return (
            f'<div class="chart" role="img" aria-label="{markup(what)}" data-figure="{len(self.drawn) - 1}"'
            f' style="min-height:{height}px"></div>'
        )

    def as_json(self) -> str:
        """All figures, fit for a script element."""
        from plotly.io.json import to_json_plotly  # noqa: PLC0415  loads plotly only when figures exist

        return _harmless(to_json_plotly(self.drawn)) if self.drawn else "[]"


def render(diagnosis: Diagnosis, above: str = "") -> str:
    """The whole report as one HTML document.

    Args:
        diagnosis: what to show.
        above: markup to put before the verdict; whoever made it has escaped what is in it.
    """
    report, figures = diagnosis.report, Figures()
    body = "\n".join([above, *_body(diagnosis, figures)])
    scripts = _scripts(bool(figures.drawn))
    policy = _POLICY.format(scripts=" ".join(_fingerprint(s) for s in scripts) or "'none'")
    data = (
        f'<script type="application/json" id="figures">{figures.as_json()}</script>'
        f'<script type="application/json" id="colours">{_harmless(json.dumps(counterparts()))}</script>'
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{markup(verdict_card(report).headline)}</title>\n<style>\n{_style(report)}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n{data}\n"
        + "\n".join(f"<script>{s}</script>" for s in scripts)
        + "\n</body>\n</html>\n"
    )


def _body(diagnosis: Diagnosis, figures: Figures) -> list[str]:
    """In the order of thought: verdict, when, where, proof, action, what else was looked at."""
    report = diagnosis.report
    cards = finding_cards(report)
    paired = list(zip(report.findings, cards, strict=True))
    sections = [
        parts.verdict(report),
        comparison(report),
        rest.deployments(report),
        rest.ribbon(report, figures),
        rest.headroom(diagnosis),
        rest.stages_and_load(diagnosis, figures),
        *(parts.finding(diagnosis, f, c, cards, figures) for f, c in paired if f.severity != "info"),
        rest.fleet(diagnosis, figures),
        rest.remarks(
            [parts.finding(diagnosis, f, c, cards, figures) for f, c in paired if f.severity == "info"]
        ),
        rest.looked_at(report),
        rest.runbooks(report),
        _footer(report),
    ]
    return [s for s in sections if s]


def _footer(report: Report) -> str:
    made = f"{report.tool.name} {report.tool.version}, {iso(report.generated_at)}"
    return f"<footer>Made by {markup(made)}. This file needs no network.</footer>"


def _scripts(with_charts: bool) -> list[str]:
    own = files("diagnostics.reports").joinpath("assets", "report.js").read_text("utf-8")
    if not with_charts:
        return [own]
    from plotly.offline import get_plotlyjs  # noqa: PLC0415  five megabytes, read only when there is a chart

    return [get_plotlyjs().replace("</script", "<\\/script"), own]


def _fingerprint(script: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _harmless(text: str) -> str:
    """JSON that cannot end the script element it stands in."""
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _style(report: Report) -> str:
    first = primary(report)

    def colours(theme: Theme) -> str:
        loud = SEVERITY_STYLES[first.severity].colour(theme) if first else theme.status(report.verdict.status)
        status = f"--status:{loud};"
        return status + "".join(f"--{name.replace('_', '-')}:{getattr(theme, name)};" for name in _COLOURS)

    sheet = files("diagnostics.reports").joinpath("assets", "report.css").read_text("utf-8")
    light, dark = colours(Theme.LIGHT), colours(Theme.DARK)
    return (
        f":root{{--font:{FONT};--mono:{MONO};{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{sheet}"
    )
