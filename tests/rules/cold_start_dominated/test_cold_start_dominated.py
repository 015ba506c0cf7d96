"""The rule on slow starts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.texts import log, read

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason
from diagnostics.rules.cold_start_dominated import DOMINATES, LONG_START, MIN_STAGES

SLUG = "cold-start-dominated"


def _start(load: float, compiled: float, graphs: float = 0.0, profile: float = 0.0) -> str:
    lines = [f"Loading weights took {load:.2f} seconds", f"torch.compile takes {compiled:.2f} s in total"]
    if graphs:
        lines.append(f"Graph capturing finished in {graphs:.0f} secs, took 1.35 GiB")
    if profile:
        lines.append(f"Memory profiling takes {profile:.2f} seconds")
    return log(*lines)


@pytest.mark.parametrize(("total", "fires"), [(LONG_START - 1, False), (LONG_START, True)])
def test_a_start_is_long_from_its_threshold(total: float, fires: bool, tmp_path: Path) -> None:
    """Minutes of known stages, most of it in one."""
    assert fired(read(tmp_path, _start(total - 20, 20)), SLUG) is fires


@pytest.mark.parametrize(("longest", "fires"), [(DOMINATES - 0.01, False), (DOMINATES, True)])
def test_one_stage_dominates_from_its_threshold(longest: float, fires: bool, tmp_path: Path) -> None:
    """Stages of about equal length leave none to work on."""
    rest = 1000 * (1 - longest) / 3
    assert fired(read(tmp_path, _start(1000 * longest, rest, round(rest), rest)), SLUG) is fires


def test_quiet_when_the_start_was_refused(tmp_path: Path) -> None:
    """A start that ends in a refusal is not slow, it is over."""
    text = _start(400, 20) + log("ValueError: No available memory for the cache blocks.")
    assert not fired(read(tmp_path, text), SLUG)


def test_a_lone_stage_is_compared_with_nothing(tmp_path: Path) -> None:
    """A fragment of a start does not show its shape."""
    assert MIN_STAGES == 2
    report = read(tmp_path, log("Loading weights took 500.00 seconds"))
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT


def test_sums_are_taken_apart(tmp_path: Path) -> None:
    """Loading holds the download, engine initialisation holds compile and graphs."""
    found = finding(
        read(
            tmp_path,
            log(
                "Time spent downloading weights for m: 300.00 seconds",
                "Model loading took 14.99 GiB memory and 320.00 seconds",
                "torch.compile takes 40.00 s in total",
                "init engine (profile, create kv cache, warmup model) took 70.00 seconds",
            ),
        ),
        SLUG,
    )
    assert found is not None
    assert found.evidence[0].value == 390.0
    assert "downloading" in found.summary
    assert found.severity is Severity.WARNING
    assert found.remedies[0].when == "now"


def test_before_a_running_server_it_is_a_remark(tmp_path: Path) -> None:
    """The start is over, and what comes after it is what the input is about."""
    stats = "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 9.0 tokens/s, "
    stats += "Running: 1 reqs, Waiting: "
    found = finding(read(tmp_path, _start(300, 20) + log(stats + "0 reqs, GPU KV cache usage: 1.0%")), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO


def test_missing(tmp_path: Path) -> None:
    """A log without stages says how to get them."""
    report = read(tmp_path, log("Using max model len 4096"))
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
