"""The cap rule at its thresholds, and what it says."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Report
from diagnostics.model.samples import Provenance
from diagnostics.rules.cap_throttled import NEXT_CAP, THIN_QUEUE
from diagnostics.signals.regimes import (
    BACKLOG_MEAN,
    KV_SPARE,
    PINNED_MEAN,
    PLATEAU_SHARE,
    PLATEAU_SHARE_ONE_SEAT,
)

SLUG = "cap-throttled"
# Means of equal numbers may miss by a rounding error.
EPS = 1e-6
Judge = Callable[..., Report]


@pytest.mark.parametrize(("kv", "fires"), [(KV_SPARE - EPS, True), (KV_SPARE + EPS, False)])
def test_memory_is_spare_below_its_threshold(kv: float, fires: bool, judge: Judge) -> None:
    """At the threshold of spare memory and above, the cap is not the limit."""
    rec = vllm(running=8, waiting=20, kv=kv, command="vllm serve m --max-num-seqs 8")
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(("share", "fires"), [(PINNED_MEAN - 0.01, False), (PINNED_MEAN + EPS, True)])
def test_running_is_at_the_cap_from_its_threshold(share: float, fires: bool, judge: Judge) -> None:
    """Running counts as pinned from the stated share of the cap on."""
    ramp = [100 * share + 0.0001 * i for i in range(61)]
    rec = vllm(running=ramp, waiting=20, kv=0.3, command="vllm serve m --max-num-seqs 100")
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(("mean", "fires"), [(BACKLOG_MEAN - EPS, False), (BACKLOG_MEAN, True)])
def test_a_backlog_is_one_request_on_average(mean: float, fires: bool, judge: Judge) -> None:
    """Fewer than one waiting request on average is no backlog."""
    rec = vllm(running=8, waiting=mean, kv=0.3, command="vllm serve m --max-num-seqs 8")
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(("pattern", "fires"), [([4, 4, 0], True), ([4, 0, 0], False)])
def test_a_backlog_holds_in_half_of_the_scrapes(pattern: list[float], fires: bool, judge: Judge) -> None:
    """Bursts in a third of the scrapes are no backlog, in two thirds they are."""
    waiting = (pattern * 21)[:61]
    rec = vllm(running=8, waiting=waiting, kv=0.3, command="vllm serve m --max-num-seqs 8")
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("at_top", "else_at", "fires"),
    [
        (PLATEAU_SHARE, 14.0, True),
        (PLATEAU_SHARE - 0.1, 14.0, False),
        (PLATEAU_SHARE_ONE_SEAT, 15.0, True),
        (PLATEAU_SHARE_ONE_SEAT - 0.05, 15.0, False),
    ],
)
def test_a_cap_is_inferred_from_a_flat_top(at_top: float, else_at: float, fires: bool, judge: Judge) -> None:
    """Without a flag, running must stand at its top in the stated share of the scrapes with a queue."""
    top = round(20 * at_top)
    running = ([16.0] * top + [else_at] * (20 - top)) * 3
    report = judge(vllm(60, running=running, waiting=12, kv=0.3))
    assert fired(report, SLUG) is fires
    if fires:
        found = finding(report, SLUG)
        assert found is not None
        assert found.evidence[0].provenance is Provenance.INFERRED
        assert "about 16" in found.summary


@pytest.mark.parametrize(
    ("running", "waiting", "kv", "severity"),
    [
        (15, THIN_QUEUE * 16, 0.3, Severity.WARNING),
        (15, THIN_QUEUE * 16 - 1, 0.3, Severity.INFO),
        (14, THIN_QUEUE * 16, 0.3, None),
        (15, THIN_QUEUE * 16, KV_SPARE, None),
        (15, 0, 0.3, None),
    ],
)
def test_a_single_reading_must_be_extreme(
    running: float, waiting: float, kv: float, severity: Severity | None, judge: Judge
) -> None:
    """Dumps show moments: with a known cap of 16 only a full batch and a queue of half the cap are a warning."""
    rec = vllm(running=running, waiting=waiting, kv=kv, command="vllm serve m --max-num-seqs 16")
    found = finding(judge(rec, "dumps"), SLUG)
    assert (found.severity if found else None) == severity
    if found:
        assert found.confidence <= 0.5


def test_the_next_cap_is_named_with_the_flag(judge: Judge) -> None:
    """The remedy that needs a restart comes after one that needs none, and names the flag and both values."""
    rec = vllm(running=8, waiting=20, command="vllm serve m --max-num-seqs 8")
    found = finding(judge(rec), SLUG)
    assert found is not None
    assert not found.remedies[0].restart
    raised = next(r for r in found.remedies if r.flag)
    assert (raised.flag, raised.current, raised.suggested) == ("--max-num-seqs", "8", f"{8 * NEXT_CAP:.0f}")
    assert raised.restart


def test_a_broken_slo_makes_it_critical(judge: Judge) -> None:
    """A steady queue is a warning; one that breaks the given target is critical."""
    rec = vllm(running=8, waiting=20, ttft_seconds=5, command="vllm serve m --max-num-seqs 8")
    kept, broken = judge(rec, slo={"ttft_mean": 6.0}), judge(rec, slo={"ttft_mean": 4.0})
    severities = [f.severity for r in (kept, broken) if (f := finding(r, SLUG)) is not None]
    assert severities == [Severity.WARNING, Severity.CRITICAL]
