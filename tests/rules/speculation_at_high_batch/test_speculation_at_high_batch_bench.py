"""A/B pairs of benchmark runs with and without speculation."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.bench import judge_bench, serve
from support.findings import finding

from diagnostics.model.findings import Severity
from diagnostics.model.report import Report

SLUG = "speculation-at-high-batch"
CAPS = (4, 16, 64)


def _pair(folder: Path, ratios: tuple[float, ...]) -> Report:
    """The same loads without and with drafts, whose acceptance the tool writes only where there are some."""
    off = [serve(cap=c, output_tps=50.0 * c) for c in CAPS]
    drafts = {"spec_decode_acceptance_rate": 70.0, "spec_decode_acceptance_length": 2.4}
    on = [serve(cap=c, output_tps=50.0 * c * r, **drafts) for c, r in zip(CAPS, ratios, strict=True)]
    return judge_bench(folder, *off, *on)


@pytest.mark.parametrize(("ratios", "fires"), [((1.6, 1.0, 0.7), True), ((1.6, 1.3, 1.1), False)])
def test_a_loss_at_large_load(ratios: tuple[float, ...], fires: bool, tmp_path: Path) -> None:
    """A trend over three loads that ends in fewer tokens; a gain throughout is none."""
    found = finding(_pair(tmp_path, ratios), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.WARNING


def test_two_loads_of_a_table_are_a_remark(tmp_path: Path) -> None:
    """A draft model named or 'None' in a column; a single large load carries no verdict."""
    text = (
        "Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,speculative model,Latency,Throughput\n"
        "Nvidia A100 GPU,1,vLLM,org/m,128,64,org/draft,5.72,2864.4\nNvidia A100 GPU,1,vLLM,org/m,128,64,None,3.208,5106.7\n"
        "Nvidia A100 GPU,1,vLLM,org/m,128,1,org/draft,1.19,215.4\nNvidia A100 GPU,1,vLLM,org/m,128,1,None,1.65,155.1\n"
    )
    found = finding(judge_bench(tmp_path, text=text), SLUG)
    assert found is not None
    assert found.severity is Severity.INFO
    assert "44 % fewer" in found.summary
