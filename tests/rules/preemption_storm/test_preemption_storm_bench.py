"""Preemptions counted beside the requests of a level."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import judge_bench
from support.findings import finding, reason

from diagnostics.execute.bench_preempted import RUN_RATIO
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report

SLUG = "preemption-storm"


def _table(folder: Path, preemptions: str) -> Report:
    """A table of two levels with 1000 answers each; the second one preempts."""
    head = "request_rate,max_concurrency,completed,duration,request_throughput,output_throughput,mean_ttft_ms,num_preemptions"
    rows = ["inf,32,1000,100,10,2000,200,0", f"inf,128,1000,90,11.1,2200,900,{preemptions}"]
    return judge_bench(folder, text="\n".join([head, *rows]) + "\n")


@pytest.mark.parametrize(
    ("count", "fires"),
    [(900, True), (int(1000 * RUN_RATIO) + 1, True), (int(1000 * RUN_RATIO) - 1, False), (0, False)],
)
def test_many_preemptions_an_answer(count: int, fires: bool, tmp_path: Path) -> None:
    """A storm by the answers of the level; a handful is none."""
    found = finding(_table(tmp_path, str(count)), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.CRITICAL


def test_a_result_that_does_not_count_them_is_not_judged(tmp_path: Path) -> None:
    """Absent is not zero."""
    head = "request_rate,max_concurrency,completed,duration,request_throughput,output_throughput,mean_ttft_ms"
    text = f"{head}\ninf,32,1000,100,10,2000,200\n"
    assert reason(judge_bench(tmp_path, text=text), SLUG) is Reason.NOT_IN_THIS_INPUT
