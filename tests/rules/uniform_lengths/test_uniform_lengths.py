"""Constant lengths: measured, asked for, or only named."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import detailed, judge_bench, serve
from support.findings import finding, fired, loud, reason

from diagnostics.execute.bench_shape import NEARLY_CONSTANT
from diagnostics.model.findings import Role
from diagnostics.model.report import Reason

SLUG = "uniform-lengths"


def _result(spread: float, rate: float = 2.0) -> dict[str, object]:
    """Two hundred requests whose lengths lie at the mean and so many parts beside it, to both sides in turn."""
    n, mean = 200, 1000
    lengths = [round(mean * (1 + spread * (-1) ** i)) for i in range(n)]
    return detailed([i / rate for i in range(n)], [0.1] * n, [1.0] * n, lengths, lengths, rate=rate)


@pytest.mark.parametrize(
    ("spread", "fires"),
    [(0.0, True), (NEARLY_CONSTANT, True), (NEARLY_CONSTANT + 0.005, False), (0.5, False)],
)
def test_the_deviation_of_lengths(spread: float, fires: bool, tmp_path: Path) -> None:
    """Deviation by mean decides."""
    assert (SLUG in loud(judge_bench(tmp_path, _result(spread)))) is fires


def test_one_length_that_varies_is_enough(tmp_path: Path) -> None:
    """Constant prompts with answers of all lengths do make a tail."""
    result = _result(0.0)
    outputs = [20 + 7 * i % 900 for i in range(200)]
    result |= {"output_lens": outputs, "total_output_tokens": sum(outputs)}
    result["itls"] = [[0.01] * (o - 1) for o in outputs]
    assert not fired(judge_bench(tmp_path, result), SLUG)


def test_exact_totals_give_it_away(tmp_path: Path) -> None:
    """Without single lengths, both totals are whole multiples of the count."""
    result = serve(rate=4.0, n=300, total_input_tokens=300 * 1024, total_output_tokens=300 * 128)
    assert SLUG in loud(judge_bench(tmp_path, result))


def test_a_command_alone(tmp_path: Path) -> None:
    """A run that is seen to have started is enough without its result; a command alone may never have been run."""
    command = "$ vllm bench throughput --model m --input-len 32 --output-len 1\n"
    line = (
        "INFO 07-20 23:32:42 [config.py:2195] Chunked prefill is enabled with max_num_batched_tokens=16384.\n"
    )
    assert SLUG in loud(judge_bench(tmp_path, text=command + line))
    report = judge_bench(tmp_path, text=command)
    assert fired(report, SLUG)
    assert SLUG not in loud(report)


def test_in_a_sweep_it_is_advice(tmp_path: Path) -> None:
    """A sweep holds its lengths on purpose: the curve comes first."""
    found = finding(judge_bench(tmp_path, *(_result(0.0, rate) for rate in (1.0, 2.0, 4.0))), SLUG)
    assert found is not None
    assert found.role is Role.ADVICE


def test_unknown_lengths(tmp_path: Path) -> None:
    """A result without lengths is not evaluated."""
    bare = serve(rate=4.0)
    bare = {k: v for k, v in bare.items() if "token" not in k and k != "output_throughput"}
    assert reason(judge_bench(tmp_path, bare), SLUG) is Reason.NOT_IN_THIS_INPUT
