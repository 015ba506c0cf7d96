"""A recording as a real Prometheus holds it, watched minute by minute: calm, an incident, calm again."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from alerts.refill import free_port, prometheus
from watch.receiver import Inbox, inbox
from watch.replay import piece

from diagnostics.model.errors import InputError
from diagnostics.options import Options
from diagnostics.watch.options import WatchOptions
from diagnostics.watch.watcher import Watcher

START = 1_790_000_000.0
ROUND = 60.0
SECRET = "T0K3N"


class Course:
    """A watcher driven by a clock of its own, and everything it said."""

    def __init__(self, url: str, store: Path, chat: str) -> None:
        self.plan = WatchOptions((url,), Options(since=900.0, store=str(store)), webhooks=(chat,))
        self.said: list[str] = []
        self.at = START + 4 * ROUND
        self.begin()

    def begin(self) -> None:
        self.watcher = Watcher(self.plan, self.said.append, now=self.at)

    def restart(self) -> None:
        """End without a word, and start again on the same store."""
        self.watcher._store.close()
        self.begin()

    def until(self, end: float) -> None:
        """Rounds, a minute apart."""
        while self.at <= end:
            self.watcher.round(self.at)
            self.at += ROUND

    def changes(self) -> Counter[tuple[str, str]]:
        """How often each rule opened and was resolved."""
        words = [line.split() for line in self.said]
        return Counter((w[1], w[3]) for w in words if w[1] in ("opened", "worse", "resolved"))


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Course, Inbox, dict[str, str]]:
    """The incident of a quarter of an hour, with two restarts and an outage of Prometheus while it lasts."""
    work = tmp_path_factory.mktemp("replay")
    lines, last = piece("concurrency-cap", START)
    port = free_port()
    seen: dict[str, str] = {}
    with inbox() as chat:
        course = Course(f"http://127.0.0.1:{port}", work / "watch.duckdb", f"{chat.url}/services/{SECRET}")
        with prometheus(lines, work, port):
            course.until(START + 360)
            seen["calm"] = course.watcher.exposition
            chat.status = 503
            course.until(START + 420)
            seen["refused"] = course.watcher.exposition
            chat.status = 200
            course.restart()
            course.until(START + 480)
            seen["during"] = course.watcher.exposition
        course.until(START + 540)
        seen["outage"] = course.watcher.exposition
        with prometheus([], work, port):
            course.until(START + 600)
            course.restart()
            course.until(last)
            seen["after"] = course.watcher.exposition
        yield course, chat, seen
        course.watcher._store.close()


Watched = tuple[Course, Inbox, dict[str, str]]
LABELS = 'deployment="tiny-llama",rule="cap-throttled",severity="critical"'


def test_each_incident_is_opened_once_and_resolved_once(watched: Watched) -> None:
    assert watched[0].changes() == {
        ("opened", "prefix-cache-miss"): 1,
        ("opened", "cap-throttled"): 1,
        ("opened", "past-saturation-knee"): 1,
        ("resolved", "cap-throttled"): 1,
        ("resolved", "past-saturation-knee"): 1,
    }


def test_the_chat_hears_once_what_is_loud_although_it_was_away(watched: Watched) -> None:
    texts = watched[1].texts()
    assert [t.split("\n")[0] for t in texts] == [
        ":rotating_light: critical: cap-throttled on tiny-llama",
        ":rotating_light: warning: past-saturation-knee on tiny-llama",
        ":white_check_mark: resolved: cap-throttled on tiny-llama, after 7 min",
        ":white_check_mark: resolved: past-saturation-knee on tiny-llama, after 7 min",
    ]
    assert "\nNow: " in texts[0]


def test_metrics_follow(watched: Watched) -> None:
    seen = watched[2]
    assert LABELS not in seen["calm"]
    assert f"diagnose_watch_finding{{{LABELS}}} 1\n" in seen["during"]
    assert f"diagnose_watch_finding{{{LABELS}}} 0\n" in seen["after"]
    assert "diagnose_watch_notification_failures_total 1\n" in seen["refused"]
    assert "diagnose_watch_failures_total 0\n" in seen["during"]
    assert "diagnose_watch_failures_total 1\n" in seen["outage"]
    assert f"diagnose_watch_last_success_timestamp_seconds {START + 480}\n" in seen["outage"]
    assert f"diagnose_watch_finding{{{LABELS}}} 1\n" in seen["outage"]


def test_what_fails_is_one_line_and_its_end_another(watched: Watched) -> None:
    failing = [line for line in watched[0].said if " failing " in line]
    assert len(failing) == 2
    assert "webhook at 127.0.0.1" in failing[0]
    assert "the connection was refused" in failing[1]
    recovered = [line.split()[2:] for line in watched[0].said if " recovered " in line]
    assert recovered == [watched[0].plan.inputs[0].split()]


def test_no_secret_is_said_shown_or_kept(watched: Watched) -> None:
    course, _, seen = watched
    everything = "\n".join([*course.said, *seen.values(), repr(course.plan)])
    assert SECRET not in everything
    kept = course.watcher._store._db.execute("SELECT * FROM incidents").fetchall()
    assert SECRET not in repr(kept)


def test_the_evidence_is_kept(watched: Watched) -> None:
    store = watched[0].watcher._store
    kept = {i.rule: i for i in store.known(0.0)}
    incident = kept["cap-throttled"]
    assert incident.resolved_at == incident.opened_at + 7 * ROUND
    assert incident.finding["evidence"][0]["value"] > 0
    assert incident.finding["window"]["start"].startswith("2026-")
    assert store.waiting() == []


def test_a_dead_source_is_asked_less_often(tmp_path: Path) -> None:
    course = Course(f"http://127.0.0.1:{free_port()}", tmp_path / "s.duckdb", "http://127.0.0.1:1/x")
    course.until(START + 43 * ROUND)
    assert "diagnose_watch_rounds_total 8\n" in course.watcher.exposition
    assert "diagnose_watch_failures_total 8\n" in course.watcher.exposition
    assert len(course.said) == 1


def test_a_file_that_is_no_store_is_said(tmp_path: Path) -> None:
    (tmp_path / "no.duckdb").write_text("this is no store")
    with pytest.raises(InputError, match=r"no\.duckdb: "):
        Course("http://127.0.0.1:1", tmp_path / "no.duckdb", "http://127.0.0.1:1/x")
