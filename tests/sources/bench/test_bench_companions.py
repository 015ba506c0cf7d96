"""What lies beside a result: refused with what to give instead, or read where it holds the same figures."""

from __future__ import annotations

from pathlib import Path

import pytest
from bench_helpers import runs_in

from diagnostics.model.errors import InputError
from diagnostics.sources.content import Content
from diagnostics.sources.recognise import ReadOptions, read_content

CONSOLE = """
                         NVIDIA AIPerf | LLM Metrics
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━━┳━━━━━━━━┓
┃                           Metric ┃      avg ┃    min ┃      p99 ┃    p50 ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━╇━━━━━━━━┩
│         Time to First Token (ms) │ 1,250.50 │ 106.84 │ 9,000.00 │ 800.00 │
│         Inter Token Latency (ms) │    13.21 │   9.76 │    15.68 │  13.04 │
│  Output Token Throughput Per User│    76.29 │  45.37 │   101.56 │  76.71 │
│                (tokens/sec/user) │          │        │          │        │
│          Output Token Throughput │    58.68 │    N/A │      N/A │    N/A │
│                     (tokens/sec) │          │        │          │        │
│ Request Count (requests)         │   195.00 │    N/A │      N/A │    N/A │
└──────────────────────────────────┴──────────┴────────┴──────────┴────────┘
"""


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("Timestamp,User Count,Type,Name,Requests/s\n1782550346,0,,Aggregated,0.0\n", r"_stats\.csv"),
        ("Method,Name,Error,Occurrences,First Seen,Last Seen\n", r"_stats\.csv"),
        ("timestamp_sec,relative_time_sec,kv_cache_usage_pct\n1776748571.7,0.0,0.86\n", "metrics API"),
        (
            "# AIPerf Server Metrics Export (CSV)\n#\nEndpoint,Type,Metric,Unit,avg,min,max\na:1,gauge,m,,1,1,1\n",
            "metrics API",
        ),
    ],
    ids=["locust history", "locust failures", "server series", "aiperf server metrics"],
)
def test_refused_with_what_to_give(text: str, instead: str, tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(InputError, match=instead):
        read_content(Content("a.csv", path=file), ReadOptions())


def test_boxed_tables() -> None:
    """Thousands separators, labels over two lines, N/A."""
    (run,) = runs_in(CONSOLE, "c16/profile_export_console.txt", expect="aiperf-console")
    (step,) = run.steps
    assert (run.tool, step.completed, step.output_tps) == ("aiperf", 195, 58.68)
    assert step.stat("ttft", "mean") == pytest.approx(1.2505)
    assert step.stat("tpot", "p99") == pytest.approx(0.01568)


def test_short_report_of_optimum() -> None:
    """The same figures as in the full one, under names with blanks."""
    text = (
        "experiment_name,Batch Size,Forward Latency (s),Generate Throughput (tokens/s),Generate Peak Memory (MB),"
        "Quantization Scheme\ngptq-batch_size(8)-sequence_length(512)-new_tokens(1000),8,0.437,169.0,62843,gptq\n"
    )
    (run,) = runs_in(text, "short_report.csv", expect="optimum-benchmark")
    assert (run.weight_format, run.output_len_spec) == ("gptq", "fixed 1000")
    assert (run.steps[0].batch_size, run.steps[0].output_tps, run.steps[0].prefill_s) == (8, 169.0, 0.437)
