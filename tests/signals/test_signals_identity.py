"""Who is who: how many replicas there are, whatever carries them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.carriers import dump, openmetrics, write_dumps, write_openmetrics, write_query_range
from support.series import START, Recording
from support.vllm import add_vllm, start_of, vllm

from diagnostics import diagnose
from diagnostics.model.report import Report
from diagnostics.signals.identity import replica_key

Judge = Callable[..., Report]


def _diagnose(folder: Path) -> Report:
    return diagnose([str(folder)]).report


def _replicas(report: Report) -> list[int]:
    return [d.replicas for d in report.deployments]


def _names(report: Report) -> set[str]:
    return {r.replica for r in report.regimes}


def _two() -> Recording:
    rec = Recording()
    add_vllm(rec, instance="a:8000", running=3, generated=300)
    return add_vllm(rec, instance="b:8000", running=6, generated=900)


@pytest.mark.parametrize(
    ("labels", "key"),
    [
        ({"pod": "vllm-7f-x", "instance": "10.0.0.1:8000"}, ("vllm-7f-x", "pod")),
        ({"instance": "10.0.0.1:8000"}, ("10.0.0.1:8000", "instance")),
        ({"pod": "", "instance": "a"}, ("a", "instance")),
        ({"engine": "1", "model_name": "replica-2"}, ("", "")),
    ],
)
def test_a_replica_is_named_by_the_first_label_of_the_list(
    labels: dict[str, str], key: tuple[str, str]
) -> None:
    """The pod comes before the address, and an empty label names nothing."""
    assert replica_key(labels) == key


@pytest.mark.parametrize("label", ["pod", "instance"])
def test_labels_tell_replicas_apart(label: str, tmp_path: Path) -> None:
    """Two values of the label are two replicas under their own names."""
    rec = _two()
    for line in rec.lines:
        line.labels[label] = line.labels.pop("instance")
    write_openmetrics(rec, tmp_path)
    report = _diagnose(tmp_path)
    assert _replicas(report) == [2]
    assert _names(report) == {"a:8000", "b:8000"}


def test_pods_behind_one_address_are_two_replicas(tmp_path: Path) -> None:
    """A federated scrape has one address and two pods."""
    rec = _two()
    for line in rec.lines:
        line.labels["pod"] = f"pod-{line.labels['instance'][0]}"
        line.labels["instance"] = "gateway:80"
    write_openmetrics(rec, tmp_path)
    assert _replicas(_diagnose(tmp_path)) == [2]


def test_pods_of_one_name_in_two_namespaces_are_two(judge: Judge) -> None:
    """StatefulSets name their pods alike everywhere: ``vllm-0`` of two namespaces are two servers."""
    rec = _two()
    for line in rec.lines:
        line.labels["namespace"] = line.labels.pop("instance")[0]
        line.labels["pod"] = "vllm-0"
    report = judge(rec)
    assert sum(_replicas(report)) == 2
    assert "replica-down-or-restarting" not in {f.rule for f in report.findings}


def test_file_suffixes_tell_replicas_apart(tmp_path: Path) -> None:
    """Dumps ``.r0`` and ``.r1`` are two replicas with three scrapes each."""
    write_dumps(_two(), tmp_path)
    report = _diagnose(tmp_path)
    assert _replicas(report) == [2]
    assert [i.kind for i in report.inputs] == ["exposition"] * 6


def test_dumps_of_one_process_are_one_replica(tmp_path: Path) -> None:
    """Three dumps of a process are one replica, whatever their names say."""
    for name, scrape in (("replica1.txt", 0), ("replica2.txt", 30), ("other.txt", 60)):
        (tmp_path / name).write_text(dump(vllm(), scrape))
    assert _replicas(_diagnose(tmp_path)) == [1]


def test_dumps_of_two_processes_may_be_two_replicas_and_are_not_compared(tmp_path: Path) -> None:
    """Only their start times differ: two replicas or one before and after, so no fleet rule runs."""
    rec = _two()
    for i, instance in enumerate(rec.instances):
        for name, scrape in (("start", 0), ("end", 60)):
            (tmp_path / f"{name}-{i}.txt").write_text(dump(rec, scrape, instance))
    report = _diagnose(tmp_path)
    assert "replicas" in {m for n in report.not_evaluated if n.rule == "routing-skew" for m in n.missing}
    assert not {"round-robin-imbalance", "routing-skew", "rank-imbalance"} & {f.rule for f in report.findings}


def test_carriers_of_one_process_are_one_replica(tmp_path: Path) -> None:
    """OpenMetrics, a saved answer and dumps of the same process are joined by when it started."""
    rec = vllm()
    write_openmetrics(rec, tmp_path)
    write_query_range(rec, tmp_path)
    write_dumps(rec, tmp_path)
    report = _diagnose(tmp_path)
    assert _replicas(report) == [1]
    assert _names(report) == {"vllm-0:8000"}


def test_carriers_of_two_replicas_are_two(tmp_path: Path) -> None:
    """All carriers of both replicas are still two replicas."""
    rec = _two()
    write_openmetrics(rec, tmp_path)
    write_query_range(rec, tmp_path)
    write_dumps(rec, tmp_path)
    report = _diagnose(tmp_path)
    assert _replicas(report) == [2]
    assert report.verdict.status == "healthy"


def test_another_suffix_is_another_replica_even_with_the_same_start(tmp_path: Path) -> None:
    """Two pods started by one command at one moment are two: the suffix comes before the start time."""
    for suffix, running in (("r0", 3), ("r1", 9)):
        rec = vllm(running=running, generated=running * 100.0, process_start=start_of("x"))
        for name, scrape in (("start", 0), ("end", 60)):
            (tmp_path / f"metrics_{name}.{suffix}.txt").write_text(dump(rec, scrape))
    assert _replicas(_diagnose(tmp_path)) == [2]


def test_the_rank_is_no_replica(judge: Judge) -> None:
    """Engines of one server are ranks: judged apart, counted as one replica."""
    rec = Recording()
    for engine in ("0", "1"):
        add_vllm(rec, engine=engine)
    report = judge(rec)
    assert _replicas(report) == [1]
    assert _names(report) == {"vllm-0:8000 rank 0", "vllm-0:8000 rank 1"}


def test_one_rank_is_not_named(judge: Judge) -> None:
    """A server with one engine is called by its address alone."""
    assert _names(judge(vllm())) == {"vllm-0:8000"}


def test_ten_ranks_are_in_numeric_order(judge: Judge) -> None:
    """Rank 10 comes after rank 9."""
    rec = Recording()
    for engine in range(11):
        add_vllm(rec, n=13, engine=str(engine))
    ranks = [r.replica.rsplit(" ", 1)[1] for r in judge(rec).regimes]
    assert ranks == [str(i) for i in range(11)]


def test_several_models_on_one_prometheus_are_several_deployments(judge: Judge) -> None:
    """A line a model, the worst first."""
    rec = Recording()
    add_vllm(rec, instance="a:8000", model="org/small")
    add_vllm(rec, instance="b:8000", model="org/large", running=16, waiting=20)
    add_vllm(rec, instance="c:8000", model="org/large", running=3)
    report = judge(rec)
    assert [(d.name, d.replicas, d.status) for d in report.deployments] == [
        ("large", 2, "findings"),
        ("small", 1, "healthy"),
    ]


def test_one_model_served_by_two_jobs_is_two_deployments(judge: Judge) -> None:
    """Production and staging of one model are told apart by job, and named with it."""
    rec = Recording()
    add_vllm(rec, instance="a:8000")
    add_vllm(rec, instance="b:8000")
    for line in rec.lines:
        line.labels["job"] = "staging" if line.labels["instance"] == "b:8000" else "production"
    assert {d.name for d in judge(rec).deployments} == {"production/llama", "staging/llama"}


def test_several_models_behind_one_address_do_not_add_up(judge: Judge) -> None:
    """A gateway that shows two models under one address: their running requests are not one batch at a cap."""
    rec = Recording(command="vllm serve m --max-num-seqs 8")
    add_vllm(rec, model="org/one", running=4, waiting=1)
    add_vllm(rec, model="org/two", running=4, waiting=1)
    report = judge(rec)
    assert {d.model for d in report.deployments} == {"org/one", "org/two"}
    assert "cap-throttled" not in {f.rule for f in report.findings}


def test_repeated_tensor_parallel_ranks_count_once(judge: Judge) -> None:
    """SGLang can repeat the values of rank 0 on every TP rank; eight running requests stay eight."""
    rec = Recording(command="python -m sglang.launch_server --model-path m --max-running-requests 32")
    for tp_rank in ("0", "1", "2", "3"):
        labels = {"instance": "a:30000", "job": "sglang", "model_name": "m", "tp_rank": tp_rank}
        rec.add("sglang:num_running_reqs", "8x60", **labels)
        rec.add("sglang:num_queue_reqs", "5x60", **labels)
        rec.add("sglang:token_usage", "0.3x60", **labels)
        rec.add("sglang:generation_tokens_total", "0+400x60", **labels)
    report = judge(rec)
    assert _replicas(report) == [1]
    assert "cap-throttled" not in {f.rule for f in report.findings}
    assert len(report.regimes) == 1


def test_targets_that_never_answered_belong_to_their_job(judge: Judge) -> None:
    """A replica that is down all the time has only ``up``; it is counted with the replicas of its job."""
    rec = vllm()
    rec.add("up", "0x60", instance="dead:8000", job="vllm")
    rec.add("up", "1x60", instance="node:9100", job="node")
    report = judge(rec)
    assert _replicas(report) == [2]
    assert report.verdict.primary == "replica-down-or-restarting"


def test_old_and_new_names_side_by_side_do_not_add_up(judge: Judge) -> None:
    """During a rolling upgrade one value stands under two names; it is one value."""
    rec = vllm(running=8, waiting=20, kv=0.45)
    labels = {"instance": "vllm-0:8000", "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    rec.add("vllm:gpu_cache_usage_perc", "0.45x60", **labels)
    assert judge(rec).verdict.primary == "cap-throttled"


def test_a_launch_command_beside_metrics_speaks_for_them(tmp_path: Path) -> None:
    """A command saved in the folder is no replica of its own, and its cap is used."""
    (tmp_path / "metrics.txt").write_text(openmetrics(vllm(running=8, waiting=20)))
    (tmp_path / "launch.txt").write_text("$ vllm serve /models/llama --max-num-seqs 8\n")
    report = _diagnose(tmp_path)
    assert _replicas(report) == [1]
    found = next(f for f in report.findings if f.rule == "cap-throttled")
    assert found.evidence[0].provenance == "configured"


def _log(rates: list[float], zone_hours: int = 0) -> str:
    """Status lines every ten seconds with these generated tokens a second, on a clock some hours ahead."""
    first = datetime.fromtimestamp(START, UTC) + timedelta(hours=zone_hours)
    return "".join(
        f"INFO {first + timedelta(seconds=10 * (i + 1)):%m-%d %H:%M:%S} [loggers.py:127] Engine 000: Avg prompt "
        f"throughput: 10.0 tokens/s, Avg generation throughput: {rate:.1f} tokens/s, Running: 3 reqs, Waiting: 0 reqs, "
        "GPU KV cache usage: 20.0%, Prefix cache hit rate: 40.0%\n"
        for i, rate in enumerate(rates)
    )


def _course(seed: int) -> list[float]:
    return [100 + 50 * ((seed * i * i + 3 * i) % 7) for i in range(60)]


@pytest.mark.parametrize("zone_hours", [0, 2])
def test_a_log_joins_the_replica_whose_throughput_it_follows(zone_hours: int, tmp_path: Path) -> None:
    """Logs without a name beside two replicas: each finds its own by its course, also on a clock of another zone."""
    rec = Recording()
    for instance, seed in (("a:8000", 1), ("b:8000", 2)):
        per_scrape = [5 * rate for rate in _course(seed) for _ in (0, 1)]
        add_vllm(rec, n=121, instance=instance, generated=[*per_scrape, 0.0])
        (tmp_path / f"{'first' if seed == 2 else 'second'}.log").write_text(_log(_course(seed), zone_hours))
    write_openmetrics(rec, tmp_path)
    report = _diagnose(tmp_path)
    assert _replicas(report) == [2]
    assert _names(report) == {"a:8000", "b:8000"}
