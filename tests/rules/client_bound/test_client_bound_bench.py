"""The client's clock beside the server's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.bench import detailed, judge_bench, serve
from support.findings import finding, fired, reason

from diagnostics.execute.bench_client import BUSY_SHARE
from diagnostics.model.findings import Severity
from diagnostics.model.report import Reason

SLUG = "client-bound"


def _both(client: float, server: float, n: int = 200) -> dict[str, Any]:
    """First tokens at the client, and the server's own figure beside each request."""
    lengths = [50 + 13 * i % 700 for i in range(n)]
    result = detailed([i / 4 for i in range(n)], [client] * n, [1.0] * n, lengths, lengths, rate=4.0)
    return result | {"server_ttfts": [server] * n}


@pytest.mark.parametrize(
    ("client", "server", "fires"),
    [(0.5, 0.1, True), (0.21, 0.1, True), (0.19, 0.1, False), (0.03, 0.01, False)],
)
def test_time_outside_of_the_engine(client: float, server: float, fires: bool, tmp_path: Path) -> None:
    """Twice the server's time and a tenth of a second more; milliseconds do not matter."""
    found = finding(judge_bench(tmp_path, _both(client, server)), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.WARNING


def _paced(share: float, **other: Any) -> dict[str, Any]:
    """A closed loop of 32 whose client keeps a share of its requests open."""
    return serve(cap=32, n=640, e2e=1.0, duration=640 / (32 * share), **other)


@pytest.mark.parametrize(("share", "fires"), [(0.4, True), (BUSY_SHARE - 0.01, True), (0.9, False)])
def test_empty_slots_are_a_remark(share: float, fires: bool, tmp_path: Path) -> None:
    """Rate times length is far below the concurrency asked for."""
    found = finding(judge_bench(tmp_path, _paced(share)), SLUG)
    assert (found is not None) is fires
    assert found is None or found.severity is Severity.INFO


def test_few_rounds_say_nothing(tmp_path: Path) -> None:
    """Start and end of a short run leave slots empty, too."""
    report = judge_bench(tmp_path, serve(cap=32, n=64, e2e=1.0, duration=5.0))
    assert not fired(report, SLUG)
    assert reason(report, SLUG) is Reason.NOT_IN_THIS_INPUT
