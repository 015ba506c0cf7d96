"""The closed list of statistics: equal to Prometheus where the definitions agree, stated where they do not."""

from __future__ import annotations

import math
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.carriers import openmetrics
from support.findings import finding
from support.series import Recording, Value
from support.vllm import add_vllm, vllm

from diagnostics.engines import registry as engines
from diagnostics.evaluate.registry import all_rules
from diagnostics.execute import words
from diagnostics.execute.promql import promql
from diagnostics.execute.sql import Answers, histogram_quantile, write_spans
from diagnostics.model.report import Report
from diagnostics.model.requests import Request, Stat
from diagnostics.signals.build import build_signals
from diagnostics.signals.episodes import stalls
from diagnostics.signals.identity import resolve
from diagnostics.signals.regimes import decide
from diagnostics.sources.exposition import read_exposition
from diagnostics.store.database import open_store
from diagnostics.store.writer import write_capture

NAN, INF = math.nan, math.inf
Judge = Callable[..., Report]


def answers(recording: Recording) -> Answers:
    """The executor over one recording, as the pipeline sets it up."""
    db = open_store()
    capture = read_exposition("recording", openmetrics(recording).splitlines())
    identities = resolve([capture])
    write_capture(db, capture, timed=True)
    build_signals(db, [capture], identities, [1], [True])
    courses = decide(db, len(identities.entities), {}, {})
    write_spans(db, courses, stalls(db, len(courses)))
    found = Answers(db, len(identities.entities))
    found.load()
    return found


def ask(recording: Recording, signal: str, stat: Stat, during: str = "all") -> float:
    """One statistic of the only replica."""
    return float(answers(recording).get(Request(signal, stat, during))[0])


def counter(values: str | list[Value]) -> Recording:
    """A recording with one counter of generated tokens."""
    rec = Recording()
    labels = {"instance": "a:8000", "engine": "0"}
    return rec.add("vllm:generation_tokens_total", values, **labels)


@pytest.mark.parametrize(
    ("values", "grown"),
    [
        ("0+10x6", 60.0),
        ("100 100 100", 0.0),
        ("5 8 2 4", 3.0 + 2.0 + 2.0),
        ("5 _ _ 9", 4.0),
        ("5 NaN 9", 4.0),
        ("5 stale _x3 2 6", 2.0 + 4.0),
        ("7", NAN),
    ],
    ids=["steady", "flat", "reset", "gap", "NaN", "stale and back after a restart", "one sample"],
)
def test_increase_is_what_was_counted(values: str, grown: float) -> None:
    """Resets are corrected, gaps bridged, nothing is extrapolated; one sample gives no growth and not 0."""
    value = ask(counter(values), "generation_tokens", Stat.INCREASE)
    assert value == grown or (math.isnan(grown) and math.isnan(value))


def test_increase_of_a_late_series_is_not_its_total() -> None:
    """A counter first seen at 5,000 in the middle of the window did not grow by 5,000."""
    assert ask(counter("_x3 5000 5010"), "generation_tokens", Stat.INCREASE) == 10.0


def test_label_sets_that_split_a_signal_add_up() -> None:
    """Finished requests by reason are one number, and aborts are a part of it."""
    rec = Recording()
    for why, values in (("stop", "0+3x10"), ("length", "0+2x10"), ("abort", "0+1x10")):
        rec.add("vllm:request_success_total", values, instance="a:8000", engine="0", finished_reason=why)
    rec.add("vllm:num_requests_running", "1x10", instance="a:8000", engine="0")
    table = answers(rec)
    assert table.get(Request("requests_finished", Stat.INCREASE))[0] == 60.0
    assert table.get(Request("request_aborted", Stat.INCREASE))[0] == 10.0


@pytest.mark.parametrize(
    ("stat", "expected"),
    [
        (Stat.LAST, 5.0), (Stat.MAX, 9.0), (Stat.MIN, 1.0), (Stat.MEAN, 4.0), (Stat.P50, 3.0), (Stat.P90, 7.4),
        (Stat.COUNT, 5.0),
    ],
)  # fmt: skip
def test_statistics_of_a_gauge(stat: Stat, expected: float) -> None:
    """Five readings, one of them a spike; quantiles interpolate as Prometheus does."""
    rec = Recording().add("vllm:num_requests_running", "1 2 3 9 5", instance="a:8000", engine="0")
    assert ask(rec, "running", stat) == pytest.approx(expected)


def test_the_slope_is_per_second() -> None:
    """A gauge that grows by two every five seconds grows by 0.4 a second."""
    rec = Recording(step=5).add("vllm:num_requests_waiting", "0+2x20", instance="a:8000", engine="0")
    assert ask(rec, "waiting", Stat.SLOPE) == pytest.approx(0.4)


def test_absent_is_nan_and_never_zero() -> None:
    """What a server does not export has no number."""
    table = answers(counter("0+1x5"))
    for stat in (Stat.LAST, Stat.MEAN, Stat.INCREASE, Stat.COUNT, Stat.HIST_MEAN, Stat.HIST_P99):
        assert math.isnan(table.get(Request("kv_usage", stat))[0])


def test_a_ratio_by_nothing_is_nan() -> None:
    """Hits without a query are no rate of 0 and none of 1."""
    rec = Recording()
    rec.add("vllm:prefix_cache_queries_total", "5x5", instance="a:8000")
    rec.add("vllm:prefix_cache_hits_total", "5x5", instance="a:8000")
    value = answers(rec).get(Request("prefix_hits", Stat.INCREASE, over="prefix_queries"))[0]
    assert math.isnan(value)


def test_the_mean_of_a_histogram_is_sum_by_count() -> None:
    """Quantiles below the first bucket edge say half of it; the mean is exact."""
    rec = Recording()
    labels = {"instance": "a:8000", "engine": "0"}
    for le in ("0.3", "0.5", "+Inf"):
        rec.add("vllm:time_to_first_token_seconds_bucket", "0+10x6", **labels, le=le)
    rec.add("vllm:time_to_first_token_seconds_count", "0+10x6", **labels)
    rec.add("vllm:time_to_first_token_seconds_sum", "0+0.01x6", **labels)
    table = answers(rec)
    assert table.get(Request("ttft", Stat.HIST_MEAN))[0] == pytest.approx(0.001)
    assert table.get(Request("ttft", Stat.HIST_P50))[0] == pytest.approx(0.15)


def test_windows_keep_their_own_numbers() -> None:
    """A statistic during a regime is of that time only."""
    n = 121
    rec = vllm(n, running=[2.0] * 60 + [16.0] * 61, waiting=[0.0] * 60 + [20.0] * 61)
    table = answers(rec)
    assert table.get(Request("waiting", Stat.MIN, "cap"))[0] >= 0
    assert table.get(Request("waiting", Stat.P50, "cap"))[0] == 20.0
    assert table.get(Request("running", Stat.P50, "calm"))[0] == 2.0


def test_replicas_do_not_mix() -> None:
    """Each replica has its own place in the column."""
    rec = Recording()
    add_vllm(rec, instance="a:8000", running=3, generated=100)
    add_vllm(rec, instance="b:8000", running=7, generated=200)
    table = answers(rec)
    assert table.get(Request("running", Stat.MEAN)).tolist() == [3.0, 7.0]
    assert table.get(Request("generation_tokens", Stat.INCREASE)).tolist() == [6000.0, 12000.0]


QUANTILES = [
    ("spread", [0.1, 0.5, 1.0, INF], [10, 60, 90, 100]),
    ("all in the first", [0.3, 0.5, 1.0, INF], [100, 100, 100, 100]),
    ("beyond the last", [0.1, 0.5, 1.0, INF], [0, 0, 10, 100]),
    ("empty buckets between", [0.1, 0.5, 1.0, 2.0, INF], [50, 50, 50, 100, 100]),
    ("one observation", [0.1, 1.0, INF], [0, 1, 1]),
    ("not monotonic", [0.1, 0.5, 1.0, INF], [40, 39.5, 90, 100]),
    ("negative edge", [-1.0, 0.5, 1.0, INF], [30, 60, 90, 100]),
    ("nothing", [0.1, 1.0, INF], [0, 0, 0]),
]


def _prometheus_quantile(
    folder: Path, q: float, les: list[float], counts: list[float], expected: float
) -> subprocess.CompletedProcess[str]:
    """Ask promtool whether ``histogram_quantile`` gives the expected number."""
    series = "\n".join(
        f"""      - series: 'm_bucket{{le="{"+Inf" if math.isinf(le) else le}"}}'\n        values: '{count}'"""
        for le, count in zip(les, counts, strict=True)
    )
    query, value = f"histogram_quantile({q}, m_bucket)", repr(float(expected))
    if math.isnan(expected):  # no number equals NaN, so ask whether there is one that differs from itself
        query, value = f"count({query} != {query})", "1"
    (folder / "q.yml").write_text(
        f"evaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series:\n{series}\n    promql_expr_test:\n"
        f"      - expr: {query}\n        eval_time: 0\n        exp_samples:\n"
        f"          - labels: '{{}}'\n            value: {value}\n"
    )
    return subprocess.run(
        ["promtool", "test", "rules", str(folder / "q.yml")], check=False, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("les", "counts"), [(a, b) for _, a, b in QUANTILES], ids=[name for name, _, _ in QUANTILES]
)
@pytest.mark.parametrize("q", [0.5, 0.9, 0.99])
def test_histogram_quantile_equals_prometheus(
    tmp_path: Path, q: float, les: list[float], counts: list[float]
) -> None:
    """Over given increases the quantile is the one that Prometheus itself computes."""
    assert shutil.which("promtool"), "promtool is needed: apt-get install prometheus"
    ours = histogram_quantile(q, np.array(les), np.array(counts, dtype=np.float64))
    run = _prometheus_quantile(tmp_path, q, les, counts, ours)
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_histogram_without_all_buckets_has_no_quantile() -> None:
    """One edge alone, or a bucket whose growth is unknown, gives no number."""
    assert math.isnan(histogram_quantile(0.5, np.array([INF]), np.array([5.0])))
    assert math.isnan(histogram_quantile(0.5, np.array([0.1, INF]), np.array([NAN, 5.0])))


def _check_promql(folder: Path, queries: list[str]) -> subprocess.CompletedProcess[str]:
    """Let promtool parse queries as recording rules."""
    rules = "\n".join(f"  - record: q{i}\n    expr: {query!r}" for i, query in enumerate(queries))
    (folder / "rules.yml").write_text(f"groups:\n- name: verify\n  rules:\n{rules}\n")
    return subprocess.run(
        ["promtool", "check", "rules", str(folder / "rules.yml")], check=False, capture_output=True, text=True
    )


def _kinds_of_request(signal: str) -> list[Request]:
    found = [Request(signal, stat) for stat in Stat]
    return [*found, Request(signal, Stat.INCREASE, over="requests_finished")]


@pytest.mark.parametrize("engine", [e.name for e in engines.ENGINES])
@pytest.mark.parametrize("matchers", ["", 'job="vllm",model_name=~"a.*"'], ids=["no matcher", "matchers"])
def test_every_request_is_valid_promql(tmp_path: Path, engine: str, matchers: str) -> None:
    """Whatever a rule asks of an engine, the text is a query that Prometheus takes."""
    facts = engines.engine_named(engine)
    assert facts is not None
    signals = sorted({m.signal for m in facts.metrics if ":log:" not in m.native})
    queries = [q for s in signals for r in _kinds_of_request(s) if (q := promql(r, engine, matchers))]
    assert queries
    run = _check_promql(tmp_path, queries)
    assert run.returncode == 0, run.stdout + run.stderr


def test_log_fields_are_no_queries() -> None:
    """What only a log carries cannot be asked of Prometheus, and no query is made up."""
    assert promql(Request("spec_accept_length", Stat.LAST), "vllm") is None
    assert promql(Request("running", Stat.LAST), "no-such-engine") is None


FIRES = sorted((Path(__file__).parents[1] / "rules").glob("*/fires_*.series"))


@pytest.mark.parametrize(
    "slug", [r.slug for r in all_rules() if any(f.parent.name.replace("_", "-") == r.slug for f in FIRES)]
)
def test_every_finding_can_be_checked_with_valid_queries(slug: str, tmp_path: Path, judge: Judge) -> None:
    """What ``verify`` prints is a list of queries that Prometheus takes, narrowed by the given matchers."""
    from support.series import load

    path = next(f for f in FIRES if f.parent.name.replace("_", "-") == slug)
    found = finding(judge(load(path), select='job="vllm"'), slug)
    assert found is not None
    queries = [v.promql for v in found.verify]
    assert queries
    assert all('job="vllm"' in q for q in queries)
    run = _check_promql(tmp_path, queries)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize(
    ("stretch", "observed", "expected"),
    [(60, 3600, True), (59, 3600, False), (25, 100, True), (24, 100, False), (20, 20, True), (19, 19, False)],
)
def test_a_limit_matters_from_a_minute_or_a_quarter(stretch: float, observed: float, expected: bool) -> None:
    """A minute matters in an hour; a quarter matters in less; below twenty seconds nothing does."""
    assert words.matters(stretch, observed) is expected


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0"), (12345.6, "12,346"), (3.14159, "3.1"), (31.4159, "31.4"), (8.0, "8"), (NAN, "unknown")],
)
def test_numbers_are_said_with_the_digits_that_matter(value: float, said: str) -> None:
    """Absent is said to be unknown."""
    assert words.number(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0123, "12 ms"), (1.5, "1.5 s"), (90, "90 s"), (300, "5 min"), (9000, "2.5 h"), (NAN, "unknown time")],
)
def test_durations_carry_their_unit(value: float, said: str) -> None:
    """From milliseconds to hours."""
    assert words.seconds(value) == said
