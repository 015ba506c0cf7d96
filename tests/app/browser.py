"""A real Chromium over its debugging protocol: open, wait for what must be there, read, drag, picture."""

from __future__ import annotations

import base64
import itertools
import json
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import requests
from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_IDLE = """(() => {
 const app = document.querySelector('[data-testid=stApp]');
 return app && app.getAttribute('data-test-script-state') === 'notRunning'
  && !['StatusWidget', 'Spinner', 'Skeleton'].some(n => document.querySelector(`[data-testid=st${n}]`))
  && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(c => c.querySelector('.main-svg'))
  && [...document.querySelectorAll('.d-later')].every(r => r.getBoundingClientRect().top > innerHeight);
})()"""
_ADDRESS = re.compile(r"DevTools listening on (ws://\S+)")


# Streamlit's own markup: the place to drop files is a section with a role.
_NOT_OURS = ("presentation-role-conflict",)
_AXE = """axe.run(document, {resultTypes: ['violations']}).then(found => found.violations.flatMap(
 v => v.nodes.map(n => `${v.impact} ${v.id}: ${n.html.slice(0, 160)}: ${n.failureSummary}`)))"""


@cache
def axe() -> str:
    """The script of axe-core."""
    found = find_spec("axe_playwright_python")
    assert found is not None, "axe-core is not here; install .ci/requirements-dev-no-deps.txt"
    assert found.origin is not None
    return Path(found.origin).with_name("axe.min.js").read_text("utf-8")


def executable() -> str:
    """The Chromium of this machine."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found is not None, "no Chromium here; install it, on Debian: apt-get install chromium"
    return found


class Browser:
    """One Chromium with one tab. ``complaints`` holds console errors, uncaught errors and refused loads."""

    def __init__(
        self, width: int = 1280, height: int = 900, scheme: Literal["light", "dark"] = "light"
    ) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        self._process = subprocess.Popen(
            [
                executable(),
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--hide-scrollbars",
                "--no-first-run",
                "--remote-debugging-port=0",
                f"--user-data-dir={self._profile.name}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []
        self._socket = self._attach()
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.look(width, height, scheme)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._socket.close()
        self._process.terminate()
        self._process.wait(20)
        self._profile.cleanup()

    def _attach(self) -> ClientConnection:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if found := _ADDRESS.search(line):
                break
        else:
            raise AssertionError("Chromium ended before it listened")
        root = found[1].split("/devtools/")[0].replace("ws://", "http://")
        tabs = requests.get(f"{root}/json/list", timeout=20).json()
        target = next(t["webSocketDebuggerUrl"] for t in tabs if t["type"] == "page")
        return connect(target, max_size=None, legacy=True)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Run one command of the protocol."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=60))
            self._listen(message)
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result

    def _listen(self, message: dict[str, Any]) -> None:
        method, given = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and given["type"] == "error":
            self.complaints.append(
                " ".join(str(a.get("value", a.get("description", ""))) for a in given["args"])
            )
        elif method == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.complaints.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")

    def look(self, width: int, height: int, scheme: Literal["light", "dark"]) -> None:
        """Set the size of the window and what the viewer's system prefers."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Emulation.setTimezoneOverride", timezoneId="Europe/Berlin")

    def open(self, address: str) -> None:
        """Go to an address."""
        self.send("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def text(self) -> str:
        """The visible text of the page."""
        return str(self.run("document.body ? document.body.innerText : ''"))

    def repeat(self, gesture: Callable[[], None], condition: str, times: int = 4) -> None:
        """Make a gesture until a condition holds: one that meets a page being drawn anew is lost, as for a person."""
        for _ in range(times - 1):
            self.wait_idle()
            gesture()
            try:
                self.wait(condition, 20)
            except AssertionError:
                continue
            return
        gesture()
        self.wait(condition)

    def wait(self, condition: str, seconds: float = 90) -> None:
        """Wait until a JavaScript expression is true."""
        self.wait_for(lambda: self._holds(condition), f"never true: {condition}", seconds)

    def _holds(self, condition: str) -> bool:
        """Whether an expression is true; a page that is being left answers nothing yet."""
        try:
            return bool(self.run(f"!!({condition})"))
        except AssertionError as error:
            if "navigated or closed" in str(error):
                return False
            raise

    def wait_for(self, condition: Callable[[], object], otherwise: str, seconds: float = 90) -> None:
        """Wait until something holds, while the page goes on."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if condition():
                return
            time.sleep(0.1)
        said = self.text()[:2000]
        raise AssertionError(f"{otherwise}\nThe page says:\n{said}\nIt complained: {self.complaints}")

    def wait_text(self, wanted: str) -> None:
        """Wait until the page shows a text."""
        self.wait(f"document.body && document.body.innerText.includes({json.dumps(wanted)})")

    def wait_idle(self) -> None:
        """Wait until Streamlit has run the page and every chart is drawn."""
        self.wait(_IDLE)

    def violations(self) -> list[str]:
        """What axe-core finds on the page as it stands: contrast, names, roles, structure."""
        self.run(f"if (!window.axe) {{ {axe()} }}; 0")
        return [v for v in self.run(_AXE) if v.split(" ")[1].rstrip(":") not in _NOT_OURS]

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Press, move and let go."""
        mouse = {"button": "left", "clickCount": 1}
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=start[0], y=start[1])
        self.send("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], **mouse)
        for share in (0.25, 0.5, 0.75, 1.0):
            x, y = (a + (b - a) * share for a, b in zip(start, end, strict=True))
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], **mouse)

    def click(self, place: tuple[float, float]) -> None:
        """Press and let go without a move."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
        for kind in ("mousePressed", "mouseReleased"):
            self.send(
                "Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1
            )
            time.sleep(0.1)

    def picture(self, file: Path) -> None:
        """A PNG of what the window shows."""
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
