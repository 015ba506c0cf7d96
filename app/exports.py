"""The report as a file, made when somebody asks for it and not before."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import streamlit as st

from diagnostics.model.report import Diagnosis

_FORMATS: tuple[tuple[str, str, str, str, bool], ...] = (
    ("HTML", "html", "html", "text/html", True),
    ("Markdown", "markdown", "md", "text/markdown", False),
    ("JSON", "json", "json", "application/json", False),
)
"""Label, module, ending, media type, and whether the format wants the charts too."""


def menu(diagnosis: Diagnosis) -> None:
    """The export button with one entry a format."""
    made = datetime.fromtimestamp(diagnosis.report.generated_at, UTC).strftime("%Y%m%dT%H%M%SZ")
    with st.popover("Export", icon=":material/download:"):
        for label, module, ending, media_type, with_charts in _FORMATS:
            if find_spec(f"diagnostics.reports.{module}") is None:
                continue
            st.download_button(
                label,
                _renderer(module, diagnosis if with_charts else diagnosis.report),
                f"diagnosis-{made}.{ending}",
                media_type,
                key=f"export-{module}",
                on_click="ignore",
                width="stretch",
            )


def _renderer(module: str, content: Any) -> Callable[[], str]:
    def render() -> str:
        return str(import_module(f"diagnostics.reports.{module}").render(content))

    return render
