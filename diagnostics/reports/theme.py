"""Colours, type and number formats that the page and every file format share."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import ClassVar, Literal

from msgspec import Struct

from diagnostics.model.findings import Severity
from diagnostics.model.report import Regime, Status

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'Helvetica Neue', Arial, sans-serif"
MONO = "ui-monospace, 'SF Mono', SFMono-Regular, Menlo, Consolas, 'Liberation Mono', monospace"


class Theme(Struct, frozen=True):
    """One set of colours. A colour of ``LIGHT`` has exactly one counterpart in ``DARK``.

    Attributes:
        name: ``light`` or ``dark``.
        paper: behind everything.
        panel: behind one card.
        ink, muted: text, and text of second rank.
        line: hairlines and grids.
        strong: the one series of a chart that decides.
        on_strong: text on ``strong``.
        context: series that only give context.
        shade: the stretch of time that a finding is about.
        good: healthy, and nothing else.
        alarm: critical, and nothing else.
        doubt: too little was seen to judge.
        stages: time to first token by stage.
    """

    name: Literal["light", "dark"]
    paper: str
    panel: str
    ink: str
    muted: str
    line: str
    strong: str
    on_strong: str
    context: str
    shade: str
    good: str
    alarm: str
    doubt: str
    stage_gateway: str
    stage_api_server: str
    stage_queue: str
    stage_prefill: str

    LIGHT: ClassVar[Theme]
    DARK: ClassVar[Theme]

    @property
    def dark(self) -> bool:
        """Whether this is the theme for the night."""
        return self.name == "dark"

    def regime(self, regime: Regime) -> str:
        """The colour of a regime."""
        return REGIME_COLOURS[regime][int(self.dark)]

    def stage(self, stage: str) -> str:
        """The colour of a stage of the time to first token; an unknown stage is grey."""
        return str(getattr(self, f"stage_{stage}", self.context))

    def status(self, status: Status) -> str:
        """The colour of a verdict."""
        return {"healthy": self.good, "findings": self.alarm, "insufficient-data": self.doubt}[status]


Theme.LIGHT = Theme(
    name="light", paper="#F7F7F5", panel="#FFFFFE", ink="#1A1F24", muted="#58626C", line="#E1E4E8",
    strong="#0B5A9E", on_strong="#FDFEFE", context="#A3ABB3", shade="rgba(90,105,125,0.12)",
    good="#1D7A4F", alarm="#B0133A", doubt="#5A5F9E",
    stage_gateway="#C9CED4", stage_api_server="#97A6B5", stage_queue="#0C5B9F", stage_prefill="#5FA89B",
)  # fmt: skip
Theme.DARK = Theme(
    name="dark", paper="#121518", panel="#1A1E22", ink="#E4E7EA", muted="#98A3AE", line="#2E353B",
    strong="#6FB3EE", on_strong="#10161C", context="#69737D", shade="rgba(160,180,205,0.14)",
    good="#5CC492", alarm="#FF7A90", doubt="#A9AEF0",
    stage_gateway="#A9B0B7", stage_api_server="#76899C", stage_queue="#6FB3EF", stage_prefill="#4E9286",
)  # fmt: skip

# Okabe and Ito's hues, told apart by the common kinds of colour blindness; letters say the same without them.
REGIME_COLOURS: dict[Regime, tuple[str, str]] = {
    Regime.UNSATURATED: ("#CFE8DC", "#1F4D3D"),
    Regime.IDLE: ("#EDEDED", "#2B2B2B"),
    Regime.CAP: ("#E69F00", "#E69F00"),
    Regime.KV_MEMORY: ("#D55E00", "#D55E00"),
    Regime.PREEMPTING: ("#CC79A7", "#CC79A7"),
    Regime.TOKEN_BUDGET: ("#0072B2", "#0072B2"),
    Regime.QUEUEING: ("#F0E442", "#F0E442"),
    Regime.UNDECIDED: ("#FFFFFF", "#000000"),
    Regime.DOWN: ("#000000", "#FFFFFF"),
}
# Text on a regime's colour that reads in both themes.
ON_REGIME: dict[Regime, str] = {Regime.TOKEN_BUDGET: "#FCFDFD"}
ON_BRIGHT = "#141414"
# Hatches for the two that are not known for sure, in plotly's and CSS-like words.
REGIME_HATCH: dict[Regime, str] = {Regime.QUEUEING: "/", Regime.UNDECIDED: "."}


def counterparts() -> dict[str, str]:
    """The dark colour of every light one: a figure that was drawn for the day is recoloured for the night."""
    names = [field for field in Theme.__struct_fields__ if field != "name"]
    found = {str(getattr(Theme.LIGHT, n)): str(getattr(Theme.DARK, n)) for n in names}
    return found | dict(REGIME_COLOURS.values())


class SeverityStyle(Struct, frozen=True):
    """How loud a severity looks: filled, outlined or plain; never in a regime's colour."""

    badge: Literal["filled", "outlined", "plain"]
    light: str
    dark: str

    def colour(self, theme: Theme) -> str:
        """The colour under a theme."""
        return self.dark if theme.dark else self.light


SEVERITY_STYLES: dict[Severity, SeverityStyle] = {
    Severity.CRITICAL: SeverityStyle("filled", Theme.LIGHT.alarm, Theme.DARK.alarm),
    Severity.WARNING: SeverityStyle("outlined", Theme.LIGHT.ink, Theme.DARK.ink),
    Severity.INFO: SeverityStyle("plain", Theme.LIGHT.muted, Theme.DARK.muted),
}


def number(value: float) -> str:
    """A number with as many digits as matter."""
    if not math.isfinite(value):
        return "unknown"
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A duration in the unit that people would say it in."""
    if not math.isfinite(seconds):
        return "unknown"
    if abs(seconds) < 1:
        return f"{1000 * seconds:.0f} ms"
    if abs(seconds) < 120:
        return f"{seconds:.1f} s" if abs(seconds) < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes} min" + (f" {rest} s" if rest and minutes < 60 else "")
    return f"{minutes // 60} h" + (f" {minutes % 60} min" if minutes % 60 else "")


def percent(value: float) -> str:
    """A share as percent."""
    if not math.isfinite(value):
        return "unknown"
    return f"{100 * value:.0f} %" if abs(value) >= 0.1 or value == 0 else f"{100 * value:.2g} %"


def clock(seconds: float) -> str:
    """The time of day in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S")


def date(seconds: float) -> str:
    """The day in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def format_value(value: float, unit: str) -> str:
    """A value with its unit, as a person says it.

    Args:
        value: the number, in ``unit``.
        unit: a unit of the signal catalogue, or any word. A ratio up to one is a share, above it a factor.
    """
    if not math.isfinite(value):
        return "unknown"
    if unit == "s":
        return duration(value)
    if unit == "ratio":
        return percent(value) if abs(value) <= 1 else f"{number(value)} times"
    if unit == "unix time":
        return f"{date(value)} {clock(value)} UTC"
    if unit == "0/1":
        return "yes" if value else "no"
    return f"{number(value)} {unit}".rstrip()
