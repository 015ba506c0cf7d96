from __future__ import annotations

import json

import pytest
from bench_helpers import VLLM, runs_in, runs_of
from msgspec.structs import replace

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.errors import InputError
from diagnostics.sources.bench.export import write_llmd_report_v02
from diagnostics.sources.bench.grouping import group_steps


def one(
    rate: float | None = None, cap: int | None = None, source: str = "a.json", **fields: object
) -> BenchRun:
    values = VLLM | {"request_rate": rate if rate is not None else "inf", "max_concurrency": cap}
    (run,) = runs_in(values, source)
    for name, value in fields.items():
        setattr(run, name, value)
    return run


def test_order_is_by_load_and_not_by_name() -> None:
    files = [one(cap=cap, source=f"conc{cap}.json") for cap in (10, 2, 4)]
    (sweep,) = group_steps(files)
    assert [s.concurrency_cap for s in sweep.steps] == [2, 4, 10]
    assert [s.ordinal for s in sweep.steps] == [0, 1, 2]
    assert sweep.steps[0].source_path == "conc2.json"
    assert sweep.extra["identity_incomplete"]


def test_table_beside_the_same_result_as_json_is_left_out() -> None:
    both = [
        one(cap=2, source="a/export.csv"),
        one(cap=2, source="a/export.json"),
        one(cap=4, source="b/export.csv"),
    ]
    assert sorted(s.source_path for r in group_steps(both) for s in r.steps) == ["", ""]
    assert {run.source for run in group_steps(both)} == {"a/export.json", "b/export.csv"}


def test_list_of_a_sweep_beside_its_runs_is_left_out() -> None:
    sources = ("a/run=0.json", "a/run=1.json", "a/summary.json", "b/summary.json")
    grouped = group_steps([one(cap=2, source=source, model=source[0]) for source in sources])
    assert sorted(len(run.steps) for run in grouped) == [1, 2]


def test_same_level_twice_is_a_repeat() -> None:
    (sweep,) = group_steps([one(rate=1.0), one(rate=2.0), one(rate=1.0)])
    assert [(s.requested_rps, s.repeat) for s in sweep.steps] == [(1.0, 0), (1.0, 1), (2.0, 0)]


@pytest.mark.parametrize(
    "change",
    [{"tp": 4}, {"model": "other"}, {"spec_method": "eagle"}, {"weight_format": "awq"}, {"kv_offload": "on"}],
)
def test_another_deployment_stays_apart(change: dict[str, object]) -> None:
    assert len(group_steps([one(rate=1.0), one(rate=2.0, **change)])) == 2


def test_folders_tell_variants_apart_but_not_levels() -> None:
    variants = [one(rate=1.0, source="vllm/stage_0.json"), one(rate=2.0, source="vllm+eagle/stage_1.json")]
    assert len(group_steps(variants)) == 2
    levels = [one(cap=2, source="tp4_conc2/r.json"), one(cap=4, source="tp4_conc4/r.json")]
    assert len(group_steps(levels)) == 1


def test_open_and_closed_loops_stay_apart() -> None:
    assert len(group_steps([one(rate=1.0), one(cap=4)])) == 2


def test_lengths_far_apart_stay_apart() -> None:
    long = one(rate=2.0)
    long.steps[0].stats = [
        replace(s, value=s.value * 3) if s.metric == "input_len" else s for s in long.steps[0].stats
    ]
    assert len(group_steps([one(rate=1.0), long])) == 2


def test_pooled_summary_is_no_step_of_the_sweep() -> None:
    folder = "inference-perf/kubecon-na-2025/vllm"
    names = ("stage_0", "stage_5", "summary")
    runs = [run for n in names for run in runs_of(f"{folder}/{n}_lifecycle_metrics.json")]
    sweep, pooled = group_steps(runs)
    assert [s.requested_rps for s in sweep.steps] == [1.0, 152.98]
    assert pooled.steps[0].pooled
    assert any(w.startswith("2 files: the client stamped") for w in sweep.warnings)


def test_days_between_steps_are_a_warning() -> None:
    late = one(rate=2.0, started_local="20260105-120000")
    (sweep,) = group_steps([one(rate=1.0), late])
    assert "4.0 days apart" in sweep.warnings[-1]


def test_round_trip_loses_nothing() -> None:
    (run,) = runs_of("inferencex/agentic-tp4-agg/conc1-kvnone.json")
    report = write_llmd_report_v02(run)
    (back,) = runs_in(report, "report.json", expect="llmd-report")
    before, after = run.steps[0], back.steps[0]
    for name in BenchRun.__struct_fields__:
        if name not in ("source", "format", "steps", "warnings"):
            assert getattr(back, name) == getattr(run, name), name
    for name in BenchStep.__struct_fields__:
        if name not in ("stats", "origins", "requests", "source_path"):
            assert getattr(after, name) == getattr(before, name), name
    for stat in before.stats:
        assert after.stat(stat.metric, stat.stat) == pytest.approx(stat.value), stat
    json.dumps(report, allow_nan=False)


def test_report_has_the_closed_shape() -> None:
    (run,) = runs_of("sglang/h200/llama_3_3_70b_online_output.jsonl")[:1]
    report = write_llmd_report_v02(run, 2)
    assert set(report) == {"version", "run", "scenario", "results"}
    load = report["scenario"]["load"]["standardized"]
    assert (load["rate_qps"], load["stage"], load["source"]) == (4.0, 2, "random")
    assert load["input_seq_len"] == {"distribution": "random", "value": 512.0, "min": 0, "max": 1024}
    latency = report["results"]["request_performance"]["aggregate"]["latency"]
    assert latency["request_latency"]["units"] == "s"
    assert all("mean" in block for block in latency.values())


def test_missing_step_is_an_error() -> None:
    with pytest.raises(InputError, match="no step 7"):
        write_llmd_report_v02(one(cap=2), 7)


def test_sessions_of_unlike_length_are_one_sweep() -> None:
    long = one(rate=2.0, multi_turn=True)
    long.steps[0].stats = [
        replace(s, value=s.value * 3) if s.metric == "input_len" else s for s in long.steps[0].stats
    ]
    assert len(group_steps([one(rate=1.0, multi_turn=True), long])) == 1
