from __future__ import annotations

import pytest
from bench_helpers import runs_in, runs_of

from diagnostics.sources.bench import reader

CLIENTS = """engine: vllm
output_len: 256

| client | input_len | output_throughput | mean_ttft_ms |
| --- | --- | --- | --- |
| A | 8000 | 503 | 1493 |
| vllm bench serve | 8000 | 494 | 3226 |
"""


def test_markdown_with_settings_above() -> None:
    one, other = runs_in(CLIENTS, "pasted.md", expect="table")
    assert (one.engine, one.input_len_spec, one.output_len_spec) == ("vllm", "fixed 8000", "fixed 256")
    assert one.steps[0].output_tps == 503
    assert one.steps[0].stat("ttft", "mean") == pytest.approx(1.493)
    assert other.extra["setting:client"] == "vllm bench serve"


def test_columns_without_unit_are_refused_with_a_reason() -> None:
    text = "| max_concurrency | p99_ttft_ms | latency | audio_throughput |\n"
    text += "|---|---|---|---|\n| 4 | 500 | 3.2 | 47.8 |\n"
    (run,) = runs_in(text)
    assert run.steps[0].stat("e2e", "mean") is None
    assert run.steps[0].extra == {"latency": "3.2", "audio_throughput": "47.8"}
    assert sum("is refused" in w for w in run.warnings) == 2


def test_total_rate_is_proved_by_lengths_and_latency() -> None:
    runs = runs_of("vllm/dstack-405b-serving-csv/throughput_latency_curve.csv")
    step = runs[0].steps[0]
    assert step.total_tps == pytest.approx(122.12, abs=0.01)
    assert step.output_tps == pytest.approx(114.94, abs=0.01)
    assert step.origins["total_tps"] == "derived"
    assert step.stat("e2e", "mean") == pytest.approx(71.27, abs=0.01)


def test_flattened_vllm_results_keep_server_flags_apart() -> None:
    runs = runs_of("vllm/dstack-405b-serving-csv/qps_comparison.csv")
    assert all(len({s.requested_rps for s in run.steps}) == len(run.steps) for run in runs)
    assert "setting:num_scheduler_step" in runs[0].extra
    assert runs[0].gpu_model == "8xH100 1FP8-meta"


def test_console_labels_as_header() -> None:
    (run,) = runs_of("vllm/dstack-console-text/result_vllm_short.csv")
    assert [s.completed for s in run.steps][:3] == [1, 2, 4]
    assert run.steps[-1].stat("ttft", "p99") == pytest.approx(253.43471)


def test_author_table_of_speculation() -> None:
    runs = runs_of("custom/argonne/specdecode_on_off.csv")
    rates = {(r.draft_model, r.input_len_spec, s.batch_size): s.total_tps for r in runs for s in r.steps}
    assert rates["JackFram/llama-68m", "fixed 128", 64] == pytest.approx(2864.4, abs=0.1)
    assert rates[None, "fixed 128", 64] == pytest.approx(5106.7, abs=0.1)


def test_shares_above_one_are_percent_for_the_whole_column() -> None:
    text = "max_concurrency,mean_ttft_ms,gpu_hit_rate\n1,10,87.2\n2,12,0.5\n"
    (run,) = runs_in(text, "t.csv")
    assert [s.cache_hit for s in run.steps] == [pytest.approx(0.872), pytest.approx(0.005)]


def test_numbers_left_of_the_results_are_settings() -> None:
    text = "| cpu_limit | latency_s | cpu_used |\n|---|---|---|\n| 2 | 58 | 1 |\n| 6 | 4 | 5 |\n"
    two, six = runs_in(text)
    assert (two.extra["setting:cpu_limit"], six.extra["setting:cpu_limit"]) == ("2", "6")
    assert six.steps[0].extra["cpu_used"] == "5"


def test_batch_column_beside_ttft_counts_clients() -> None:
    (run,) = runs_in("tp,bs,throughput_rps,mean_ttft_ms\n1,16,1.5,100\n1,32,1.7,300\n", "summary.csv")
    assert [s.concurrency_cap for s in run.steps] == [16, 32]
    assert run.steps[0].load_mode == "closed"


def test_speculation_column() -> None:
    off, on = runs_in(
        "| tp | speculative | max_concurrency | output_throughput |\n"
        "|--|--|--|--|\n|1|-|1|21|\n|1|EAGLE|1|30|\n"
    )
    assert (off.spec_method, on.spec_method) == ("none", "EAGLE")


@pytest.mark.parametrize(
    "text",
    [
        "| item | value |\n|---|---|\n| weight_loading | 18 |\n",
        "| policy | score |\n|---|---|\n| a | 1 |\n",
        "timestamp,power.draw [W]\n2026-01-01,300\n",
        "time,level,message\n1,INFO,hello\n",
    ],
)
def test_other_tables_are_not_claimed(text: str) -> None:
    assert reader.recognise(text, "x.md") is None
