"""Small result files of ``vllm bench serve`` as inputs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from diagnostics import Options, diagnose
from diagnostics.model.report import Report

DATE = "20261129-170000"


def serve(
    *, rate: float | str = "inf", cap: int | None = None, n: int = 400, duration: float | None = None,
    output_tps: float | None = None, ttft: float = 0.1, e2e: float = 1.0,
    inputs: tuple[int, int] = (50, 800), outputs: tuple[int, int] = (20, 200), **other: Any,
) -> dict[str, Any]:  # fmt: skip
    """A summary without single requests; lengths are only totals that no constant length explains."""
    seconds = (
        duration
        if duration is not None
        else (n / rate + e2e if isinstance(rate, int | float) else n * e2e / (cap or n))
    )
    given, made = n * sum(inputs) // 2 + 1, n * sum(outputs) // 2 + 1
    tps = output_tps if output_tps is not None else made / seconds
    return {
        "date": DATE, "endpoint_type": "vllm", "backend": "vllm", "model_id": "m", "num_prompts": n, "request_rate": rate,
        "burstiness": 1.0, "max_concurrency": cap, "duration": seconds, "completed": n, "failed": 0,
        "total_input_tokens": given, "total_output_tokens": made, "request_throughput": n / seconds,
        "output_throughput": tps, "total_token_throughput": tps + given / seconds, "max_concurrent_requests": 9,
        **{f"{stat}_{metric}_ms": 1000 * value for metric, value in (("ttft", ttft), ("e2el", e2e))
           for stat in ("mean", "median", "p99")},
        **other,
    }  # fmt: skip


def detailed(
    starts: list[float],
    ttft: list[float],
    decode: list[float],
    inputs: list[int],
    outputs: list[int],
    **other: Any,
) -> dict[str, Any]:
    """A result with single requests, as ``--save-detailed`` writes it: seconds, one place a request."""
    n = len(starts)
    ends = [s + f + d for s, f, d in zip(starts, ttft, decode, strict=True)]
    result = serve(n=n, duration=max(ends) - min(starts), **other)
    result |= {
        "total_input_tokens": sum(inputs), "total_output_tokens": sum(outputs), "input_lens": inputs, "output_lens": outputs,
        "ttfts": ttft, "start_times": starts, "errors": [""] * n,
        "itls": [[d / (o - 1)] * (o - 1) for d, o in zip(decode, outputs, strict=True)],
    }  # fmt: skip
    for stat, value in (
        ("mean", np.mean(ttft)),
        ("median", np.median(ttft)),
        ("p99", np.quantile(ttft, 0.99)),
    ):
        result[f"{stat}_ttft_ms"] = 1000 * float(value)
    return result


def waves(
    first: float, later: float, *, n: int = 200, width: int = 8, lengths: tuple[int, int] = (420, 420)
) -> dict[str, Any]:
    """A closed loop of equal requests: the first wave's first tokens take ``first`` seconds, the others ``later``."""
    rng = np.random.default_rng(1)
    starts, clock, ttft = [], 0.0, []
    for i in range(0, n, width):
        wait = first if i == 0 else later
        for j in range(min(width, n - i)):
            starts.append(clock + 0.001 * j)
            ttft.append(wait)
        clock += wait + 1.02
    inputs = [int(x) for x in rng.integers(lengths[0], lengths[1] + 1, n)]
    return detailed(starts, ttft, [1.0] * n, inputs, [64] * n, cap=width)


def judge_bench(folder: Path, *results: dict[str, Any], text: str = "", **options: Any) -> Report:
    """Diagnose result files, or a pasted text."""
    place = folder / f"case-{len(list(folder.iterdir()))}"
    place.mkdir()
    if text:
        (place / "input.txt").write_text(text)
    for i, result in enumerate(results):
        (place / f"bench_{i}.json").write_text(json.dumps(result))
    files = sorted(str(p) for p in place.iterdir())
    return diagnose(files, Options(**options)).report
