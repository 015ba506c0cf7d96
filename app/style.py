"""The page's few lines of CSS, from the shared theme; ``light-dark()`` follows the page's own scheme."""

from __future__ import annotations

from typing import Any

import streamlit as st

from diagnostics.model.report import Regime
from diagnostics.reports.cards import STAGES
from diagnostics.reports.ribbon import CALM, LETTER, MEANING
from diagnostics.reports.theme import MONO, ON_BRIGHT, ON_REGIME, REGIME_COLOURS, REGIME_HATCH, Theme

PAGE_FONT = '"Source Sans", "Source Sans 3", system-ui, sans-serif'


def config() -> dict[str, Any]:
    """Streamlit's theme options, light and dark, from the shared theme."""
    options: dict[str, Any] = {
        "theme.baseRadius": "6px",
        "theme.showWidgetBorder": True,
        "theme.codeFontSize": "13px",
    }
    for theme in (Theme.LIGHT, Theme.DARK):
        options |= {
            f"theme.{theme.name}.primaryColor": theme.strong,
            f"theme.{theme.name}.backgroundColor": theme.paper,
            f"theme.{theme.name}.secondaryBackgroundColor": theme.panel,
            f"theme.{theme.name}.textColor": theme.ink,
            f"theme.{theme.name}.linkColor": theme.strong,
            f"theme.{theme.name}.borderColor": theme.line,
        }
    return options


def theme() -> Theme:
    """The theme of the viewer's page."""
    return Theme.DARK if st.context.theme.type == "dark" else Theme.LIGHT


def _variables() -> str:
    names = ("paper", "panel", "ink", "muted", "line", "strong", "on_strong", "good", "alarm", "doubt")
    pairs = (
        f"--d-{n.replace('_', '-')}: light-dark({getattr(Theme.LIGHT, n)}, {getattr(Theme.DARK, n)});"
        for n in names
    )
    return ".stApp { " + " ".join(pairs) + " }"


def _regimes() -> str:
    """The colour of each regime with the text on it, hatched where it is not known for sure; stages likewise."""
    rules = []
    for regime, (light, dark) in REGIME_COLOURS.items():
        text = {
            Regime.UNSATURATED: "var(--d-muted)",
            Regime.IDLE: "var(--d-muted)",
            Regime.UNDECIDED: "var(--d-muted)",
            Regime.DOWN: f"light-dark({dark}, {light})",
        }.get(regime, ON_REGIME.get(regime, ON_BRIGHT))
        hatch = f" background-image: {_HATCH};" if regime in REGIME_HATCH else ""
        name, letter = f".d-bar .d-r-{regime.value}::before", LETTER[regime]
        # How much of its name a stretch shows depends on its width; the empty part is what is read aloud.
        rules += [
            f'@container (min-width: 13px) {{ {name} {{ content: "{letter}" / ""; }} }}',
        ]
        if regime not in CALM:
            words = f"{letter}  {MEANING[regime]}"
            rules.append(f'@container (min-width: 190px) {{ {name} {{ content: "{words}" / ""; }} }}')
        rules.append(
            f".d-r-{regime.value} {{ background-color: light-dark({light}, {dark}); color: {text};{hatch} }}"
        )
    for stage in STAGES:
        light, dark = Theme.LIGHT.stage(stage), Theme.DARK.stage(stage)
        text = "var(--d-on-strong)" if stage == "queue" else ON_BRIGHT
        rules.append(f".d-s-{stage} {{ background: light-dark({light}, {dark}); color: {text}; }}")
    return " ".join(rules)


def css() -> str:
    """The style element of every page."""
    return f"<style>{_variables()}{_regimes()}{_RULES.replace('MONO', MONO)}</style>"


_HATCH = (
    "repeating-linear-gradient(135deg, transparent 0 5px, "
    "color-mix(in srgb, var(--d-muted) 45%, transparent) 5px 6px)"
)


_RULES = """
.stApp { font-variant-numeric: tabular-nums; }
.stMainBlockContainer { padding: 4.6rem 1.5rem 4rem; max-width: 84rem; }
[data-testid="stVerticalBlock"] { gap: .75rem; }
.d h2, .d h3, .d p, .d dl, .d ul { margin: 0; padding: 0; }
.d a { color: var(--d-strong); text-decoration: underline; text-underline-offset: 2px; }
.d code { font: .86em/1.4 MONO; color: inherit;
 background: color-mix(in srgb, var(--d-ink) 8%, transparent);
 padding: .08em .32em; border-radius: 4px; overflow-wrap: anywhere; }
.d code.d-nb { white-space: nowrap; }
.d-muted { color: var(--d-muted); font-size: .9rem; }
.d-verdict { background: var(--d-panel); border: 1px solid var(--d-line);
 border-left: 5px solid var(--d-tone);
 border-radius: 6px; padding: .95rem 1.2rem 1rem; }
.d-findings { --d-tone: var(--d-alarm); } .d-healthy { --d-tone: var(--d-good); }
.d-insufficient-data { --d-tone: var(--d-doubt); } .d-compare { --d-tone: var(--d-strong); }
.d-verdict .d-strip { margin-top: .5rem; }
.d-verdict .d-state { color: var(--d-tone); font-weight: 650; font-size: .86rem; margin-bottom: .25rem; }
.d-verdict h1 { font-size: 1.5rem; line-height: 1.28; font-weight: 650; letter-spacing: -.005em;
 margin: 0; padding: 0;
 color: var(--d-ink); text-wrap: pretty; }
.d-verdict .d-do { font-size: 1.04rem; line-height: 1.5; margin-top: .5rem; max-width: 76rem; }
.d-verdict .d-runner { font-size: .92rem; color: var(--d-muted); margin-top: .4rem; }
.d-verdict ol { margin: .3rem 0 0 1.1rem; padding: 0; }
.d-h { font-size: 1rem; font-weight: 650; color: var(--d-ink); margin-top: .5rem; }
.d-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: .3rem .65rem; }
.d-head h3 { font-size: 1.16rem; line-height: 1.3; font-weight: 650; flex-basis: 100%; }
.d-head a { margin-left: auto; font-size: .92rem; }
.d-badge { font-size: .8rem; font-weight: 650; border-radius: 4px; padding: .05rem .45rem;
 border: 1px solid transparent; }
.d-critical { background: var(--d-alarm); color: var(--d-panel); border-color: var(--d-alarm); }
.d-warning { color: var(--d-ink); border-color: var(--d-ink); }
.d-info { color: var(--d-muted); padding-left: 0; }
.d-words { display: grid; gap: .62rem; font-size: .97rem; line-height: 1.45; }
.d-words > div { display: grid; grid-template-columns: 6.6rem 1fr; gap: .1rem .8rem; }
.d-words .d-t { color: var(--d-muted); font-size: .88rem; padding-top: .08rem; }
.d-words .d-note { color: var(--d-muted); font-size: .88rem; }
.d-words li { margin-left: 1.05rem; }
.d-proof { border-collapse: collapse; font-size: .88rem; width: 100%; }
.d-proof td, .d-proof th { border: 0; border-top: 1px solid var(--d-line); padding: .28rem .7rem .28rem 0;
 text-align: left;
 vertical-align: top; font-weight: 400; }
.d-proof th { color: var(--d-muted); border-top: 0; } .d-wide { overflow-x: auto; }
.d-wide td:last-child { min-width: 5rem; }
.d-proof td.d-n { white-space: nowrap; font-weight: 600; }
.d-strip { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; font-size: .9rem; color: var(--d-muted);
 align-items: baseline; }
.d-strip b { color: var(--d-ink); font-weight: 600; }
.d-dot { display: inline-block; width: .55em; height: .55em; border-radius: 50%;
 background: var(--d-good); margin-right: .35em; }
.d-dot.d-off { background: var(--d-muted); }
.d-room { display: flex; flex-wrap: wrap; gap: .8rem 2.4rem; } .d-room b { display: block;
 font-size: 1.3rem; font-weight: 600; }
.d-mark { color: var(--d-muted); font-size: .8rem; margin-top: -.55rem; overflow-wrap: anywhere; }
.d-chips { display: flex; flex-wrap: wrap; gap: .35rem; }
.d-chips a { border: 1px solid var(--d-line); border-radius: 4px; padding: .08rem .5rem;
 font-size: .88rem; text-decoration: none;
 color: var(--d-ink); }
.stApp [data-testid^="stBaseButton-primary"] * { color: var(--d-on-strong); }
.stApp [data-testid="stCaptionContainer"] * { color: var(--d-muted); }
[class*="st-key-card-"] { background: var(--d-panel); }
[class*="st-key-code-"] pre { padding-top: .5rem; padding-bottom: .5rem; }
.d-row { display: grid; grid-template-columns: 6.4rem 1fr 5.2rem; gap: .6rem; align-items: center; }
.d-rows { display: grid; gap: 4px; font-size: .8rem; }
.d-name { color: var(--d-muted); text-align: right; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.d-end { font-weight: 600; white-space: nowrap; }
.d-bar { position: relative; height: 21px; display: flex; }
.d-bar [data-stretch] { position: absolute; top: 0; height: 100%; padding: 0; border: 0; border-radius: 0;
 cursor: pointer; font: inherit; line-height: 21px; text-align: center; overflow: hidden; white-space: nowrap;
 container-type: inline-size; box-shadow: inset 0 0 0 .5px var(--d-line); }
.d-bar [data-stretch]:hover { filter: brightness(.94); }
.d-bar button:focus-visible { outline: 2px solid var(--d-strong); outline-offset: 1px; z-index: 1; }
.d-bar i, .d-legend i { font-style: normal; }
.d-stages .d-bar > span { overflow: hidden; container-type: inline-size; line-height: 21px; text-align: center; }
.d-stages .d-bar > span i { display: none; white-space: nowrap; }
@container (min-width: 110px) { .d-stages .d-bar > span i { display: inline; } }
.d-axis { color: var(--d-muted); } .d-axis > div { position: relative; height: 1.2rem; border-top: 1px solid var(--d-line); }
.d-axis > div span { position: absolute; transform: translateX(-50%); white-space: nowrap; padding-top: .1rem; }
.d-legend { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; color: var(--d-muted); margin-top: .15rem; }
.d-legend span { white-space: nowrap; } .d-legend i { display: inline-block; width: 1.25rem; line-height: 1.1rem; height: 1.1rem;
 text-align: center; margin-right: .4rem; vertical-align: bottom; border-radius: 2px; }
@media (max-width: 640px) {
 .d-row { grid-template-columns: 4.6rem 1fr 3.6rem; gap: .4rem; }
 .d-axis > div span:nth-child(even) { display: none; }
 .stMainBlockContainer { padding-left: .8rem; padding-right: .8rem; }
 .d-verdict h1 { font-size: 1.25rem; }
 [data-testid="stElementContainer"]:has(.d-verdict) { order: -1; }
 .d-words > div { grid-template-columns: 1fr; }
 .d-inputs td:last-child { min-width: 14rem; }
 .d-proof { font-size: .82rem; } .d-proof td { padding-right: .5rem; }
 .d-proof td:first-child { min-width: 7.5rem; }
 .d-proof td.d-n:first-child { white-space: normal; }
}
"""
