"""Reuse that a benchmark offers against what was found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.findings import finding, fired

from diagnostics import Options, diagnose
from diagnostics.model.findings import Severity
from diagnostics.model.report import Report

SLUG = "prefix-cache-miss"


def _sweep(folder: Path, found: tuple[float, ...], offered: float = 0.9) -> Report:
    """Agentic results over concurrency, with the share of prompt tokens that was found and that could have been."""
    for i, hit in enumerate(found):
        users = 2**i
        result = {
            "hw": "b200", "users": users, "offload_mode": "off", "model": "m", "framework": "vllm", "precision": "fp4", "tp": 4,
            "num_requests_total": 400, "num_requests_successful": 400, "mean_ttft": 1.0, "p50_ttft": 1.0, "mean_ttlt": 5.0,
            "mean_tpot": 0.02, "p50_tpot": 0.02, "output_tput_per_gpu": 50.0 * users, "tput_per_gpu": 500.0 * users,
            "theoretical_cache_hit_rate": offered, "server_gpu_cache_hit_rate": hit,
        }  # fmt: skip
        (folder / f"users{users}.json").write_text(json.dumps(result))
    return diagnose([str(folder)], Options()).report


@pytest.mark.parametrize(
    ("found", "variant", "severity"),
    [
        ((0.88, 0.86, 0.3, 0.05), "evicted", Severity.WARNING),
        ((0.88, 0.86, 0.8, 0.4), "evicted", Severity.INFO),
        ((0.2, 0.2, 0.2, 0.2), "unknown", Severity.INFO),
        ((0.88, 0.3, 0.86, 0.85), "unknown", Severity.INFO),
        ((0.88, 0.86, 0.85, 0.8), None, None),
    ],
)
def test_reuse_over_load(
    found: tuple[float, ...], variant: str | None, severity: Severity | None, tmp_path: Path
) -> None:
    """Lost for good above some load: evicted. Low everywhere or at one odd level: unknown. Kept: nothing."""
    told = finding(_sweep(tmp_path, found), SLUG)
    assert (told.variant if told else None) == variant
    assert (told.severity if told else None) is severity


@pytest.mark.parametrize(
    ("found", "variant"),
    [((87.0, 86.0, 12.0, 3.0), "evicted"), ((12.0, 12.0, 3.0, 3.0), None), ((87.0, 5.0, 86.0, 85.0), None)],
)
def test_light_load_says_what_could_be_reused(
    found: tuple[float, ...], variant: str | None, tmp_path: Path
) -> None:
    """Where nobody tells: lost for good after it worked is evicted; low from the start or once is nothing."""
    rows = "".join(f"{16 * 2**i},4000,2.5,{9000 + i},100,{hit}\n" for i, hit in enumerate(found))
    heading = "num_clients,num_requests,throughput_rps,total_throughput_tps,p50_ttft_ms,gpu_hit_rate\n"
    (tmp_path / "sweep.csv").write_text(heading + rows)
    told = finding(diagnose([str(tmp_path)], Options()).report, SLUG)
    assert (told.variant if told else None) == variant


def test_traffic_with_nothing_to_share_is_quiet(tmp_path: Path) -> None:
    """Nothing was offered, so nothing is missed."""
    assert not fired(_sweep(tmp_path, (0.01, 0.01, 0.01), offered=0.05), SLUG)
