"""Repeated prompts: counted, cached, or only suspected from the shape of first-token times."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import judge_bench, serve, waves
from support.findings import finding, fired, loud, reason

from diagnostics.model.report import Reason
from diagnostics.rules.identical_prompts import COLD_RATIO, DISTINCT_SHARE, MIN_LATER

SLUG = "identical-prompts"
COMMAND = "$ python benchmark_throughput.py --model m --num-prompts 1000 --input-len 128 --output-len 128\n"
RESULT = "Throughput: 151.99 requests/s, 38910.45 total tokens/s, 19455.23 output tokens/s\n"


@pytest.mark.parametrize(
    ("distinct", "fires"),
    [(1, True), (int(1000 * DISTINCT_SHARE), True), (int(1000 * DISTINCT_SHARE) + 1, False)],
)
def test_distinct_prompts_by_requests(distinct: int, fires: bool, tmp_path: Path) -> None:
    """At half as many distinct prompts as requests each is sent twice."""
    report = judge_bench(tmp_path, text=f"{COMMAND}# dataset: {distinct} distinct prompts\n{RESULT}")
    assert (SLUG in loud(report)) is fires


def test_without_a_cache_repetition_changes_nothing(tmp_path: Path) -> None:
    """Prompts may repeat where caching is off."""
    report = judge_bench(
        tmp_path, text=f"{COMMAND}# dataset: 1 distinct prompt, prefix caching off\n{RESULT}"
    )
    assert not fired(report, SLUG)


@pytest.mark.parametrize(("ratio", "fires"), [(COLD_RATIO - 0.1, False), (COLD_RATIO + 0.1, True)])
def test_a_cold_first_wave_of_equal_prompts(ratio: float, fires: bool, tmp_path: Path) -> None:
    """First tokens that fall to a fraction after the first wave, though the waves are as large."""
    report = judge_bench(tmp_path, waves(0.05 * ratio, 0.05))
    assert fired(report, SLUG) is fires
    found = finding(report, SLUG)
    assert found is None or found.confidence <= 0.5


def test_prompts_of_different_lengths_are_not_one_prompt(tmp_path: Path) -> None:
    """The same shape with lengths that vary is a start-up."""
    assert not fired(judge_bench(tmp_path, waves(0.5, 0.05, lengths=(100, 800))), SLUG)


def test_few_requests_prove_no_shape(tmp_path: Path) -> None:
    """A handful after the first wave is chance."""
    assert not fired(judge_bench(tmp_path, waves(0.5, 0.05, n=MIN_LATER)), SLUG)


def test_shared_on_purpose(tmp_path: Path) -> None:
    """A data set that shares prefixes says so itself."""
    text = f"{COMMAND.strip()} --dataset-name prefix_repetition\n# 1 distinct prompt\n{RESULT}"
    assert not fired(judge_bench(tmp_path, text=text), SLUG)


def test_a_summary_alone_cannot_tell(tmp_path: Path) -> None:
    """Nothing in it could show repetition."""
    report = judge_bench(tmp_path, serve(rate=4.0))
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
    assert SLUG not in report.passed
