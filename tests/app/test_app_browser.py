"""The pages in a real Chromium: the sentence is there, nothing complains, gestures and links work."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from app_inputs import HOSTILE
from browser import Browser

# Streamlit looks for its base address below the page first; the browser notes that it is not there.
_EXPECTED = ("/_stcore/health", "/_stcore/host-config")
PLAN = "c-parameters=8&c-layers=32&c-kv_heads=8&c-head_size=128&c-gpu=H100+SXM&c-hourly=2.5"
RIBBON = ".d-rows button.d-r-cap"
LOAD = "[class*=st-key-load] .nsewdrag"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


def complaints(browser: Browser) -> list[str]:
    found = [c for c in browser.complaints if not c.rstrip().endswith(_EXPECTED)]
    browser.complaints.clear()
    return found


def box(browser: Browser, selector: str) -> tuple[float, float, float, float]:
    browser.wait(f"document.querySelector('{selector}')")
    script = (
        f"(r => [r.x, r.y, r.width, r.height])(document.querySelector('{selector}').getBoundingClientRect())"
    )
    x, y, width, height = browser.run(script)
    return x, y, width, height


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/?source=capped", "concurrency cap"),
        ("/?source=calm", "Nothing is wrong"),
        ("/?source=prose", "Not enough data to judge"),
        ("/fleet?source=capped", "How evenly the work is shared"),
        ("/latency?source=capped", "Where the time to first token goes"),
        ("/cache?source=capped", "KV cache"),
        ("/speculation?source=capped", "No speculation here"),
        ("/bench?source=bench", "Output and latency over load"),
        ("/bench?source=calm", "No benchmark result in this data"),
        ("/compare?source=capped", "What changed, and did it help"),
        ("/compare?source=capped&baseline=calm", "What became of each finding"),
        ("/runbooks", "cap-throttled"),
        ("/runbooks/cap-throttled", "When it is something else"),
        ("/data?source=capped", "What was read"),
        ("/capacity?source=capped", "Enter what is missing"),
        (f"/capacity?source=capped&{PLAN}", "Limits of decoding"),
    ],
)
def test_each_page_shows_its_content_and_nothing_complains(
    server: str, browser: Browser, path: str, wanted: str
) -> None:
    browser.open(server + path)
    browser.wait_text(wanted)
    for scheme in ("dark", "light"):
        browser.look(1280, 900, scheme)
        if "/runbooks/" not in path:
            browser.wait(f"getComputedStyle(document.querySelector('.stApp')).colorScheme === '{scheme}'")
            browser.wait_idle()
        assert browser.violations() == []
    assert browser.run("document.querySelectorAll('[data-testid=stException]').length") == 0
    assert complaints(browser) == []


def test_what_cannot_be_read_is_found(browser: Browser) -> None:
    browser.open("data:text/html,<title>x</title><main style='background:white;color:lightgrey'>pale</main>")
    browser.wait_text("pale")
    assert any("color-contrast" in v for v in browser.violations())


def test_hostile_names_run_nothing(server: str, browser: Browser) -> None:
    for path in ("/", "/fleet", "/latency", "/compare", "/data"):
        browser.open(f"{server}{path}?source=hostile")
        browser.wait_text("replicas")
        browser.wait_idle()
        assert path != "/" or HOSTILE[:9] in browser.text()
        assert browser.run("typeof window.hit") == "undefined"
        assert browser.run("document.querySelectorAll('.d img, .js-plotly-plot img').length") == 0
    assert complaints(browser) == []


def test_a_click_on_the_ribbon_and_a_drag_across_the_load_choose_a_stretch(
    server: str, browser: Browser
) -> None:
    browser.open(f"{server}/?source=capped")
    browser.wait_idle()

    def click() -> None:
        x, y, width, height = box(browser, RIBBON)
        browser.click((x + width / 2, y + height / 2))

    browser.repeat(click, "location.search.includes('from=2025-10-09T08%3A55')")
    browser.wait_text("Show all of the time")
    browser.open(f"{server}/?source=capped")
    browser.wait_idle()
    browser.run(f"document.querySelector('{LOAD}').scrollIntoView({{block: 'center'}})")

    def drag() -> None:
        x, y, width, height = box(browser, LOAD)
        browser.drag((x + width * 0.3, y + height / 2), (x + width * 0.6, y + height / 2))

    browser.repeat(drag, "location.search.includes('from=')")
    chosen = browser.run("location.href")
    # The incident is from 08:53:20 to 08:59:20 UTC; the browser's clock is two hours ahead.
    assert all(f"{name}=2025-10-09T08%3A5" in chosen for name in ("from", "to"))
    assert "CET" in browser.text() or "CEST" in browser.text()
    browser.wait_text("Show all of the time")
    shown = "[...document.querySelectorAll('.js-plotly-plot')].map(p => p.layout.xaxis)"
    shown += ".filter(a => a.type === 'date')"
    browser.wait(f"{shown}.length")
    browser.wait_idle()
    ranges = browser.run(f"[...new Set({shown}.map(a => JSON.stringify(a.range)))]")
    assert len(ranges) == 1
    browser.open("about:blank")
    browser.open(chosen)
    browser.wait_text("Show all of the time")
    browser.wait(f"{shown}.length")
    browser.wait_idle()
    assert browser.run("location.href") == chosen
    assert browser.run(f"[...new Set({shown}.map(a => JSON.stringify(a.range)))]") == ranges


def test_a_chart_below_the_window_is_drawn_when_it_comes_into_view(server: str, browser: Browser) -> None:
    drawn = "document.querySelector('[class*=st-key-card] .main-svg')"
    browser.open(f"{server}/?source=capped")
    browser.wait_idle()
    assert not browser.run(f"!!{drawn}")
    browser.run("document.querySelector('[class*=st-key-card] .d-later').scrollIntoView()")
    browser.wait(drawn)
    for page, path in (("Fleet", "/fleet"), ("Now", "/")):
        browser.run(f"[...document.querySelectorAll('a')].find(a => a.innerText.trim() === '{page}').click()")
        browser.wait(f"location.pathname === '{path}'")
        browser.wait_idle()
    assert not browser.run(f"!!{drawn}")
    assert complaints(browser) == []


def test_a_card_leads_to_the_runbook(server: str, browser: Browser) -> None:
    browser.open(f"{server}/?source=capped")
    browser.wait("document.querySelector('.d-head a[href=\"/runbooks/cap-throttled\"]')")
    browser.run("document.querySelector('.d-head a[href=\"/runbooks/cap-throttled\"]').click()")
    browser.wait("location.pathname === '/runbooks/cap-throttled' && document.querySelector('h1')")
    browser.wait_text("When it is something else")
    assert complaints(browser) == []


def test_a_page_switch_keeps_what_is_chosen(server: str, browser: Browser) -> None:
    browser.open(f"{server}/?source=capped&replica=vllm-0:8000")
    browser.wait_idle()
    browser.run("[...document.querySelectorAll('a')].find(a => a.innerText.trim() === 'Fleet').click()")
    browser.wait("location.pathname === '/fleet' && location.search.includes('replica=')")
    browser.wait_idle()
    assert complaints(browser) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_sentence_fits_a_phone(server: str, browser: Browser, scheme: str) -> None:
    browser.look(390, 800, scheme)  # type: ignore[arg-type]
    browser.open(f"{server}/?source=capped")
    browser.wait_text("concurrency cap")
    browser.wait_idle()
    left, top, width, _ = box(browser, ".d-verdict h1")
    assert left >= 0
    assert top < box(browser, "[class*=st-key-bar]")[1], "the sentence comes first"
    assert left + width <= 390
    assert browser.run("document.documentElement.scrollWidth") <= 390
    browser.look(1280, 900, "light")


@pytest.mark.parametrize(("label", "ending"), [("JSON", "json"), ("HTML", "html")])
def test_an_export_arrives(server: str, browser: Browser, tmp_path: Path, label: str, ending: str) -> None:
    browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.open(f"{server}/?source=capped")
    browser.wait_text("Export")
    browser.wait_idle()
    browser.run("document.querySelector('[data-testid=stPopover] button').click()")
    button = f"[...document.querySelectorAll('button')].find(b => b.innerText.trim() === '{label}')"
    browser.wait(button)
    browser.run(f"{button}.click()")
    browser.wait_for(lambda: list(tmp_path.glob(f"diagnosis-*.{ending}")), f"no {ending} file arrived")
    file = next(tmp_path.glob(f"diagnosis-*.{ending}"))
    assert "concurrency cap" in file.read_text("utf-8")
    assert complaints(browser) == []
    if ending == "html":
        _reads_offline(browser, file)


def _reads_offline(browser: Browser, file: Path) -> None:
    """The file by itself: charts are drawn, and their clock is the one that they name."""
    browser.open(file.as_uri())
    browser.wait("document.querySelector('.chart .xtick text')")
    chart = "[...document.querySelectorAll('.chart')].find(c => c.layout?.meta?.time)"
    # The incident began at 08:53:20 UTC; the browser stands in Berlin, in summer.
    assert browser.run(f"{chart}.querySelector('.xtick text').textContent").startswith("10:5")
    assert browser.run(f"{chart}.querySelector('.infolayer').textContent.includes('UTC+2')")
    assert complaints(browser) == []
