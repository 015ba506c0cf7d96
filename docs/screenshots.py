"""Pictures of every page, three widths and two schemes: ``python docs/screenshots.py [NAME ...]``."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path

from PIL import Image

REPOSITORY = Path(__file__).resolve().parent.parent
FOLDER = REPOSITORY / "docs" / "screenshots"
sys.path[:0] = [str(REPOSITORY / "tests"), str(REPOSITORY / "tests" / "app")]

from browser import Browser  # noqa: E402  the tests' browser; it is no part of the package
from support.dashboard import dashboard  # noqa: E402

PAGES = {
    "now": "/?source=concurrency-cap",
    "healthy": "/?source=healthy",
    "replica-dies": "/?source=replica-dies",
    "fleet": "/fleet?source=round-robin",
    "latency": "/latency?source=concurrency-cap",
    "cache": "/cache?source=blind-routing",
    "speculation": "/speculation?source=speculation-misfit",
    "capacity": "/capacity?source=concurrency-cap&c-parameters=8&c-layers=32&c-kv_heads=8&c-heads=32"
    "&c-head_size=128&c-hidden=4096&c-gpu=H100+SXM&c-gpus=2&c-hourly=2.5",
    "bench": "/bench?source=bench-knee",
    "bench-empty": "/bench?source=healthy",
    "compare": "/compare?source=concurrency-cap",
    "runbooks": "/runbooks",
    "runbook": "/runbooks/cap-throttled",
    "data": "/data?source=concurrency-cap",
}
WIDTHS = {1280: 900, 1920: 1080, 420: 860}
MOST_HEIGHT = 2400
_HEIGHT = (
    "Math.max(...['[data-testid=stMain]', 'body'].map(s => document.querySelector(s)?.scrollHeight ?? 0))"
)


def main() -> int:
    """Start the dashboard on the sample data, take the pictures, stop it."""
    wanted = sys.argv[1:] or list(PAGES)
    with dashboard() as address:
        for scheme in ("light", "dark"):
            with Browser(scheme=scheme) as browser:
                for name in wanted:
                    for width, height in WIDTHS.items():
                        browser.look(width, height, scheme)
                        _take(
                            browser,
                            address + PAGES[name],
                            FOLDER / f"{name}-{width}-{scheme}.png",
                            width,
                            scheme,
                        )
    return 0


def _take(browser: Browser, address: str, file: Path, width: int, scheme: str) -> None:
    browser.open(address)
    if "/runbooks/" in address:
        browser.wait("document.readyState === 'complete' && document.querySelector('h1')")
    else:
        browser.wait_idle()
    time.sleep(0.8)  # pictures only: transitions of Streamlit's elements end
    height = min(MOST_HEIGHT, int(browser.run(_HEIGHT)))
    browser.look(width, height, "dark" if scheme == "dark" else "light")
    time.sleep(0.5)
    browser.picture(file)
    _shrink(file)
    print(file.relative_to(REPOSITORY))


def _shrink(file: Path) -> None:
    """The same picture in few colours: a quarter of the bytes."""
    with Image.open(io.BytesIO(file.read_bytes())) as picture:
        picture.convert("RGB").quantize(160, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
