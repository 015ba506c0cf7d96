"""The memory rule at its thresholds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.findings import finding, fired
from support.vllm import vllm

from diagnostics.model.report import Report
from diagnostics.rules.memory_bound import THIN_KV, THIN_QUEUE, THIN_QUEUE_MIN
from diagnostics.signals.regimes import KV_FULL

SLUG = "memory-bound"
EPS = 1e-6
CAP = "vllm serve m --max-num-seqs 64"
RAMP = "5+0.1x60"
Judge = Callable[..., Report]


@pytest.mark.parametrize(("kv", "fires"), [(KV_FULL - EPS, False), (KV_FULL + EPS, True)])
def test_memory_is_the_limit_from_its_threshold(kv: float, fires: bool, judge: Judge) -> None:
    """The mean of KV usage while requests wait decides."""
    rec = vllm(running=RAMP, waiting=20, kv=kv, command=CAP)
    assert fired(judge(rec), SLUG) is fires


@pytest.mark.parametrize(
    ("running", "waiting", "kv", "fires"),
    [
        (20, THIN_QUEUE * 20, THIN_KV, True),
        (20, THIN_QUEUE * 20, THIN_KV - EPS, False),
        (20, THIN_QUEUE * 20 - 1, THIN_KV, False),
        (4, THIN_QUEUE_MIN, THIN_KV, True),
        (4, THIN_QUEUE_MIN - 1, THIN_KV, False),
        (64, THIN_QUEUE * 64, THIN_KV, False),
    ],
)
def test_single_readings_must_be_extreme(
    running: float, waiting: float, kv: float, fires: bool, judge: Judge
) -> None:
    """Dumps fire only with a full pool and a long queue below the cap, and are never sure."""
    rec = vllm(running=running, waiting=waiting, kv=kv, command=CAP)
    found = finding(judge(rec, "dumps"), SLUG)
    assert (found is not None) is fires
    if found:
        assert found.confidence <= 0.5


def test_raising_the_cap_is_advised_against(judge: Judge) -> None:
    """The tempting step is named as one that hurts, and something helps without a restart."""
    found = finding(judge(vllm(running=RAMP, waiting=20, kv=0.95, command=CAP)), SLUG)
    assert found is not None
    assert any("concurrency cap" in step for step in found.do_not)
    assert not found.remedies[0].restart
    assert "--max-num-seqs" not in {r.flag for r in found.remedies}


def test_an_override_of_the_pool_is_named(judge: Judge) -> None:
    """A pool that is fixed by a flag is the first thing to undo."""
    rec = vllm(running=RAMP, waiting=20, kv=0.95, command=f"{CAP} --num-gpu-blocks-override 48")
    found = finding(judge(rec), SLUG)
    assert found is not None
    undo = next(r for r in found.remedies if r.flag == "--num-gpu-blocks-override")
    assert undo.current == "48"
