"""The page's few lines of CSS, from the shared theme; ``light-dark()`` follows the page's own scheme."""

from __future__ import annotations

from typing import Any

import streamlit as st

from diagnostics.reports.theme import MONO, Theme

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


def css() -> str:
    """The style element of every page."""
    return f"<style>{_variables()}{_RULES.replace('MONO', MONO)}</style>"


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
.d-muted { color: var(--d-muted); }
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
@media (max-width: 640px) {
 .stMainBlockContainer { padding-left: .8rem; padding-right: .8rem; }
 .d-verdict h1 { font-size: 1.25rem; }
 [data-testid="stElementContainer"]:has(.d-verdict) { order: -1; }
 .d-words > div { grid-template-columns: 1fr; }
 .d-inputs td:last-child { min-width: 14rem; }
}
"""
