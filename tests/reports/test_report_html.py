"""The HTML file: complete without a network, strict, honest about hostile labels; and its PDF."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest
from msgspec.structs import replace
from report_makers import made

from diagnostics.model.errors import OptionError
from diagnostics.model.report import Diagnosis
from diagnostics.reports import html, pdf, runbook

BROWSER = next((b for b in pdf.BROWSERS if shutil.which(b)), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium here")


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._in_script = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if found.get("id"):
            self.ids.append(str(found["id"]))
        if tag == "a" and found.get("href"):
            self.links.append(str(found["href"]))
        self._in_script = tag == "script" and found.get("type") is None
        if self._in_script:
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self._in_script:
            self.scripts[-1] += data

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False


@pytest.fixture(scope="session")
def page(capped: Diagnosis) -> str:
    return html.render(capped)


def test_nothing_is_fetched(page: str) -> None:
    seen = Page(page)
    assert not [t for t, a in seen.tags if t in ("link", "img", "iframe", "object") or "src" in a]
    own = re.sub(r"<script>.*?</script>", "", page, flags=re.S)
    assert "@import" not in own
    assert "url(" not in own


def test_the_policy_admits_exactly_the_scripts_of_the_page(page: str) -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    allowed = set(re.findall(r"'sha256-([^']+)'", policy[1]))
    scripts = Page(page).scripts
    assert len(scripts) == 2
    assert {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts} == allowed
    assert not [a for _, attrs in Page(page).tags for a in attrs if a.startswith("on")]


def test_every_link_inside_leads_somewhere_and_ids_are_unique(page: str) -> None:
    seen = Page(page)
    assert len(seen.ids) == len(set(seen.ids))
    inside = [link[1:] for link in seen.links if link.startswith("#")]
    assert "runbook-cap-throttled" in inside
    assert set(inside) <= set(seen.ids)
    assert all(link.startswith(("#", "https://")) for link in seen.links)


def test_a_base_of_runbooks_is_linked_and_other_schemes_are_not(capped: Diagnosis) -> None:
    first = capped.report.findings[0]

    def links(address: str) -> list[str]:
        report = replace(capped.report, findings=(replace(first, runbook=address),))
        return Page(html.render(replace(capped, report=report, series=()))).links

    assert "https://wiki.example/cap-throttled" in links("https://wiki.example/cap-throttled")
    assert not [link for link in links("javascript:alert(1)") if "javascript" in link]


def test_the_order_is_the_order_of_thought(page: str) -> None:
    places = [
        page.index(mark)
        for mark in (
            "<h1>",
            "What was binding",
            "Where time to first token goes",
            'id="finding-cap-throttled"',
            "Replicas compared",
            "Checked and fine",
            'id="runbook-cap-throttled"',
        )
    ]
    assert places == sorted(places)


def test_hostile_labels_stay_text(tmp_path: Path) -> None:
    bad = '"><script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m</script>'
    made_page = html.render(made(tmp_path, {bad: True, "b:1": False}, model=bad, engine_args=None))
    seen = Page(made_page)
    assert len(seen.scripts) == 2
    assert not [t for t, _ in seen.tags if t == "img"]
    assert "\x1b" not in re.sub(r"<script>.*?</script>", "", made_page, flags=re.S)


def test_other_states_render_too(calm: Diagnosis, empty: Diagnosis) -> None:
    assert "Headroom" in html.render(calm)
    nothing = html.render(empty)
    assert "not enough data" in nothing
    assert len(nothing) < 100_000, "no chart, no chart library"


def test_all_runbooks_become_html_without_leftovers() -> None:
    from importlib.resources import files

    slugs = [f.name.removesuffix(".md") for f in files("diagnostics").joinpath("runbooks").iterdir()]
    for slug in slugs:
        text = runbook.text_of(slug)
        assert text
        made_html = runbook.to_html(text, known=frozenset(slugs))
        prose = re.sub(r"<code>.*?</code>", "", made_html, flags=re.S)
        assert "```" not in made_html
        assert "**" not in prose
        assert "](" not in prose
    assert runbook.text_of("../model/report") is None
    assert runbook.text_of("no-such-rule") is None


def test_markup_in_a_runbook_is_text() -> None:
    made_html = runbook.to_html(
        "## <b>\n\n- `<i>` [x](javascript:alert(1)) <script>\n\n| a | <u> |\n| - | - |\n"
    )
    assert not re.search(r"<(b|i|u|script)>", made_html)
    assert "javascript:" not in re.sub(r">[^<]*<", "><", made_html)


@needs_browser
def test_a_browser_draws_every_chart_and_reports_no_error(page: str, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text(page, "utf-8")
    command = [
        str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--no-first-run", "--enable-logging=stderr",
        "--virtual-time-budget=10000", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", path.as_uri(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    shown = Page(done.stdout.decode())
    charts = [a for t, a in shown.tags if t == "div" and "data-figure" in a]
    assert charts
    assert all("js-plotly-plot" in str(a.get("class")) for a in charts)
    assert b"CONSOLE" not in done.stderr, done.stderr.decode()[-2000:]


@needs_browser
def test_pdf_is_printed(calm: Diagnosis) -> None:
    made_pdf = pdf.render(calm)
    assert made_pdf.startswith(b"%PDF-")
    assert len(made_pdf) > 20_000


def test_pdf_without_a_browser_says_what_to_install(calm: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "BROWSERS", ("no-such-browser",))
    with pytest.raises(OptionError, match="install one") as error:
        pdf.render(calm)
    assert "\n" not in str(error.value)
