"""Evaluations and serving runs of a model in 16 bit and quantized: which half is there, and what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import judge_bench, serve
from support.findings import finding, fired

from diagnostics.model.findings import Severity

SLUG = "quantization-unvalidated"


def _evaluation(model: str, score: float, error: float | None = 0.01, n: int = 1319) -> dict[str, Any]:
    """A result file of lm_eval for one task."""
    metrics = {"alias": "gsm8k", "exact_match,strict-match": score}
    if error is not None:
        metrics["exact_match_stderr,strict-match"] = error
    return {
        "results": {"gsm8k": metrics},
        "config": {"model": "local-completions", "model_args": f"model={model},base_url=http://x/v1"},
        "n-samples": {"gsm8k": {"original": n, "effective": n}},
    }


def _serving(ratio: float) -> list[dict[str, Any]]:
    """The same loads in 16 bit and quantized."""
    plain = [serve(cap=c, output_tps=50.0 * c, model_id="llama-bf16") for c in (4, 16, 64)]
    return plain + [serve(cap=c, output_tps=50.0 * c * ratio, model_id="llama-fp8") for c in (4, 16, 64)]


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (_serving(1.2), "the quality half is missing"),
        ([_evaluation("llama-bf16", 0.76), _evaluation("llama-fp8", 0.755)], "the serving half is missing"),
        ([serve(cap=4, model_id="llama-fp8")], "both halves of its validation are missing"),
        (
            [_evaluation("llama", 0.76), _evaluation("llama-fp8", 0.71)],
            "gsm8k exact_match falls from 0.760 to 0.710",
        ),
        (
            [*_serving(0.8), _evaluation("llama", 0.76), _evaluation("llama-fp8", 0.755)],
            "output falls to 80 %",
        ),
    ],
)
def test_a_missing_half_or_a_loss_is_told(inputs: list[dict[str, Any]], said: str, tmp_path: Path) -> None:
    """Which half is missing, or what got worse beyond noise."""
    found = finding(judge_bench(tmp_path, *inputs), SLUG)
    assert found is not None
    assert said in found.summary
    assert found.severity is Severity.INFO


def test_both_halves_without_a_loss_are_quiet(tmp_path: Path) -> None:
    """A difference within noise, and no fewer tokens."""
    halves = [*_serving(1.2), _evaluation("llama-bf16", 0.76), _evaluation("llama-fp8", 0.755)]
    assert not fired(judge_bench(tmp_path, *halves), SLUG)


@pytest.mark.parametrize(("error", "n"), [(None, 1319), (0.01, 20)])
def test_a_score_without_noise_or_samples_proves_no_loss(error: float | None, n: int, tmp_path: Path) -> None:
    """However far apart."""
    pair = [_evaluation("llama", 0.76, error, n), _evaluation("llama-fp8", 0.5, error, n)]
    found = finding(judge_bench(tmp_path, *_serving(1.2), *pair), SLUG)
    assert found is None or "falls" not in found.summary


def test_the_plan_names_share_limit_and_way_back(tmp_path: Path) -> None:
    """A canary: how much, how long, what rolls it back, and what is kept."""
    found = finding(judge_bench(tmp_path, *_serving(1.2)), SLUG)
    assert found is not None
    plan = next(r.action for r in found.remedies if "canary" in r.action)
    assert all(word in plan for word in ("5 %", "day", "rolled back", "SLO", "kept warm"))
