"""A scraped server falls ill: Prometheus alerts, Alertmanager calls the dashboard, and the answer is there."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import requests
import yaml
from alerts.refill import free_port, prometheus
from watch.conftest import REPOSITORY, address_in, answers, started, until
from watch.receiver import Inbox, inbox
from watch.replay import Server, piece, serving

from diagnostics.alerts import AlertOptions, as_rules

TOKEN = "a-shared-t0ken"
INSTANCE = "vllm-0:8000"
# Seconds into the recording at which the story begins: what lies before is history.
BEGIN = 60.0
# Windows of five minutes become six seconds.
SCALE = 0.02


@dataclass(frozen=True)
class Scene:
    """Addresses of what runs."""

    dashboard: str
    alertmanager: str
    server: Server
    chat: Inbox


def documented(dashboard: str, token: Path) -> str:
    """The configuration of the documentation, with this machine's addresses and shorter waits."""
    text = (REPOSITORY / "docs" / "watch.md").read_text()
    found = next(b for b in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL) if b.startswith("route:"))
    for old, new in (
        ("http://diagnose:8501", dashboard),
        ("/etc/alertmanager/diagnose-token", str(token)),
        ("group_wait: 5s", "group_wait: 1s"),
        ("group_interval: 30s", "group_interval: 1s"),
    ):
        assert old in found
        found = found.replace(old, new)
    return found


def prometheus_config(target: str, alertmanager: str, rules: Path) -> str:
    return yaml.safe_dump(
        {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "alerting": {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]},
            "scrape_configs": [
                {
                    "job_name": "vllm",
                    "static_configs": [{"targets": [target], "labels": {"instance": INSTANCE}}],
                }
            ],
        }
    )


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    work = tmp_path_factory.mktemp("alertmanager")
    rules, token, log = work / "rules.yml", work / "token", work / "dashboard.log"
    rules.write_text(
        as_rules(
            AlertOptions(
                only=("preemption-storm",), scale=SCALE, keep=0, dashboard_base="http://d", incidents=True
            )
        )
    )
    token.write_text(TOKEN)
    called, asked = f"127.0.0.1:{free_port()}", free_port()
    server = Server("preemption-storm", BEGIN)
    with (
        inbox() as chat,
        started("dashboard", f"http://127.0.0.1:{asked}", "--port", "0", "--since", "3m", "--watch", "--every", "3s",
                "--alertmanager", f"http://{called}", "--webhook", f"{chat.url}/x", "--store", str(work / "s.duckdb"),
                log=log, DIAGNOSE_WEBHOOK_TOKEN=TOKEN) as process,
        serving(server) as target,
    ):  # fmt: skip
        dashboard = address_in(log, r"Dashboard: (http://\S+)", process)
        until("the dashboard is ready", lambda: answers(f"{dashboard}/readyz"))
        (work / "alertmanager.yml").write_text(documented(dashboard, token))
        manager = subprocess.Popen(
            ["prometheus-alertmanager", f"--config.file={work}/alertmanager.yml", f"--storage.path={work}/am",
             f"--web.listen-address={called}", "--cluster.listen-address="],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            until("Alertmanager is ready", lambda: answers(f"http://{called}/-/ready"))
            server.play("preemption-storm", BEGIN)
            history, _ = piece("preemption-storm", server.began - BEGIN)
            now = time.time()
            past = [line for line in history if float(line.rsplit(" ", 1)[1]) < now - 1]
            with prometheus(past, work, asked, prometheus_config(target, called, rules)):
                yield Scene(dashboard, f"http://{called}", server, chat)
        finally:
            manager.terminate()
            manager.wait(30)


def incident_link(scene: Scene) -> str:
    """What the alert's annotation points to."""
    found = requests.get(f"{scene.alertmanager}/api/v2/alerts", timeout=30).json()
    links = [a["annotations"]["incident_url"] for a in found if "incident_url" in a["annotations"]]
    return links[0].replace("http://d", scene.dashboard) if links else ""


def page(scene: Scene, link: str) -> str:
    answer = requests.get(link, timeout=60)
    return answer.text if "/incidents/" in answer.url else ""


def overview(scene: Scene, path: str) -> str:
    return requests.get(f"{scene.dashboard}{path}", timeout=60).text


def of_the_watcher(scene: Scene) -> set[str]:
    """The rules of the alerts that the watcher posted."""
    found = requests.get(f"{scene.alertmanager}/api/v2/alerts", timeout=30).json()
    return {a["labels"]["rule"] for a in found if "deployment" in a["labels"]}


def test_the_page_of_the_alert_holds_the_answer(scene: Scene) -> None:
    link = str(until("an alert fires", lambda: incident_link(scene)))
    until("the diagnosis is made", lambda: "<td>preemption-storm</td>" in overview(scene, "/incidents"))
    text = str(until("the page shows it", lambda: page(scene, link)))
    assert "<b>LLMPreemptionStorm</b>: firing since" in text
    assert "Running requests are preempted and computed again" in text
    assert f"instance=&quot;{INSTANCE}&quot;" in text
    assert TOKEN not in text

    series = 'rule="preemption-storm",severity="critical"} 1\n'
    until("the watcher has it too", lambda: series in overview(scene, "/metrics"))
    assert "diagnose_dashboard_ready 1\n" in overview(scene, "/metrics")
    until("the chat is told", scene.chat.texts)
    until("Alertmanager is told", lambda: "preemption-storm" in of_the_watcher(scene))

    scene.server.play("healthy", 0)
    until("it is resolved", lambda: "<td>resolved at " in overview(scene, "/incidents"))
    resolved = page(scene, link)
    assert "<b>LLMPreemptionStorm</b>: resolved at" in resolved
    assert "Running requests are preempted and computed again" in resolved
    openings = [t for t in scene.chat.texts() if "critical: preemption-storm" in t]
    assert len(openings) == 1


@pytest.mark.parametrize(
    ("body", "token", "status", "words"),
    [
        (b"{}", TOKEN, 400, "missing required field"),
        (b"not json", TOKEN, 400, "JSON"),
        (b'{"version": "3", "alerts": []}', TOKEN, 400, "expected 4"),
        (b'{"version": "4", "alerts": [{"status": "lost"}]}', TOKEN, 400, "$.alerts[0].status"),
        (b"{}", "wrong", 401, "DIAGNOSE_WEBHOOK_TOKEN"),
        (b" " * (1 << 20) + b"{}", TOKEN, 413, "1 MiB"),
    ],
)
def test_what_is_no_notification_is_refused_in_one_line(
    scene: Scene, body: bytes, token: str, status: int, words: str
) -> None:
    answer = requests.post(
        f"{scene.dashboard}/api/alertmanager",
        data=body,
        headers={"Authorization": f"Bearer {token}"},
        timeout=60,
    )
    assert answer.status_code == status
    assert words in answer.text
    assert answer.text.count("\n") == 1
    assert TOKEN not in answer.text


def test_an_unknown_incident_is_said(scene: Scene) -> None:
    answer = requests.get(f"{scene.dashboard}/incidents/%3Cscript%3E", timeout=60)
    assert answer.status_code == 404
    assert "<script>" not in answer.text
