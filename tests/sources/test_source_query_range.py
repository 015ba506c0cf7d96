"""Saved answers of a Prometheus API."""

from __future__ import annotations

import json
import math

import pytest

from diagnostics.model.errors import InputError
from diagnostics.model.samples import InputKind
from diagnostics.sources.content import Content
from diagnostics.sources.query_range import decode, looks_like_answer, read_answer
from diagnostics.sources.recognise import ReadOptions, read_content

LABELS = {"__name__": "vllm:num_requests_running", "instance": "a:8000", "engine": "0"}


def _answer(values: list[list[object]], **labels: str) -> bytes:
    result = [{"metric": LABELS | labels, "values": values}]
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def test_points_become_times_and_values() -> None:
    """Times keep their milliseconds, values come from text."""
    capture = read_answer("saved", _answer([[1760000000.25, "3"], [1760000005.25, "4.5"]]))
    assert capture.kind is InputKind.PROMETHEUS
    assert capture.series[0].labels == {"instance": "a:8000", "engine": "0"}
    assert capture.times is not None
    assert capture.values is not None
    assert capture.times.tolist() == [1760000000.25, 1760000005.25]
    assert capture.values.tolist() == [3.0, 4.5]


@pytest.mark.parametrize(
    ("text", "value"), [("+Inf", math.inf), ("-Inf", -math.inf), ("NaN", math.nan), ("1e-7", 1e-7)]
)
def test_numbers_that_json_does_not_know(text: str, value: float) -> None:
    """NaN and infinity come as words, also beside ordinary numbers."""
    _, points = decode("saved", _answer([[1.0, "2"], [2.0, text]]))[0]
    assert points[0].tolist() == [1.0, 2.0]
    assert points[1][1] == value or (math.isnan(value) and math.isnan(points[1][1]))


def test_an_instant_answer_has_one_point_a_series() -> None:
    """The answer of ``query`` holds ``value`` in place of ``values``."""
    raw = {
        "status": "success",
        "data": {"resultType": "vector", "result": [{"metric": LABELS, "value": [5.0, "7"]}]},
    }
    assert decode("saved", json.dumps(raw).encode())[0][1].tolist() == [[5.0, 7.0]]


def test_several_series_keep_their_own_points() -> None:
    """Series of different lengths, and names that are not known, do not shift each other."""
    raw = {
        "status": "success",
        "data": {
            "resultType": "matrix",
            "result": [
                {"metric": LABELS, "values": [[1, "1"], [2, "2"], [3, "3"]]},
                {"metric": {"__name__": "node_load1"}, "values": [[1, "9"]]},
                {"metric": LABELS | {"engine": "1"}, "values": [[2, "20"]]},
            ],
        },
    }
    capture = read_answer("saved", json.dumps(raw).encode())
    assert capture.series_of is not None
    assert capture.values is not None
    assert list(zip(capture.series_of.tolist(), capture.values.tolist(), strict=True)) == [
        (0, 1.0), (0, 2.0), (0, 3.0), (1, 20.0),
    ]  # fmt: skip
    assert capture.unused == {"node_load1": 1}


def test_an_empty_answer_is_no_error() -> None:
    """A selector that matches nothing gives an answer without series."""
    capture = read_answer("saved", b'{"status":"success","data":{"resultType":"matrix","result":[]}}')
    assert capture.series == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (
            b'{"status":"error","errorType":"bad_data","error":"parse error at char 3"}',
            "parse error at char 3",
        ),
        (_answer([[1.0, "2"]])[:-30], "cut or broken"),
        (b'{"status":"success","data":{"result":[{"metric":{"__name__":"up"},"values":[[1,"x"]]}]}}', ""),
        (b'{"status":"success","data":{"result":"no list"}}', "expected a query_range answer"),
        (b'{"status":"success","data":{"result":[{"metric":{"__name__":"up"},"values":[[1]]}]}}', "expected"),
    ],
    ids=["error answer", "cut", "no number", "no list", "half a point"],
)
def test_bad_answers_are_refused_in_one_line(raw: bytes, said: str) -> None:
    """The place, what was expected and the way out are named; nothing is guessed."""
    with pytest.raises(InputError) as caught:
        read_answer("saved.json", raw)
    message = str(caught.value)
    assert "saved.json" in message
    assert said in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (_answer([[1.0, "2"]]), True),
        (json.dumps(json.loads(_answer([[1.0, "2"]])), indent=2).encode(), True),
        (b'{"status": "success", "data": {"resultType": "matrix", "result": []}}', True),
        (b'{"model": "x", "request_throughput": 3.0}', False),
        (b"[]", False),
        (b"status", False),
    ],
    ids=["compact", "indented", "empty result", "bench result", "list", "text"],
)
def test_answers_are_recognised_by_their_beginning(head: bytes, expected: bool) -> None:
    """An answer is known from its first bytes, however it is laid out."""
    assert looks_like_answer(head) is expected


def test_a_saved_error_is_told_in_the_words_of_the_server() -> None:
    """An answer that reports an error is refused with that error, not taken for text in which nothing is known."""
    raw = b'{"status":"error","errorType":"bad_data","error":"parse error at char 3"}'
    with pytest.raises(InputError, match="parse error at char 3"):
        read_content(Content("saved.json", data=raw), ReadOptions())
