"""The remark on maximum lengths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.findings import finding, fired, reason
from support.series import Recording
from support.texts import log, read
from support.vllm import vllm

from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason, Report
from diagnostics.rules.model_len_oversized import FEW_SEQUENCES, MANY_TIMES, MIN_REQUESTS

SLUG = "model-len-oversized"
# p99 of all requests in the bucket 500 to 1,000, twice.
EPS = 1e-6
P99 = 2 * (500 + 500 * 0.99)
Judge = Callable[..., Report]


def _traffic(longest: int, pool: int, requests: float = 2 * MIN_REQUESTS) -> Recording:
    """Requests of 500 to 1,000 tokens each way."""
    rec = vllm(command=f"vllm serve m --max-model-len {longest} --kv-capacity-tokens {pool}")
    labels = {"instance": "vllm-0:8000", "job": "vllm", "model_name": "/models/llama", "engine": "0"}
    for name in ("request_prompt_tokens", "request_generation_tokens"):
        for le, share in (("500", 0.0), ("1000", 1.0), ("+Inf", 1.0)):
            rec.add(f"vllm:{name}_bucket", [share * requests / 60 * i for i in range(61)], **labels, le=le)
        rec.add(f"vllm:{name}_count", [requests / 60 * i for i in range(61)], **labels)
        rec.add(f"vllm:{name}_sum", [750 * requests / 60 * i for i in range(61)], **labels)
    return rec


@pytest.mark.parametrize(("times", "fires"), [(MANY_TIMES - 0.01, False), (MANY_TIMES + 0.01, True)])
def test_many_times_the_use(times: float, fires: bool, judge: Judge) -> None:
    """Eight times the p99, where one such request would take most of the pool."""
    longest = round(P99 * times)
    found = finding(judge(_traffic(longest, longest)), SLUG)
    assert (found is not None) is fires
    if found:
        assert found.severity is Severity.INFO


@pytest.mark.parametrize(("sequences", "fires"), [(FEW_SEQUENCES - 0.01, True), (FEW_SEQUENCES, False)])
def test_it_must_cost_something(sequences: float, fires: bool, judge: Judge) -> None:
    """A long maximum beside a large pool is harmless in a paged engine."""
    longest = 100_000
    assert fired(judge(_traffic(longest, round(longest * sequences))), SLUG) is fires


@pytest.mark.parametrize(("requests", "fires"), [(MIN_REQUESTS - 1, False), (MIN_REQUESTS + EPS, True)])
def test_enough_requests(requests: float, fires: bool, judge: Judge) -> None:
    """A few requests do not show what traffic uses."""
    assert fired(judge(_traffic(100_000, 100_000, requests)), SLUG) is fires


def test_fires_on_a_refused_start(tmp_path: Path) -> None:
    """A length that the cache cannot hold costs the start; still only a remark beside the refusal itself."""
    line = (
        "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV "
        "cache is needed, which "
        "is larger than the available KV cache memory (9.10 GiB)."
    )
    report = read(tmp_path, log(line))
    found = finding(report, SLUG)
    assert found is not None
    assert found.severity is Severity.INFO
    assert report.verdict.primary == "does-not-fit"


def test_missing(tmp_path: Path) -> None:
    """A command alone does not show the traffic."""
    assert (
        reason(read(tmp_path, "$ vllm serve m/l --max-model-len 131072\n"), SLUG) is Reason.NOT_IN_THIS_INPUT
    )
