"""What the fuzzing found, each in its smallest form."""

from __future__ import annotations

import json

import pytest
from fuzz.cases import configure, read, walk

from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.samples import InputKind
from diagnostics.sources.content import Content
from diagnostics.sources.logs.prefixes import Peeler
from diagnostics.sources.logs.reader import ENGINES, read_log
from diagnostics.sources.logs.shapes import Shapes
from diagnostics.sources.logs.times import Clock
from diagnostics.sources.recognise import ReadOptions, read_content

_DIGITS = "9" * 5000  # more than Python turns into a number
_STATUS = (
    "INFO 11-29 10:02:11 [loggers.py:259] Engine 000: Avg prompt throughput: 8.4 tokens/s, Avg generation throughput: "
    "3.7 tokens/s, Running: 4 reqs, Waiting: 1 reqs, GPU KV cache usage: 9.8%"
)


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (f'{{"a": {_DIGITS}}}', "read"),
        (f"version: 0.2\nscenario: {_DIGITS}\n", "read"),
        (f"docker run vllm/vllm-openai:v{_DIGITS} --model a/b --max-num-seqs 4", "read"),
        (f"(EngineCore_DP{_DIGITS} pid=1) {_STATUS}", "read"),
        (f"{_STATUS}\nINFO 11-29 10:02:12 [x.py:1] # GPU blocks: {_DIGITS}, # CPU blocks: 2", "read"),
        ("# 1e999999999 users, A100", "read"),
        (json.dumps({"log": _STATUS, "time": "²"}), "read"),
        ('{"status":"success","data":{"resultType":"matrix","result":[{"metric":' + "{" * 3000, "refused"),
        ('{"status":"success","data":{"resultType":"matrix","result":' + "[" * 3000 + "]" * 3000 + "}}", "refused"),
    ],
    ids=["json", "yaml", "version", "rank", "blocks", "remark", "time", "cut answer", "deep answer"],
)  # fmt: skip
def test_numbers_and_nesting_beyond_measure(text: str, outcome: str) -> None:
    assert read(text.encode()) == outcome
    walk(text.encode())


def test_aliases_that_expand_to_billions_in_a_result() -> None:
    levels = "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    capture = read_content(
        Content("x", data=f"a0: &a0 [x, x]\n{levels}benchmarks: *a39\n".encode()), ReadOptions()
    )
    assert capture.kind is InputKind.UNKNOWN


@pytest.mark.parametrize("stamp", ["1e999", "-5", "1e300"])
def test_samples_at_times_that_are_none(stamp: str) -> None:
    """They are left out and counted; the rest is read."""
    text = f"vllm:num_requests_running 1 1795946531.5\nvllm:num_requests_running 2 {stamp}\n# EOF\n"
    capture = read_content(Content("x", data=text.encode()), ReadOptions())
    assert capture.values is not None
    assert capture.values.tolist() == [1.0]
    assert any(warning.startswith("1 samples at times outside") for warning in capture.warnings)


def test_a_rank_that_is_a_digit_of_another_kind() -> None:
    """``²`` is a digit and no number; as a rank it says nothing."""
    lines = [f'vllm:num_requests_running{{engine="{rank}",model_name="m"}} 4' for rank in "01²"]
    assert walk("\n".join(lines).encode()) in {"findings", "insufficient-data"}


@pytest.mark.parametrize(
    "text", [f"since = {_DIGITS}", "a = " + "[" * 5000, f'"{"k" * 5000}" = 1', '"a\\nb" = 1']
)
def test_configurations_beyond_measure(text: str) -> None:
    assert configure(text.encode()) == "refused"


def test_a_configuration_with_a_byte_order_mark() -> None:
    assert configure(b'\xef\xbb\xbfinterval = "30s"\n') == "read"


@pytest.mark.parametrize(
    "error", [InputError("a\nb" * 500, "line 1", "c\u2028d", "e"), OptionError("a\nb" * 500)]
)
def test_errors_are_one_line_whatever_is_in_them(error: Exception) -> None:
    assert len(str(error).splitlines()) == 1
    assert len(str(error)) < 1000


def test_no_shape_is_learnt_from_an_endless_line() -> None:
    """A lesson takes the square of a line's length."""
    line = _STATUS + ", Running: 4 reqs" * 4000
    capture = read_log("x", [line + "\n"] * 3)
    assert capture.values is not None
    assert len(capture.values) == 3 * 4005
    clock = Clock()
    shapes = Shapes(clock)
    peeled = Peeler(clock).peel(line)
    assert peeled is not None
    shapes.learn(line, peeled, ENGINES[0], [(0, 4.0)], None)  # type: ignore[arg-type]  not reached
    assert shapes.lessons == 0
