"""``diagnose watch`` as a process: started, asked, stopped and started again."""

from __future__ import annotations

import shutil
import signal
import time
from pathlib import Path

import pytest
import requests
from support.carriers import write_openmetrics
from support.series import Recording
from support.vllm import add_vllm
from watch.conftest import address_in, started, until
from watch.receiver import inbox
from watch.replay import SAMPLES

from diagnostics.cli.main import main
from diagnostics.options import Options
from diagnostics.watch.options import WatchOptions
from diagnostics.watch.watcher import Watcher

METRICS = r"metrics on (http://\S+)/metrics"


def test_a_restart_opens_and_tells_nothing_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log, folder = tmp_path / "log", tmp_path / "run"
    shutil.copytree(SAMPLES / "preemption-storm", folder)
    with inbox() as chat:
        arguments = (
            "watch",
            str(folder),
            "--every",
            "0.2s",
            "--port",
            "0",
            "--store",
            str(tmp_path / "s.duckdb"),
        )
        secret = {"DIAGNOSE_WEBHOOK": f"{chat.url}/services/T0K3N"}
        with started(*arguments, log=log, **secret) as first:
            address = address_in(log, METRICS, first)
            until("it is told", lambda: len(chat.texts()) >= 2)
            wanted = 'diagnose_watch_finding{deployment="tiny-llama",rule="preemption-storm",severity="critical"} 1\n'
            until("it is exposed", lambda: wanted in requests.get(f"{address}/metrics", timeout=30).text)
            assert requests.get(f"{address}/healthz", timeout=30).text == "ok\n"
            assert requests.get(f"{address}/secret", timeout=30).status_code == 404
            assert main([*arguments]) == 2
            assert "another process owns this store" in capsys.readouterr().err
            first.send_signal(signal.SIGTERM)
            assert first.wait(60) == 0
        told, said = chat.texts(), log.read_text()
        (folder / "engine.log").unlink()
        shutil.copy(SAMPLES / "healthy" / "openmetrics.txt.gz", folder)
        with started(*arguments, log=log, **secret) as second:
            until("it is resolved", lambda: " resolved  critical preemption-storm" in log.read_text())
            until("that is told", lambda: any("resolved: preemption-storm" in t for t in chat.texts()))
            second.send_signal(signal.SIGINT)
            assert second.wait(60) == 0
    assert not [t for t in chat.texts()[len(told) :] if "rotating_light" in t]
    assert " opened " not in log.read_text().removeprefix(said)
    assert "T0K3N" not in log.read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to watch"),
        (["-"], "standard input"),
        (["x", "--format=json"], "--format: not with watch"),
        (["x", "--from", "0"], "--from: not with watch"),
        (["x", "--webhook", "hooks.example/T0K3N"], "--webhook, address 1"),
        (["x", "--alertmanager", "http://"], "--alertmanager, address 1"),
        (["x", "--every", "0"], "no duration"),
        (["x", "--store", "x/s.duckdb"], "--store x/s.duckdb: lies in the input x"),
        (["x", "--port", "70000"], "--port 70000: cannot listen"),
    ],
)
def test_a_wrong_option_is_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", *arguments]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert "T0K3N" not in said


def test_a_dashboard_watches_only_what_it_was_given(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dashboard", "--watch"]) == 2
    assert "nothing to watch" in capsys.readouterr().err


def test_a_hostile_name_stays_one_label(tmp_path: Path) -> None:
    name = 'a"} 1\nevil{x="y'
    write_openmetrics(
        add_vllm(Recording(), 73, model=name, running=8, waiting=20, queue_seconds=4.0, ttft_seconds=4.2),
        tmp_path,
    )
    said: list[str] = []
    watcher = Watcher(WatchOptions((str(tmp_path),), Options()), said.append)
    watcher.round(time.time())
    text = watcher.exposition
    assert "diagnose_watch_finding{" in text
    assert not [line for line in text.splitlines() if line.startswith("evil")]
    assert all(" opened " in line and "\n" not in line for line in said)
