"""The report on paper: the HTML file, printed by the Chromium that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from diagnostics.model.errors import OptionError
from diagnostics.model.report import Diagnosis
from diagnostics.reports import html

BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)  # fmt: skip
_TIMEOUT = 120
# Long enough for every chart to be drawn; time that passes in the page, not on the clock.
_DRAWING_MS = 15000
_QUIET = (
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-pdf-header-footer",
    "--generate-pdf-document-outline",
    f"--virtual-time-budget={_DRAWING_MS}",
)


def render(diagnosis: Diagnosis) -> bytes:
    """The report as PDF.

    Raises:
        OptionError: no browser was found, or it failed.
    """
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        raise OptionError(
            "--format pdf: needs Chromium or Chrome to print; install one (like: apt install chromium),"
            " or use --format html and print it"
        )
    with tempfile.TemporaryDirectory(prefix="diagnose-") as folder:
        page, paper = Path(folder, "report.html"), Path(folder, "report.pdf")
        page.write_text(html.render(diagnosis), "utf-8")
        _print(browser, page, paper, Path(folder, "profile"))
        return paper.read_bytes()


def _print(browser: str, page: Path, paper: Path, profile: Path) -> None:
    """Let the browser print; it reads one local file and may reach no network."""
    # Its sandbox needs a user that is not root; the page is our own and its policy lets nothing in.
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    command = [
        browser,
        *_QUIET,
        *root,
        f"--user-data-dir={profile}",
        f"--print-to-pdf={paper}",
        page.as_uri(),
    ]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_TIMEOUT, check=False)  # noqa: S603  no shell
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OptionError(f"--format pdf: {browser} did not print: {type(error).__name__}") from error
    if not paper.is_file() or not paper.stat().st_size:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = said[-1] if said else f"it ended with status {done.returncode}"
        raise OptionError(f"--format pdf: {browser} did not print: {reason}")
