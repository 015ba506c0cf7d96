"""Regimes: which limit was binding when, from windows and never from one reading."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from support.findings import loud, regimes
from support.series import Recording
from support.vllm import add_vllm, vllm

from diagnostics.model.report import Regime, Report, Segment
from diagnostics.signals.regimes import PREFILL_BUSY

Judge = Callable[..., Report]
CAP = "vllm serve m --max-num-seqs 8"


def _segments(report: Report, replica: int = 0) -> tuple[Segment, ...]:
    return report.regimes[replica].segments


def _seconds(report: Report, regime: Regime) -> float:
    return sum(s.end - s.start for s in _segments(report) if s.regime is regime)


def _block(n: int, inside: range, value: float, outside: float = 0.0) -> list[float]:
    return [value if i in inside else outside for i in range(n)]


@pytest.mark.parametrize(
    ("facts", "regime"),
    [
        ({"running": 3}, "unsaturated"),
        ({"running": 0, "generated": 0, "prompts": 0, "finished": 0, "engine_steps": 0}, "idle"),
        ({"running": 8, "waiting": 20}, "cap"),
        ({"running": "4+0.01x60", "waiting": 20, "kv": 0.95}, "kv-memory"),
        ({"running": "4+0.01x60", "preempted": 3, "kv": 0.95}, "preempting"),
        ({"running": "4+0.01x60", "waiting": 20, "kv": 0.4}, "queueing"),
        ({"running": 3, "up": [1.0] * 20 + [0.0] * 41}, "down"),
    ],
)
def test_each_regime_is_told_from_its_signs(facts: dict[str, object], regime: str, judge: Judge) -> None:
    """One kind of trouble a recording, and the regime that belongs to it."""
    assert regime in regimes(judge(vllm(command=CAP, **facts)))


def test_segments_follow_each_other_without_gaps(judge: Judge) -> None:
    """Every moment of a replica belongs to exactly one regime."""
    inside = range(40, 80)
    report = judge(vllm(121, running=_block(121, inside, 8, 2), waiting=_block(121, inside, 20), command=CAP))
    segments = _segments(report)
    assert len(segments) == 3
    assert all(a.end == b.start for a, b in pairwise(segments))
    assert all(a.regime is not b.regime for a, b in pairwise(segments))
    assert all(s.end > s.start for s in segments)


def test_an_incident_is_found_where_it_was(judge: Judge) -> None:
    """The window of a stretch lies within half a minute of the truth on both sides."""
    inside = range(40, 80)
    rec = vllm(121, running=_block(121, inside, 8, 2), waiting=_block(121, inside, 20), command=CAP)
    cap = next(s for s in _segments(judge(rec)) if s.regime is Regime.CAP)
    assert abs(cap.start - rec.time(40)) <= 30
    assert abs(cap.end - rec.time(80)) <= 30


@pytest.mark.parametrize("scrapes", [1, 2])
def test_a_lucky_scrape_decides_nothing(scrapes: int, judge: Judge) -> None:
    """One or two readings of a queue in five minutes are no regime."""
    inside = range(30, 30 + scrapes)
    rec = vllm(running=_block(61, inside, 8, 2), waiting=_block(61, inside, 5), command=CAP)
    assert regimes(judge(rec)) == {"unsaturated"}


def test_short_changes_are_absorbed(judge: Judge) -> None:
    """A queue that vanishes for two scrapes within a long stretch does not cut it in two."""
    waiting = [20.0] * 29 + [0.0] * 2 + [20.0] * 30
    rec = vllm(running=8, waiting=waiting, command=CAP)
    assert [s.regime for s in _segments(judge(rec))] == [Regime.CAP]


@pytest.mark.parametrize(("scrapes", "regime"), [(3, "undecided"), (4, "cap")])
def test_four_scrapes_make_a_window(scrapes: int, regime: str, judge: Judge) -> None:
    """Fewer scrapes than the least decide nothing."""
    rec = vllm(scrapes, step=15.0, running=8, waiting=20, command=CAP)
    assert regimes(judge(rec)) <= {regime}


@pytest.mark.parametrize("step", [1.0, 5.0, 15.0, 30.0, 60.0])
def test_the_regime_does_not_hang_on_the_scrape_interval(step: float, judge: Judge) -> None:
    """The same ten minutes give the same regimes whatever the interval."""
    n = int(600 / step) + 1
    rec = vllm(n, step=step, running=8, waiting=20, command=CAP)
    report = judge(rec)
    assert regimes(report) == {"cap"}
    assert report.verdict.coverage == 1.0


def test_jitter_of_the_scrapes_makes_no_gaps(judge: Judge) -> None:
    """Scrapes that come a second early or late are still one each."""
    rec = vllm(running=8, waiting=20, command=CAP)
    text_times = [rec.time(i) + (0.9 if i % 3 else -0.9) for i in range(61)]
    rec.time = lambda scrape: text_times[scrape]  # type: ignore[method-assign]
    assert [s.regime for s in _segments(judge(rec))] == [Regime.CAP]


def test_without_the_queue_nothing_is_decided(judge: Judge) -> None:
    """A server whose queue is not exported may be saturated: undecided, and never healthy."""
    report = judge(vllm().without("vllm:num_requests_waiting"))
    assert regimes(report) == {"undecided"}
    assert report.verdict.status == "insufficient-data"


def test_a_queue_without_cache_usage_below_the_cap_is_undecided(judge: Judge) -> None:
    """Requests wait, but whether memory holds them back is not in the data."""
    rec = vllm(running="3+0.01x60", waiting=20, command=CAP, prompts=10).without("vllm:kv_cache")
    assert regimes(judge(rec)) == {"undecided"}


@pytest.mark.parametrize(("failed", "down"), [(1, False), (4, True)])
def test_one_failed_scrape_is_no_outage(failed: int, down: bool, judge: Judge) -> None:
    """A single failed scrape leaves the course as it was; a row of them is an outage."""
    up = [1.0] * 30 + [0.0] * failed + [1.0] * (31 - failed)
    assert ("down" in regimes(judge(vllm(up=up)))) is down


def test_scattered_failed_scrapes_are_no_outage(judge: Judge) -> None:
    """A loaded server that answers late every fourth time is not down."""
    up = [0.0 if i % 4 == 0 else 1.0 for i in range(61)]
    assert "down" not in regimes(judge(vllm(up=up)))


def test_an_outage_is_as_long_as_it_was(judge: Judge) -> None:
    """Twenty failed scrapes of five seconds are a hundred seconds."""
    up = [1.0] * 20 + [0.0] * 20 + [1.0] * 21
    assert _seconds(judge(vllm(up=up)), Regime.DOWN) == pytest.approx(100, abs=6)


def test_a_restart_is_no_storm_and_no_jump(judge: Judge) -> None:
    """Counters begin again with a new process: growth stays what it was, and a restart is found."""
    rec = vllm(process_start=[1.75e9] * 30 + [1.7600001e9] * 31)
    for line in rec.lines:
        if line.name.endswith(("_total", "_sum", "_count", "_bucket")):
            before = [float(v or 0) + 1e6 for v in line.values[:30]]
            line.values = [*before, *line.values[:31]]
    report = judge(rec)
    assert report.verdict.primary == "replica-down-or-restarting"
    assert "preempting" not in regimes(report)
    assert loud(report) == {"replica-down-or-restarting"}


def test_deferred_requests_are_no_backlog(judge: Judge) -> None:
    """Requests held back for another reason than capacity do not make a queue."""
    rec = vllm(running=8, waiting=20, command=CAP)
    labels = {"instance": "vllm-0:8000", "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    rec.add("vllm:num_requests_waiting_by_reason", "20x60", **labels, reason="deferred")
    rec.add("vllm:num_requests_waiting_by_reason", "0x60", **labels, reason="capacity")
    assert "cap" not in regimes(judge(rec))


def test_a_gap_in_the_scrapes_is_not_decided(judge: Judge) -> None:
    """Ten minutes without a scrape in the middle are not called healthy."""
    hole: list[float | None] = [3.0] * 60 + [None] * 120 + [3.0] * 60
    rec = vllm(240)
    for line in rec.lines:
        line.values = [v if hole[i] is not None else None for i, v in enumerate(line.values)]
    report = judge(rec)
    assert report.verdict.coverage < 0.9
    assert report.verdict.status == "insufficient-data"


def test_each_replica_has_its_own_course(judge: Judge) -> None:
    """One replica at its cap does not colour the other."""
    rec = Recording(command=CAP)
    add_vllm(rec, instance="a:8000", running=8, waiting=20)
    add_vllm(rec, instance="b:8000", running=2)
    by_name = {r.replica: {s.regime.value for s in r.segments} for r in judge(rec).regimes}
    assert by_name == {"a:8000": {"cap"}, "b:8000": {"unsaturated"}}


def test_nan_gauges_are_absent(judge: Judge) -> None:
    """A gauge that is NaN all the time is a signal that is not there."""
    rec = vllm(kv=[float("nan")] * 61)
    report = judge(rec)
    assert "memory-bound" in {n.rule for n in report.not_evaluated}
    assert "memory-bound" not in report.passed


@pytest.mark.parametrize(("busy", "expected"), [(PREFILL_BUSY, "token-budget"), (PREFILL_BUSY - 0.1, "cap")])
def test_prefill_that_never_pauses_beats_a_flat_top(busy: float, expected: str, judge: Judge) -> None:
    """Without a flag few readings may show one count by chance; seconds of prefill in every second do not."""
    rec = vllm(
        8, running=4, waiting=20, prompts=9500, generated=300, finished=5, prefill_seconds=busy + 0.001
    )
    assert expected in regimes(judge(rec))


def test_a_short_limit_is_not_called_none_at_all(judge: Judge) -> None:
    """Where nothing fires although a limit was binding for a while, the sentence says so."""
    waiting = [0.0] * 110 + [20.0] * 8 + [0.0] * 110
    running = [3.0] * 110 + [8.0] * 8 + [3.0] * 110
    report = judge(vllm(228, running=running, waiting=waiting, command=CAP))
    assert "cap" in regimes(report)
    assert report.verdict.status == "healthy"
    assert "no limit binding at any time" not in report.verdict.headline
    assert "too short to be a finding" in report.verdict.headline
