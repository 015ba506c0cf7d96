"""Locust ``*_stats.csv``: milliseconds; TTFT and end-to-end rows are named by the author of the test."""

from __future__ import annotations

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.values import MILLI, add_stat, count, number

FORMAT = "locust"
HINTS: tuple[str, ...] = ()
_STATS = {"Type", "Name", "Request Count", "Failure Count", "Median Response Time"}
_PERCENTILES = {
    "50%": "p50",
    "66%": "p66",
    "75%": "p75",
    "80%": "p80",
    "90%": "p90",
    "95%": "p95",
    "98%": "p98",
    "99%": "p99",
}
_TTFT = ("ttft", "first token", "first_token")
_E2E = ("e2e", "end to end", "end_to_end", "total time", "full response")


def recognise(content: Content) -> bool:
    """The header of the summary; history and failures files hold no result of their own."""
    return set(content.header) >= _STATS and "Timestamp" not in content.header


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one step; the ``Aggregated`` row mixes unlike rows and is ignored."""
    run = BenchRun(source=source, format=FORMAT, tool="locust")
    step = BenchStep(load_mode="closed", arrival="none")
    run.steps.append(step)
    rows = [row for _, row in content.table() if row.get("Name") != "Aggregated"]
    counts: dict[str, int] = {}
    for row in rows:
        metric = _metric(row.get("Name", ""))
        if metric is None or metric in counts:
            continue
        counts[metric] = count(row.get("Request Count")) or 0
        _fill(step, metric, row, counts[metric])
    if "e2e" not in counts and len(rows) == 1:
        counts["e2e"] = count(rows[0].get("Request Count")) or 0
        _fill(step, "e2e", rows[0], counts["e2e"])
    _finish(run, step, rows, counts)
    return [run]


def _metric(name: str) -> str | None:
    lowered = name.lower()
    if any(word in lowered for word in _TTFT):
        return "ttft"
    return "e2e" if any(word in lowered for word in _E2E) else None


def _fill(step: BenchStep, metric: str, row: dict[str, str], n: int) -> None:
    """Percentiles are rounded to two digits by the tool; mean and extremes are not."""
    for key, stat in (("Average", "mean"), ("Min", "min"), ("Max", "max")):
        add_stat(step, metric, stat, row.get(f"{key} Response Time"), MILLI, n=n)
    for column, stat in _PERCENTILES.items():
        add_stat(step, metric, stat, row.get(column), MILLI, n=n)
    if metric == "e2e":
        step.completed, step.failed = n, count(row.get("Failure Count"))
        step.rps = number(row.get("Requests/s"))


def _finish(run: BenchRun, step: BenchStep, rows: list[dict[str, str]], counts: dict[str, int]) -> None:
    if not counts:
        step.valid, step.invalid_reason = False, "no row is named for TTFT or end-to-end latency"
        run.extra["rows"] = [row.get("Name") for row in rows][:50]
        run.warnings.append(
            "no row is named for TTFT or end-to-end latency: plain HTTP rows say nothing about tokens"
        )
        return
    run.streaming = True if "ttft" in counts else None
    missing = counts.get("ttft", 0) - counts.get("e2e", 0)
    if "e2e" in counts and missing > 0:
        step.incomplete = missing
        step.origins["incomplete"] = "derived"
        run.warnings.append(
            f"{missing} streams had begun and not ended: they are missing from the end-to-end latency"
        )
