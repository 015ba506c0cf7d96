"""A/B pairs of benchmark runs with and without speculation."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.bench import judge_bench, serve
from support.findings import finding

from diagnostics import Options, diagnose
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


@pytest.mark.parametrize(("gain", "severity"), [(1.1, None), (0.8, Severity.WARNING)])
def test_what_else_differs_is_not_laid_on_drafts(
    gain: float, severity: Severity | None, tmp_path: Path
) -> None:
    """Two layouts of the cache, each with and without drafts: only runs of one layout are held against each other."""
    for layout, slower in ((1, 1.0), (8, 0.7)):
        for drafts in (0, 1):
            cells = [
                {"concurrency": c, "context_tokens": 0, "aggregate_tps": 50 * c * slower * (gain if drafts else 1.0),
                 "measurement_seconds": 60.0, "ttft_p50": 0.1}
                for c in (4, 16, 64)
            ]  # fmt: skip
            metadata = {"concurrency_levels": [], "context_lengths": [], "engine": "vllm", "dcp_size": layout}
            text = json.dumps({"metadata": metadata, "results": cells})
            (tmp_path / f"dcp{layout}-mtp{drafts}.json").write_text(text)
    found = finding(diagnose([str(tmp_path)], Options()).report, SLUG)
    assert (found.severity if found else None) is severity


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
