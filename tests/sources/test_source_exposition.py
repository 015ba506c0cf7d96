"""Metrics text: what exporters, proxies and crashes make of it."""

from __future__ import annotations

import math

import pytest

from diagnostics import diagnose
from diagnostics.model.errors import InputError
from diagnostics.model.samples import Capture, InputKind
from diagnostics.reports import text
from diagnostics.sources.exposition import looks_like_exposition, read_exposition

RUNNING = "vllm:num_requests_running"


def _read(*lines: str) -> Capture:
    return read_exposition("page", list(lines))


def _points(capture: Capture) -> list[tuple[str, float, float]]:
    """(name, time, value) of every sample."""
    assert capture.series_of is not None
    assert capture.times is not None
    assert capture.values is not None
    rows = zip(capture.series_of, capture.times, capture.values, strict=True)
    return [(capture.series[s].name, float(t), float(v)) for s, t, v in rows]


@pytest.mark.parametrize(
    ("written", "label"),
    [
        (r"a\"b", 'a"b'),
        (r"a\\b", "a\\b"),
        (r"a\nb", "a\nb"),
        (r"a\\nb", r"a\nb"),
        ("a} 5", "a} 5"),
        ("a,b=c", "a,b=c"),
        ("a # b", "a # b"),
        ("é\u2028<script>", "é\u2028<script>"),
    ],
)
def test_labels_keep_every_character(written: str, label: str) -> None:
    """Escapes are undone once; braces, commas and hashes inside a label are text."""
    capture = _read(f'{RUNNING}{{engine="0",model_name="{written}"}} 3')
    assert capture.series[0].labels == {"engine": "0", "model_name": label}
    assert [v for _, _, v in _points(capture)] == [3.0]


def test_exemplars_are_left_out() -> None:
    """The text behind a sample of OpenMetrics is no time and no value, also with braces of its own."""
    head = 'vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1"}'
    capture = _read(
        f'{head} 7 # {{trace_id="a}}b"}} 0.05 1760000000.1', f'{head} 8 1760000005.0 # {{trace_id="c"}} 0.06'
    )
    assert capture.series[0].labels == {"engine": "0"}
    assert capture.series[0].le == 0.1
    values = [(t, v) for _, t, v in _points(capture)]
    assert math.isnan(values[0][0])
    assert values[0][1] == 7.0
    assert values[1] == (1760000005.0, 8.0)


@pytest.mark.parametrize("stamp", ["1760000000123", "1760000000.123", "1.760000000123e9"])
def test_milliseconds_and_seconds_are_told_apart(stamp: str) -> None:
    """The text format counts milliseconds, OpenMetrics seconds; both are the same moment."""
    capture = _read(f"{RUNNING} 1 {stamp}")
    assert _points(capture)[0][1] == pytest.approx(1760000000.123, abs=1e-3)
    assert capture.kind is InputKind.OPENMETRICS


def test_without_times_it_is_a_dump() -> None:
    """A page as the server shows it carries no time, and none is made up."""
    capture = _read(f"{RUNNING} 1")
    assert capture.kind is InputKind.EXPOSITION
    assert math.isnan(_points(capture)[0][1])


@pytest.mark.parametrize(
    ("written", "value"),
    [("+Inf", math.inf), ("-Inf", -math.inf), ("1e3", 1000.0), ("4.5E-2", 0.045), ("0", 0.0)],
)
def test_numbers_in_every_spelling(written: str, value: float) -> None:
    """Infinite and exponential numbers are numbers."""
    assert _points(_read(f"{RUNNING} {written}"))[0][2] == value


def test_nan_stays_nan() -> None:
    """A gauge without a value is not a 0."""
    assert math.isnan(_points(_read(f"{RUNNING} NaN"))[0][2])


def test_windows_line_ends_and_spaces_are_no_part_of_a_value() -> None:
    """A page saved on another system reads the same."""
    text = f'# TYPE {RUNNING} gauge\r\n{RUNNING}{{engine="0"}}   4 \r\n\r\n'
    assert [v for _, _, v in _points(_read(*text.split("\n")))] == [4.0]


def test_a_cut_last_line_is_named_and_the_rest_is_kept() -> None:
    """A copy that ends in the middle of a line loses that line only."""
    capture = _read(
        f'{RUNNING}{{engine="0"}} 4', 'vllm:kv_cache_usage_perc{engine="0"} 0.5', "vllm:num_requests_wai{eng"
    )
    assert [(n, v) for n, _, v in _points(capture)] == [(RUNNING, 4.0), ("vllm:kv_cache_usage_perc", 0.5)]


def test_lines_that_are_no_metrics_are_counted() -> None:
    """A line of prose among metrics is a warning with its place, not an error."""
    capture = _read(f'{RUNNING}{{engine="0"}} 4', f'{RUNNING}{{engine="0"}} four')
    assert len(_points(capture)) == 1
    assert "first line 2" in capture.warnings[0]


def test_nothing_readable_is_an_error_in_one_line() -> None:
    """Text in which no sample can be read is refused with what was expected."""
    with pytest.raises(InputError, match="page") as caught:
        _read("# TYPE a gauge", "# EOF")
    assert "\n" not in str(caught.value)


def test_creation_times_are_no_values() -> None:
    """The ``_created`` twins of counters are not counters, and not reported as unused families."""
    capture = _read("vllm:num_preemptions_total 3", "vllm:num_preemptions_created 1.7e9")
    assert [s.name for s in capture.series] == ["vllm:num_preemptions_total"]
    assert not capture.unused


def test_unknown_families_are_counted_once_each() -> None:
    """What is not used is said, one family however many series it has."""
    capture = _read(f"{RUNNING} 1", 'other_seconds_bucket{le="1"} 1', 'other_seconds_bucket{le="+Inf"} 1',
                    "other_seconds_sum 1", "other_seconds_count 1", "python_gc 1")  # fmt: skip
    assert set(capture.unused) == {"other_seconds", "python_gc"}


def test_labels_of_the_cache_become_settings() -> None:
    """vLLM says its KV cache size in the labels of an info metric."""
    capture = _read(
        'vllm:cache_config_info{engine="0",block_size="32",num_gpu_blocks="2730",cache_dtype="None"} 1.0'
    )
    assert {(s.name, s.value) for s in capture.settings} == {("block_size", "32"), ("num_gpu_blocks", "2730")}
    assert all(s.labels == {"engine": "0"} for s in capture.settings)


def test_renamed_colons_are_the_same_metrics() -> None:
    """Pipelines that replace the colon, or prepend a name, bring the same facts."""
    for name in ("vllm_num_requests_running", "ray_vllm_num_requests_running"):
        assert len(_points(_read(f"{name} 2"))) == 1


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([f"{RUNNING} 1"], True),
        (["# HELP a b", "# TYPE a gauge"], True),
        (["INFO 01-01 00:00:00 up", "ERROR down"], False),
        ([], False),
        ([f"{RUNNING} 1", "prose", "more prose", "and more"], False),
    ],
)
def test_metrics_text_is_recognised_by_its_lines(lines: list[str], expected: bool) -> None:
    """At least half of the lines must be samples."""
    assert looks_like_exposition(lines) is expected


def test_spaces_tabs_and_lines_without_a_value() -> None:
    """Indented and tab-separated samples are read; a name alone is counted as no metric, and nothing else is lost."""
    text = [
        "  vllm:num_requests_running 3",
        "vllm:num_requests_waiting\t4",
        'vllm:num_requests_waiting{engine="1"}  5  ',
        "vllm:num_requests_swapped",
        "",
        "   ",
    ]
    capture = read_exposition("dump", text)
    assert capture.values is not None
    assert capture.values.tolist() == [3.0, 4.0, 5.0]
    assert [s.name for s in capture.series] == [
        "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:num_requests_waiting",
    ]  # fmt: skip
    assert capture.warnings == ["1 lines were not metrics, first line 4; passed over"]


def test_quotes_line_ends_and_braces_in_labels() -> None:
    """Whatever a label holds, it is one label of one series, and nothing of it ends a line of the report."""
    hostile = 'a"b\\c\nd}{e="f",g # h 7'
    written = hostile.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    lines = [
        f'vllm:num_requests_{state}{{model_name="{written}",instance="{written}",engine="0"}} {value} # {{trace_id="}}"}} 1 2'
        for state, value in (("running", 4), ("waiting", 90))
    ]
    capture = read_exposition("x", lines)
    assert [s.labels["model_name"] for s in capture.series] == [hostile] * 2
    assert capture.values is not None
    assert capture.values.tolist() == [4.0, 90.0]
    report = diagnose(["-"], stdin="\n".join(lines).encode()).report
    assert [d.replicas for d in report.deployments] == [1]
    assert "\nd}{e=" not in text.render(report)
