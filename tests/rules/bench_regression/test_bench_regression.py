"""A baseline that the user names, and noise on both sides."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.bench import detailed, judge_bench, serve
from support.findings import finding, fired, reason

from diagnostics import Options, diagnose
from diagnostics.execute import bench, bench_compare
from diagnostics.execute.bench_compare import Change
from diagnostics.model.bench import BenchRun
from diagnostics.model.errors import OptionError
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report
from diagnostics.pipeline import load

SLUG = "bench-regression"


def _runs(folder: Path, *results: dict[str, Any]) -> list[BenchRun]:
    """Results read by the real readers, one run each."""
    paths = []
    for i, result in enumerate(results):
        paths.append(folder / f"{len(list(folder.iterdir()))}_{i}.json")
        paths[-1].write_text(json.dumps(result))
    return [run for capture in load([str(p) for p in paths], Options()).captures for run in capture.runs]


def _requests(ttft: float, n: int = 200) -> dict[str, Any]:
    """First tokens that scatter by a third around a middle."""
    waits = [ttft * (0.7 + 0.6 * (i * 37 % n) / n) for i in range(n)]
    lengths = [50 + 13 * i % 700 for i in range(n)]
    return detailed([i / 4 for i in range(n)], waits, [1.0] * n, lengths, lengths, rate=4.0)


def _change(before: BenchRun, after: BenchRun, metric: str) -> Change:
    found = bench_compare.changes(before.steps, after.steps)
    return next(c for c in found if c.metric == metric)


@pytest.mark.parametrize(("later", "beyond"), [(0.102, False), (0.2, True), (0.05, True)])
def test_requests_bring_their_own_noise(later: float, beyond: bool, tmp_path: Path) -> None:
    """Medians differ beyond noise when their intervals over the requests do not overlap."""
    a, b = _runs(tmp_path, _requests(0.1), _requests(later))
    found = _change(a, b, "ttft")
    assert found.beyond_noise is beyond
    assert found.noise == "requests"
    assert (found.worse > 0) is (later > 0.1)


def test_two_bare_means_prove_nothing(tmp_path: Path) -> None:
    """However far apart, without repeats or requests nothing is beyond noise."""
    a, b = _runs(tmp_path, serve(rate=4.0, output_tps=100.0), serve(rate=4.0, output_tps=50.0))
    found = _change(a, b, "output_tps")
    assert found.worse == pytest.approx(0.5)
    assert (found.beyond_noise, found.noise) == (False, "")


@pytest.mark.parametrize(("later", "beyond"), [((98.0, 99.0, 97.0), False), ((80.0, 81.0, 79.0), True)])
def test_repeats_bring_their_spread(later: tuple[float, ...], beyond: bool, tmp_path: Path) -> None:
    """Means of repeats differ beyond noise when several spreads lie between them."""
    early = _runs(tmp_path, *(serve(rate=4.0, output_tps=x) for x in (100.0, 101.0, 99.0)))
    late = _runs(tmp_path, *(serve(rate=4.0, output_tps=x) for x in later))
    found = bench_compare.changes([r.steps[0] for r in early], [r.steps[0] for r in late])[0]
    assert found.beyond_noise is beyond


def test_another_load_or_work_is_not_compared(tmp_path: Path) -> None:
    """Rates and lengths must agree."""
    a, other_rate, other_work = _runs(
        tmp_path, serve(rate=4.0), serve(rate=5.0), serve(rate=4.0, outputs=(200, 400))
    )
    assert list(bench_compare.matched(a, other_rate)) == []
    assert list(bench_compare.matched(a, other_work)) == []
    assert len(list(bench_compare.matched(a, a))) == 1


def test_what_else_differs_is_named(tmp_path: Path) -> None:
    """Settings known on both sides that are not the same."""
    a, b = _runs(tmp_path, serve(tensor_parallel_size=1), serve(tensor_parallel_size=2, model_id="n"))
    assert bench_compare.differences(a, b) == ["model", "tp"]


def test_which_run_came_first_is_never_guessed(tmp_path: Path) -> None:
    """Two runs, one far worse, and no baseline: no verdict, and how to get one."""
    report = judge_bench(tmp_path, _requests(0.1), _requests(0.4))
    assert not fired(report, SLUG)
    assert reason(report, SLUG) is Reason.OPTION_NOT_GIVEN


def test_a_baseline_is_no_measurement_of_its_own(tmp_path: Path) -> None:
    """Other rules do not judge the run that was only given to compare with."""
    (run,) = _runs(tmp_path, serve())
    run.extra[bench.BASELINE] = True

    class _Only:
        runs = (run,)

    assert bench.measured(_Only()) == []  # type: ignore[arg-type]


def _judge_against(folder: Path, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Report:
    """Diagnose results with a folder of others as the baseline."""
    for name, results in (("a", before), ("b", after)):
        (folder / name).mkdir()
        for i, result in enumerate(results):
            (folder / name / f"{i}.json").write_text(json.dumps(result))
    return diagnose([str(folder / "b")], Options(baseline=str(folder / "a"))).report


@pytest.mark.parametrize(("later", "severity"), [(0.4, Severity.WARNING), (0.102, None), (0.05, None)])
def test_worse_than_the_named_baseline(later: float, severity: Severity | None, tmp_path: Path) -> None:
    """First tokens four times slower than the baseline's, beyond the scatter of the requests; better or equal is no finding."""
    found = finding(_judge_against(tmp_path, [_requests(0.1)], [_requests(later)]), SLUG)
    assert (found.severity if found else None) is severity


def test_a_trend_against_the_baseline_answers_the_rules_on_pairs(tmp_path: Path) -> None:
    """Speculation off in the baseline and on in the run: the pair is compared over its loads."""
    off = [serve(cap=c, output_tps=50.0 * c, speculative_method="none") for c in (4, 16, 64)]
    on = [
        serve(cap=c, output_tps=50.0 * c * r, speculative_method="eagle")
        for c, r in ((4, 1.5), (16, 1.1), (64, 0.7))
    ]
    assert fired(_judge_against(tmp_path, off, on), "speculation-at-high-batch")


def test_the_baseline_itself_is_not_judged(tmp_path: Path) -> None:
    """A baseline in a closed loop is no fault of the run that is asked about."""
    report = _judge_against(tmp_path, [serve(cap=8)], [serve(rate=4.0)])
    assert not fired(report, "closed-loop")


def test_a_baseline_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    """What was named, and what is wrong with it."""
    (tmp_path / "b.json").write_text(json.dumps(serve(rate=4.0)))
    with pytest.raises(OptionError, match=r"--baseline .*gone.json: no such file or folder"):
        diagnose([str(tmp_path / "b.json")], Options(baseline=str(tmp_path / "gone.json")))


@pytest.mark.parametrize(("first", "fires"), [("20260101-000000", True), ("20260301-000000", False)])
def test_dates_order_an_upgrade_of_the_engine(first: str, fires: bool, tmp_path: Path) -> None:
    """Only the release differs, and the slower run is the later one by the dates inside the files."""
    old = _requests(0.1) | {"engine_version": "0.9.0", "date": first}
    new = _requests(0.4) | {"engine_version": "0.10.0", "date": "20260201-000000"}
    report = judge_bench(tmp_path, old, new)
    assert fired(report, SLUG) is fires
