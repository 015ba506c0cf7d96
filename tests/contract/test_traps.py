"""Eighteen traps that break diagnosers of LLM serving, each as a small input with the right outcome."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.findings import finding, fired, loud, reason, regimes
from support.series import Recording
from support.vllm import add_vllm, vllm

from diagnostics import diagnose
from diagnostics.execute.promql import promql
from diagnostics.model.findings import Severity
from diagnostics.model.report import Report
from diagnostics.model.requests import Request, Stat

Judge = Callable[..., Report]
LABELS = {"instance": "vllm-0:8000", "job": "vllm", "model_name": "/models/llama", "engine": "0"}


def test_01_a_batch_job_that_ends_by_length_has_no_errors(judge: Judge) -> None:
    """Every request ends with ``length``: they all finished, and nothing is wrong."""
    rec = vllm()
    for line in rec.lines:
        if line.labels.get("finished_reason") == "stop":
            line.labels["finished_reason"] = "length"
    report = judge(rec)
    assert report.verdict.status == "healthy"
    assert "client-disconnects" in report.passed


@pytest.mark.parametrize("carrier", ["openmetrics", "dumps", "last dump"])
def test_02_preemptions_of_last_week_are_no_storm(carrier: str, judge: Judge) -> None:
    """Three preemptions were counted since the process started, and none in the window."""
    rec = vllm(kv=0.6).without("vllm:num_preemptions")
    rec.add("vllm:num_preemptions_total", "3x60", **LABELS)
    report = judge(rec, carrier)
    assert not fired(report, "preemption-storm")
    assert loud(report) == set()


def test_03_a_full_cache_without_a_queue_is_good_use(judge: Judge) -> None:
    """KV at 93 %, nothing waits, nothing is preempted."""
    report = judge(vllm(kv=0.93, running=40))
    assert report.verdict.status == "healthy"
    assert "memory-bound" in report.passed


@pytest.mark.parametrize(
    ("rate", "remark"), [(0.0, True), (0.46, False)], ids=["unique prompts", "ordinary chat"]
)
def test_04_a_low_hit_rate_is_no_fault(rate: float, remark: bool, judge: Judge) -> None:
    """Unique prompts share nothing, and 46 % on chat is ordinary: at most a remark with an unknown cause."""
    report = judge(vllm(prefix_queries=1000, prefix_hits=1000 * rate))
    found = finding(report, "prefix-cache-miss")
    assert (found is not None) is remark
    if found:
        assert (found.severity, found.variant) == (Severity.INFO, "unknown")
    assert report.verdict.status == "healthy"


def test_05_forty_warm_up_tokens_are_no_hit_rate(judge: Judge) -> None:
    """One warm-up request of 40 tokens found nothing; that is no rate of 0."""
    rec = vllm(prefix_queries=[40.0, *[0.0] * 60], prefix_hits=0, finished=[1.0, *[0.0] * 60])
    assert not fired(judge(rec), "prefix-cache-miss")


def test_06_idle_after_warm_up_is_no_fault(judge: Judge) -> None:
    """A server that was warmed up and waits for work is healthy, with a remark."""
    once = [1.0, *[0.0] * 60]
    rec = vllm(running=0, kv=0, finished=once, prompts=[40 * x for x in once], generated=[4 * x for x in once],
               engine_steps=[4 * x for x in once], itl={"+Inf": 0.0}, itl_sum=0)  # fmt: skip
    report = judge(rec)
    assert report.verdict.status == "healthy"
    assert "idle" in regimes(report)
    assert loud(report) == set()


@pytest.mark.parametrize("carrier", ["openmetrics", "query_range", "dumps"])
def test_07_nan_gauges_are_neither_zero_nor_full(carrier: str, judge: Judge) -> None:
    """A gauge of NaN beside a queue: memory is not judged, and nothing breaks."""
    rec = vllm(
        running="4+0.1x60", waiting=20, kv=[float("nan")] * 61, command="vllm serve m --max-num-seqs 64"
    )
    report = judge(rec, carrier)
    assert not fired(report, "memory-bound")
    assert reason(report, "memory-bound") is not None
    assert not fired(report, "cap-throttled")


def test_08_no_known_metric_is_unknown_and_never_ok(tmp_path: Path) -> None:
    """Metrics of something else are read, and nothing is said of a server."""
    (tmp_path / "metrics.txt").write_text("".join(f"node_load{i} 0.5 17600000{i:02}\n" for i in range(60)))
    report = diagnose([str(tmp_path)]).report
    assert report.verdict.status == "insufficient-data"
    assert report.passed == ()
    assert "Nothing known" in report.verdict.headline


def test_09_one_waiting_request_is_no_backlog(judge: Judge) -> None:
    """Now and then one request waits for a step; that is how a scheduler works."""
    rec = vllm(
        running=8,
        waiting=[1.0 if i % 3 == 0 else 0.0 for i in range(61)],
        command="vllm serve m --max-num-seqs 8",
    )
    report = judge(rec)
    assert regimes(report) == {"unsaturated"}
    assert loud(report) == set()


@pytest.mark.parametrize("carrier", ["openmetrics", "query_range", "last dump"])
def test_10_one_saturated_engine_of_several_in_one_page(carrier: str, judge: Judge) -> None:
    """Four data-parallel engines, one of them full: neither a sum nor the first line hides it."""
    rec = Recording()
    for engine in ("0", "1", "2", "3"):
        full = engine == "2"
        add_vllm(
            rec,
            engine=engine,
            running="9+0.01x60" if full else 2,
            waiting=15 if full else 0,
            kv=0.9 if full else 0.1,
        )
    report = judge(rec, carrier)
    found = finding(report, "rank-imbalance")
    assert found is not None
    assert found.scope.replicas[0].endswith("rank 2")
    assert report.deployments[0].replicas == 1


def test_11_one_lucky_scrape_decides_nothing(judge: Judge) -> None:
    """The gauge of a memory-bound server swings: a scrape at 0.6 does not clear it, one at 1.0 does not accuse another."""
    swing = [0.6 if i % 4 == 0 else 0.97 for i in range(61)]
    sick = judge(vllm(running="5+0.1x60", waiting=20, kv=swing, command="vllm serve m --max-num-seqs 64"))
    assert sick.verdict.primary == "memory-bound"
    spike = [1.0 if i == 60 else 0.3 for i in range(61)]
    assert loud(judge(vllm(kv=spike, waiting=[0.0] * 60 + [9.0]))) == set()


def test_12_a_storm_inflates_the_hit_rate(judge: Judge) -> None:
    """Recomputed tokens count as prefix hits: a high rate is no good news and a rate is not judged."""
    rec = vllm(preempted=4, finished=5, kv=0.95, running="5+0.1x60", prefix_queries=1000, prefix_hits=900)
    report = judge(rec)
    found = finding(report, "preemption-storm")
    assert found is not None
    assert "hit" in found.explanation
    assert any("hit rate" in step for step in found.do_not)
    low = judge(
        vllm(preempted=4, finished=5, kv=0.95, running="5+0.1x60", prefix_queries=1000, prefix_hits=10)
    )
    assert not fired(low, "prefix-cache-miss")


def test_13_hang_ups_show_although_the_abort_counter_stays_zero(judge: Judge) -> None:
    """First tokens run ahead of completions by more than what is in flight."""
    report = judge(vllm(began=10, finished=5, running=6))
    found = finding(report, "client-disconnects")
    assert found is not None
    assert report.verdict.primary == "client-disconnects"
    assert "abort" in found.do_not[0]


def test_14_quantiles_below_the_first_edge_are_not_believed(judge: Judge) -> None:
    """Queue buckets start at 0.3 s, so a p50 of 0.15 s stands for an empty queue; the mean is used."""
    rec = vllm(queue_seconds=0.0, ttft_seconds=0.1)
    for le in ("0.3", "0.5", "+Inf"):
        rec.add("vllm:request_queue_time_seconds_bucket", "0+5x60", **LABELS, le=le)
    report = judge(rec)
    assert report.verdict.status == "healthy"
    assert report.time_to_first_token[0].before is not None
    assert report.time_to_first_token[0].before["queue"] == 0.0


def test_15_old_and_new_names_side_by_side_are_one_metric(judge: Judge) -> None:
    """During a rolling upgrade cache usage and hits stand under two names; nothing is counted twice."""
    rec = vllm(running=8, waiting=20, kv=0.45, prefix_queries=1000, prefix_hits=300)
    rec.add("vllm:gpu_cache_usage_perc", "0.45x60", **LABELS)
    rec.add("vllm:gpu_prefix_cache_queries_total", "0+1000x60", **LABELS)
    rec.add("vllm:gpu_prefix_cache_hits_total", "0+300x60", **LABELS)
    report = judge(rec)
    assert report.verdict.primary == "cap-throttled"
    kv = next(e for e in report.findings[0].evidence if e.signal == "kv_usage")
    assert kv.value == pytest.approx(0.45)


def test_16_two_replicas_equally_bad_are_seen(judge: Judge) -> None:
    """A rule that needs a spread sees nothing; the limit of each is found all the same."""
    rec = Recording()
    for instance in ("a:8000", "b:8000"):
        add_vllm(rec, instance=instance, running=16, waiting=30, kv=0.3)
    report = judge(rec)
    found = finding(report, "cap-throttled")
    assert found is not None
    assert found.scope.replicas == ("a:8000", "b:8000")
    assert not {"routing-skew", "round-robin-imbalance"} & loud(report)


def test_17_pooling_does_not_hide_the_sick_replica(judge: Judge) -> None:
    """One of twenty replicas stalls: over all of them the tail is a twentieth and nobody would see it."""
    rec = Recording()
    sick = {"0.02": 97.0, "2": 97.0, "5": 100.0, "+Inf": 100.0}
    for i in range(20):
        trouble: dict[str, object] = {"itl": sick, "itl_sum": 13.0} if i == 7 else {}
        add_vllm(rec, instance=f"replica-{i:02}:8000", **trouble)  # type: ignore[arg-type]
    found = finding(judge(rec), "prefill-stalls-decode")
    assert found is not None
    assert found.scope.replicas == ("replica-07:8000",)


def test_18_a_share_is_compared_with_a_share(judge: Judge) -> None:
    """``kv_cache_usage_perc`` runs from 0 to 1 in spite of its name; logs print percent. Both are a share here."""
    report = judge(vllm(running="5+0.1x60", waiting=20, kv=0.95, command="vllm serve m --max-num-seqs 64"))
    found = finding(report, "memory-bound")
    assert found is not None
    assert all(0 <= (e.threshold or 0) <= 1 for e in found.evidence if e.unit == "ratio")
    assert all(0 <= e.value <= 1 for e in found.evidence if e.unit == "ratio")
    assert all(0 <= v <= 1 for k, v in found.chart.thresholds.items() if k == "kv_usage")
    query = promql(Request("kv_usage", Stat.MAX), "vllm")
    assert query is not None
    assert "100" not in query


def test_18_percent_of_a_log_is_a_share_too(tmp_path: Path) -> None:
    """The log of the same server says 95.0 %, and gives the same verdict as its metrics."""
    lines = [
        f"INFO 10-09 08:{i // 6:02}:{i % 6 * 10:02} [loggers.py:127] Engine 000: Avg prompt throughput: 50.0 tokens/s, "
        f"Avg generation throughput: 300.0 tokens/s, Running: {5 + i % 3} reqs, Waiting: 20 reqs, "
        "GPU KV cache usage: 95.0%, Prefix cache hit rate: 10.0%"
        for i in range(60)
    ]
    (tmp_path / "engine.log").write_text("\n".join(lines))
    report = diagnose([str(tmp_path)]).report
    assert report.verdict.primary == "memory-bound"
    (tmp_path / "engine.log").write_text(
        "\n".join(lines).replace("95.0%", "0.9%").replace("Waiting: 20", "Waiting: 0")
    )
    assert "memory-bound" not in loud(diagnose([str(tmp_path)]).report)
