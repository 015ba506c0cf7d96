"""A/B pairs of 16-bit and weight-only runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, fired

from diagnostics.execute.bench_pairs import NOISE
from diagnostics.model.findings import Severity

SLUG = "weight-only-quant-compute-bound"
CAPS = (4, 16, 64)


def _pair(ratios: tuple[float, ...], caps: tuple[int, ...] = CAPS, **other: Any) -> list[dict[str, Any]]:
    """16 bit and AWQ at the same loads; AWQ makes so many times the output."""
    plain = [serve(cap=c, output_tps=50.0 * c, model_id="llama-bf16") for c in caps]
    awq = [
        serve(cap=c, output_tps=50.0 * c * r, model_id="llama-awq", **other)
        for c, r in zip(caps, ratios, strict=True)
    ]
    return plain + awq


@pytest.mark.parametrize(
    ("ratios", "fires"),
    [((1.8, 1.2, 0.8), True), ((1.8, 1.2, 0.99 - NOISE), True), ((1.8, 1.2, 1.01 - NOISE), False), ((1.8, 1.7, 1.6), False)],
)  # fmt: skip
def test_sixteen_bit_overtakes(ratios: tuple[float, ...], fires: bool, tmp_path: Path) -> None:
    """A trend over three loads that ends in a loss beyond noise."""
    found = finding(judge_bench(tmp_path, *_pair(ratios)), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.WARNING


def test_two_bare_means_are_a_remark(tmp_path: Path) -> None:
    """One load on both sides carries no verdict."""
    found = finding(judge_bench(tmp_path, *_pair((0.7,), (64,))), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO


def test_a_second_difference_is_named(tmp_path: Path) -> None:
    """Where the runs differ in more than the weights, the loss is not put on these."""
    found = finding(judge_bench(tmp_path, *_pair((1.8, 1.2, 0.8), max_num_seqs=64)), SLUG)
    assert found is not None
    plain = _pair((1.8, 1.2, 0.8), tensor_parallel_size=2)
    for result in plain[:3]:
        result["tensor_parallel_size"] = 1
    found = finding(judge_bench(tmp_path, *plain), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO
    assert "differ in: tp" in found.explanation


def test_other_work_is_no_pair(tmp_path: Path) -> None:
    """Lengths differ: nothing is compared."""
    results = _pair((1.8, 1.2, 0.8))
    for result in results[3:]:
        result["total_output_tokens"] *= 3
    assert not fired(judge_bench(tmp_path, *results), SLUG)
