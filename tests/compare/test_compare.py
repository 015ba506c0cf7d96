"""What changed and did it help: known changes in recordings, each with the answer that must come out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.carriers import write_openmetrics
from support.series import START, Recording
from support.vllm import vllm

from diagnostics import Options, diagnose
from diagnostics.model.comparison import Change, Comparison
from diagnostics.model.errors import OptionError
from diagnostics.model.report import Report

Judge = Callable[..., Report]
SAMPLES = Path(__file__).parents[2] / "sample_data"
HALF, WHOLE = 60, 120
CHANGE = START + HALF * 5.0
OLD_START, NEW_START = START - 7200.0, CHANGE - 20.0


def halves(before: float, after: float, n: int = WHOLE) -> list[float]:
    """One value up to the change, another from it on."""
    return [before] * HALF + [after] * (n + 1 - HALF)


def changed(**signals: object) -> Recording:
    """Ten minutes of one server; pairs of values change in the middle."""
    made = {k: halves(*v) if isinstance(v, tuple) else v for k, v in signals.items()}
    return vllm(WHOLE + 1, **made)


def compared(report: Report) -> Comparison:
    """The comparison of a report that must have one."""
    assert report.comparison is not None
    return report.comparison


def change(found: Comparison, name: str) -> Change:
    """One number of a comparison."""
    return next(c for c in found.changes if c.name == name)


def becomes(found: Comparison) -> dict[str, str]:
    """What became of each finding."""
    return {f.rule: f.outcome for f in found.findings}


def test_without_settings_a_difference_of_two_servers_is_unexplained(tmp_path: Path) -> None:
    """Metrics of two servers do not tell their caps: neither a fault nor "nothing deployed" may be said."""
    for name, running, waiting in (("a", 8, 20), ("b", 16, 0)):
        (tmp_path / name).mkdir()
        write_openmetrics(vllm(running=running, waiting=waiting), tmp_path / name)
    found = compared(diagnose([str(tmp_path / "b")], Options(baseline=str(tmp_path / "a"))).report)
    assert found.kind == "unexplained"
    assert "not in the inputs" in found.sentence


def test_nothing_changed_is_said_to_be_nothing(judge: Judge) -> None:
    found = compared(judge(changed(), after=CHANGE))
    assert found.kind == "unchanged"
    assert not any(c.moved for c in found.changes)
    assert found.binding_before == found.binding_now == "none"


def test_more_requests_are_a_shift_of_traffic(judge: Judge) -> None:
    """Three times the requests of the same lengths against the cap: traffic, no deploy, no fault."""
    rec = changed(
        finished=(2, 6), prompts=(200, 600), generated=(120, 360), running=(3, 8), waiting=(0, 20),
        command="vllm serve m --max-num-seqs 8",
    )  # fmt: skip
    found = compared(judge(rec, after=CHANGE))
    assert found.kind == "traffic"
    assert "Traffic shifted and nothing was deployed: requests arriving" in found.sentence
    assert change(found, "requests arriving").factor == pytest.approx(3, rel=0.1)
    assert change(found, "generated tokens").better is None
    assert found.binding_now == "cap"
    assert becomes(found)["cap-throttled"] == "new"


def test_slower_without_deploy_or_traffic_is_a_fault(judge: Judge) -> None:
    """Same requests, same process, first tokens ten times later."""
    rec = changed().without("vllm:time_to_first_token")
    labels = {"instance": "vllm-0:8000", "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    rec.add("vllm:time_to_first_token_seconds_count", f"0+5x{WHOLE}", **labels)
    rec.add("vllm:time_to_first_token_seconds_sum", f"0+0.5x{HALF - 1} 34.5+5x{HALF}", **labels)
    found = compared(judge(rec, after=CHANGE))
    assert found.kind == "fault"
    assert "look for a fault" in found.sentence
    assert found.changes[0].name == "time to first token, mean"
    assert found.changes[0].better is False


def test_a_restart_alone_is_neither_deploy_nor_traffic(judge: Judge) -> None:
    found = compared(judge(changed(process_start=(OLD_START, NEW_START)), after=CHANGE))
    assert found.restarted is True
    assert found.kind == "restart"
    assert "a restart or a crash" in found.sentence


def test_a_restart_at_the_change_is_no_fault_of_the_time_after(judge: Judge) -> None:
    """The last scrape of the old process belongs to before: after it nothing restarts."""
    report = judge(changed(process_start=(OLD_START, NEW_START)), after=CHANGE)
    assert "replica-down-or-restarting" not in {f.rule for f in report.findings}


def test_a_deploy_that_helped(tmp_path: Path) -> None:
    """The cap in the launch command of each side: pinned before, free after."""
    sides = {"a": (8, 20, 8), "b": (16, 0, 64)}
    for name, (running, waiting, cap) in sides.items():
        folder = tmp_path / name
        folder.mkdir()
        write_openmetrics(
            vllm(running=running, waiting=waiting, queue_seconds=4.0 if waiting else 0.01), folder
        )
        (folder / "run.sh").write_text(f"vllm serve /models/llama --max-num-seqs {cap}\n")
    report = diagnose([str(tmp_path / "b")], Options(baseline=str(tmp_path / "a"))).report
    found = compared(report)
    assert found.kind == "deploy"
    assert [(s.name, s.before, s.after) for s in found.settings] == [("max_num_seqs", "8", "64")]
    assert becomes(found)["cap-throttled"] == "resolved"
    assert (found.binding_before, found.binding_now) == ("cap", "none")
    assert change(found, "wait for the first schedule, mean").better is True
    assert report.verdict.status == "healthy"


def test_with_less_load_silence_does_not_prove_a_cure(judge: Judge) -> None:
    """The queue went because the requests went: whether the cap still limits cannot be told."""
    rec = changed(
        finished=(6, 2), prompts=(600, 200), generated=(360, 120), running=(8, 2), waiting=(20, 0),
        command="vllm serve m --max-num-seqs 8",
    )  # fmt: skip
    found = compared(judge(rec, after=CHANGE))
    entry = next(f for f in found.findings if f.rule == "cap-throttled")
    assert entry.outcome == "cannot-tell"
    assert "not put to the test" in entry.because


@pytest.mark.parametrize(
    ("waiting", "outcome"), [((20, 60), "worse"), ((60, 20), "better"), ((20, 20), "unchanged")]
)
def test_a_finding_that_stays_is_held_against_its_limit(
    waiting: tuple[int, int], outcome: str, judge: Judge
) -> None:
    rec = changed(running=8, waiting=waiting, command="vllm serve m --max-num-seqs 8")
    assert becomes(compared(judge(rec, after=CHANGE)))["cap-throttled"] == outcome


def test_a_fuller_larger_cap_is_no_worse(tmp_path: Path) -> None:
    """8 of 8 and 16 of 16 are equally full: only the queue decides."""
    for name, cap in (("a", 8), ("b", 16)):
        (tmp_path / name).mkdir()
        write_openmetrics(vllm(running=cap, waiting=20), tmp_path / name)
        (tmp_path / name / "run.sh").write_text(f"vllm serve /models/llama --max-num-seqs {cap}\n")
    found = compared(diagnose([str(tmp_path / "b")], Options(baseline=str(tmp_path / "a"))).report)
    assert becomes(found)["cap-throttled"] == "unchanged"


def test_a_rule_that_cannot_look_again_is_not_resolved(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    write_openmetrics(vllm(running=8, waiting=20, command=""), tmp_path / "a")
    blind = vllm().without("vllm:num_requests_waiting", "vllm:num_requests_running")
    write_openmetrics(blind, tmp_path / "b")
    found = compared(diagnose([str(tmp_path / "b")], Options(baseline=str(tmp_path / "a"))).report)
    assert becomes(found)["cap-throttled"] == "cannot-tell"


def test_few_requests_move_nothing(judge: Judge) -> None:
    """Five requests on a side say nothing of the mean: it is shown and not judged."""
    few = [1.0 if i % 12 == 0 else 0.0 for i in range(WHOLE + 1)]
    rec = changed(finished=few, prompts=[100 * x for x in few], generated=[60 * x for x in few])
    found = compared(judge(rec, after=CHANGE))
    assert change(found, "time to first token, mean").moved is None


def test_growth_across_the_change_is_counted(judge: Judge) -> None:
    """A counter's growth from the last scrape before to the first one after belongs to after."""
    found = compared(judge(changed(generated=(0, 300)), after=CHANGE))
    assert change(found, "generated tokens").after == pytest.approx(60, rel=0.02)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"after": START - 5}, "not inside the data, which goes from 2025-10-09T08:53:20Z"),
        ({"baseline": "nowhere"}, "no such file or folder, and no window FROM..TO"),
        ({"baseline": "tomorrow..later"}, "is no time"),
        ({"baseline": f"{CHANGE}..{START}"}, "FROM must lie before TO"),
        ({"baseline": f"{START - 900}..{START - 600}"}, "no data there"),
        ({"baseline": f"{START - 1}..{START + 9999}"}, "covers all of the data"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(
    options: dict[str, object], words: str, judge: Judge
) -> None:
    with pytest.raises(OptionError) as caught:
        judge(changed(), **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_dumps_without_times_have_no_before(judge: Judge) -> None:
    with pytest.raises(OptionError, match="carry no times"):
        judge(changed(), "dumps", after=CHANGE)


def test_a_baseline_window_is_held_against_what_follows(judge: Judge) -> None:
    rec = changed(running=(3, 8), waiting=(0, 20), command="vllm serve m --max-num-seqs 8")
    report = judge(rec, baseline=f"{START}..{CHANGE}")
    found = compared(report)
    assert (found.binding_before, found.binding_now) == ("none", "cap")
    assert report.verdict.primary == "cap-throttled"


def test_a_surge_in_a_recording_is_traffic_and_not_a_deploy() -> None:
    """Minute 5 of a real recording: 4.1 requests a second arrive in place of 1.3."""
    folder = str(SAMPLES / "concurrency-cap")
    start = diagnose([folder], Options(only=("cap-throttled",))).report.window.start
    assert start is not None
    found = compared(diagnose([folder], Options(baseline=f"{start}..{start + 295}")).report)
    assert found.kind == "traffic"
    assert found.restarted is False
    assert found.settings == ()
    assert (found.binding_before, found.binding_now) == ("none", "cap")


def two_starts() -> str:
    """A log of one server that is started with a cap of 8, and after ten minutes with one of 64."""
    lines = []
    for begin, cap, running, waiting in ((START, 8, 8, 20), (START + 600, 64, 12, 0)):
        said = [f"INFO [api_utils.py:286] non-default args: {{'model': 'm', 'max_num_seqs': {cap}}}"]
        said += [
            f"INFO [loggers.py:257] Engine 000: Avg prompt throughput: {500 + i}.0 tokens/s, Avg generation throughput: "
            f"300.0 tokens/s, Running: {running} reqs, Waiting: {waiting} reqs, GPU KV cache usage: 20.0%, Prefix cache hit "
            "rate: 0.0%"
            for i in range(50)
        ]
        for number, text in enumerate(said):
            at = datetime.fromtimestamp(begin + 10 * number, UTC)
            lines.append(f"{at:%Y-%m-%dT%H:%M:%S.000000000Z} stdout F {text}")
    return "\n".join([*lines, ""])


def test_settings_of_a_log_belong_to_their_time(tmp_path: Path) -> None:
    """One log, two starts with two caps: each side is judged by its own."""
    (tmp_path / "engine.log").write_text(two_starts())
    found = compared(diagnose([str(tmp_path)], Options(after=START + 600)).report)
    assert [(s.name, s.before, s.after) for s in found.settings] == [("max_num_seqs", "8", "64")]
    assert found.kind == "deploy"
    assert becomes(found)["cap-throttled"] == "resolved"
