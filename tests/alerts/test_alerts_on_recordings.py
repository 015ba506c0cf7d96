"""The alerts over the sample recordings in a real Prometheus: what fires is what was wrong, and nothing else.

Times are stretched tenfold, so that two minutes become twenty; the two incidents of a quarter of an hour are looked
at in their own time too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from alerts.refill import prometheus, stretched

from diagnostics.alerts import AlertOptions, as_rules
from diagnostics.alerts.backtest import backtest, read_rules
from diagnostics.alerts.options import INTERVAL
from diagnostics.alerts.rules import alerting_rules
from diagnostics.alerts.timeline import Span
from diagnostics.cli.backtest_command import parse
from diagnostics.model.errors import InputError
from diagnostics.options import Access
from diagnostics.sources.http import open_session

SAMPLES = Path(__file__).parents[2] / "sample_data"
FACTOR = 10.0
KNEE = "past-saturation-knee"


@dataclass(frozen=True)
class Truth:
    """What is wrong in a recording.

    ``onset`` is in seconds of the recording's own time, ``within`` the minutes after it, in the time of the alerts, in
    which the alert is there.
    """

    rule: str | None
    also: tuple[str, ...] = ()
    onset: float = 0.0
    within: float = 0.0


TRUTH = {
    "blind-routing": Truth(None),
    "healthy": Truth(None),
    "concurrency-cap": Truth("cap-throttled", (KNEE,), 305, 8),
    "kv-memory": Truth("memory-bound", (KNEE,), 316, 7),
    "preemption-storm": Truth("preemption-storm", ("memory-bound", KNEE), 0, 6),
    "prefill-stalls": Truth("prefill-stalls-decode", (), 0, 16),
    "replica-dies": Truth("replica-down-or-restarting", (), 58, 3),
    "round-robin": Truth("round-robin-imbalance", (), 0, 12),
    "speculation-misfit": Truth("low-acceptance", (), 0, 4),
    "token-budget": Truth("token-budget-bound", (KNEE,), 0, 8),
}
IN_OWN_TIME = ("concurrency-cap", "kv-memory")
Fired = dict[str, list[tuple[str, str, float]]]


@dataclass(frozen=True)
class Server:
    url: str
    ranges: dict[str, tuple[float, float]]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    names = set(re.findall(r"vllm:\w+|up|process_start_time_seconds", as_rules()))
    lines: list[str] = []
    ranges: dict[str, tuple[float, float]] = {}
    jobs = [(f, f, FACTOR) for f in TRUTH] + [(f"{f} own time", f, 1.0) for f in IN_OWN_TIME]
    for job, folder, factor in jobs:
        found, first, last = stretched(SAMPLES / folder / "openmetrics.txt.gz", job, factor, names)
        lines += found
        ranges[job] = (first, last)
    with prometheus(lines, tmp_path_factory.mktemp("alerts")) as url:
        yield Server(url, ranges)


def _fired(server: Server, jobs: list[str], stretch: float) -> Fired:
    """Which alerts fired within each job's time: (rule, severity, minutes after its first sample)."""
    select = f'job=~"{"|".join(jobs)}"'
    groups = alerting_rules(AlertOptions(stretch=stretch, select=select))
    span = Span(min(server.ranges[j][0] for j in jobs), max(server.ranges[j][1] for j in jobs), INTERVAL)
    rule_of = {r["alert"]: r["labels"]["rule"] for r in groups[1]["rules"]}
    found: Fired = {j: [] for j in jobs}
    with open_session(Access()) as session:
        for history in backtest(groups, session, server.url, span):
            assert not history.error, (history.alert, history.error)
            for episode in history.episodes:
                job = dict(episode.labels)["job"]
                first, last = server.ranges[job]
                # What lingers after the last sample is the look-back of Prometheus.
                if episode.fired <= last:
                    found[job].append(
                        (rule_of[history.alert], history.severity, (episode.fired - first) / 60)
                    )
    return found


@pytest.fixture(scope="module")
def fired(server: Server) -> Fired:
    return _fired(server, list(TRUTH), FACTOR)


@pytest.mark.parametrize("folder", list(TRUTH))
def test_what_fires_is_what_was_wrong(folder: str, fired: Fired) -> None:
    truth = TRUTH[folder]
    loud = {rule for rule, severity, _ in fired[folder] if severity != "info"}
    allowed = {truth.rule, *truth.also} if truth.rule else set()
    assert loud <= allowed
    if truth.rule is None:
        assert not fired[folder]
        return
    assert truth.rule in loud
    onset = truth.onset * FACTOR / 60
    delays = [at - onset for rule, _, at in fired[folder] if rule == truth.rule]
    assert 0 < min(delays) <= truth.within


def test_incidents_of_minutes_are_seen_while_they_last(server: Server) -> None:
    found = _fired(server, [f"{folder} own time" for folder in IN_OWN_TIME], 1.0)
    for folder in IN_OWN_TIME:
        truth = TRUTH[folder]
        events = found[f"{folder} own time"]
        assert {rule for rule, _, _ in events} <= {truth.rule, *truth.also}
        first = min(at for rule, _, at in events if rule == truth.rule)
        assert 0 < first - truth.onset / 60 <= 5


def test_backtest_of_a_file_lists_firings(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rules.yml"
    file.write_text(as_rules(AlertOptions(only=("memory-bound", "idle-capacity"), select='job="kv-memory"')))
    first, last = server.ranges["kv-memory"]
    arguments = ["backtest", str(file), "--prometheus", server.url, "--from", str(first), "--to", str(last)]
    command = parse([*arguments, "--format", "json"])
    assert command.action(command) == 0
    answer = json.loads(capsys.readouterr().out)
    by_alert = {(a["alert"], a["severity"]): a for a in answer["alerts"]}
    warning = by_alert["LLMMemoryBound", "warning"]
    assert warning["fired"] == 1
    assert warning["episodes"][0]["labels"]["instance"] == "vllm-0:8000"
    assert warning["episodes"][0]["fired"] - warning["episodes"][0]["pending"] == warning["for_seconds"]
    assert by_alert["LLMIdleCapacity", "info"]["fired"] == 0
    command = parse(arguments)
    assert command.action(command) == 0
    text = capsys.readouterr().out
    assert text.index("LLMMemoryBound") < text.index("LLMIdleCapacity")
    assert "instance=vllm-0:8000" in text


def test_backtest_says_what_is_wrong_with_its_input(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "rules.yml"
    for text, words in (
        ("groups: [", "YAML"),
        ("a: 1", "no groups"),
        ("groups: [{name: x}]", "without rules"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=words):
            read_rules(str(file))
    file.write_text('groups: [{name: x, rules: [{alert: A, expr: "sum("}]}]')
    command = parse(["backtest", str(file), "--prometheus", server.url, "--since", "1h"])
    with pytest.raises(InputError, match="parse error"):
        command.action(command)
    gone = parse(["backtest", "--prometheus", "http://127.0.0.1:9", "--since", "1h"])
    with pytest.raises(InputError, match="refused"):
        gone.action(gone)
