"""GuideLLM's console tables: headings over several lines, a heading spans the columns behind it."""

from __future__ import annotations

import re

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.values import MILLI, add_stat, count, model_name, number, positive

Table = tuple[list[str], list[list[str]]]
_MARKS = ("Benchmarks Stats:", "Run Summary Info", "Request Latency Statistics")
_RULE = re.compile(r"^[|\-=+ ]{10,}$")
_MODEL = re.compile(r"(?:backend_model=|'model':\s*|validated with model )'?([\w./-]+)")
_MODES = {
    "synchronous": ("single-stream", "none"),
    "throughput": ("burst", "none"),
    "concurrent": ("closed", "none"),
    "constant": ("open", "constant"),
    "poisson": ("open", "poisson"),
}
_STATS = {
    "request latency sec": ("e2e", 1.0, "s"),
    "req latency (sec)": ("e2e", 1.0, "s"),
    "ttft ms": ("ttft", MILLI, "s"),
    "ttft (ms)": ("ttft", MILLI, "s"),
    "itl ms": ("tpot", MILLI, "s"),
    "itl (ms)": ("tpot", MILLI, "s"),
    "tpot ms": ("ntpot", MILLI, "s"),
    "tpot (ms)": ("ntpot", MILLI, "s"),
    "input tok per req": ("input_len", 1.0, "tokens"),
    "output tok per req": ("output_len", 1.0, "tokens"),
}
_FIELDS = {
    "timings dur sec": "duration_s",
    "metadata duration (s)": "duration_s",
    "requests made comp": "completed",
    "requests made inc": "incomplete",
    "requests made err": "failed",
    "input tokens comp tot": "input_tokens",
    "output tokens comp tot": "output_tokens",
    "prompt tok total comp": "input_tokens",
    "output tok total comp": "output_tokens",
    "requests per sec mean": "rps",
    "request stats per second": "rps",
    "requests concurrency mean": "concurrency_mean",
    "request stats concurrency": "concurrency_mean",
    "output tokens per sec mean": "output_tps",
    "out tok/sec mean": "output_tps",
    "total tokens per sec mean": "total_tps",
    "tot tok/sec mean": "total_tps",
    "input tokens per sec mean": "input_tps",
}
_COUNTS = frozenset({"completed", "incomplete", "failed", "input_tokens", "output_tokens"})
_LAST = {"mdn": "p50", "median": "p50", "mean": "mean", "p95": "p95", "p99": "p99"}


def find_tables(text: str) -> str:
    """The text when it holds the tool's tables, else nothing."""
    return text if any(mark in text for mark in _MARKS) and "|" in text else ""


def read_tables(source: str, text: str) -> BenchRun:
    """One run; the n-th row of every table belongs to the n-th step."""
    run = BenchRun(source=source, format="console", tool="guidellm", format_era="console")
    model = _MODEL.search(text)
    run.model = model_name(model.group(1)) if model else None
    tables = _tables(text)
    rows = max((len(body) for _, body in tables), default=0)
    run.steps = [BenchStep(source_path=f"row {i + 1}", measured_over="steady") for i in range(rows)]
    for columns, body in tables:
        for step, cells in zip(run.steps, body, strict=False):
            _fill(step, columns, cells)
    return run


def _cells(line: str) -> list[str]:
    stripped = line.strip()
    if stripped.startswith("|"):
        stripped = stripped[1:].removesuffix("|")
    return [cell.strip() for cell in stripped.split("|")]


def _tables(text: str) -> list[Table]:
    """Headings above a rule, rows below it, until a line that is no table."""
    found: list[Table] = []
    heading: list[list[str]] = []
    body: list[list[str]] | None = None
    for line in text.splitlines():
        if _RULE.match(line.strip() or "x") and line.strip().strip("="):
            if heading:
                body = []
                found.append((_columns(heading), body))
                heading = []
        elif "|" in line and not _RULE.match(line.strip()):
            cells = _cells(line)
            if (
                body is not None
                and len(cells) == len(found[-1][0])
                and cells[0] not in ("Benchmark", "Metadata")
            ):
                body.append(cells)
            else:
                body = None
                heading.append(cells)
        elif not line.strip().strip("="):
            body, heading = (None, []) if not line.strip() else (body, heading)
    return found


def _columns(heading: list[list[str]]) -> list[str]:
    width = max(len(row) for row in heading)
    parts: list[list[str]] = [[] for _ in range(width)]
    for level, row in enumerate(heading):
        shown = ""
        for i in range(width):
            cell = row[i] if i < len(row) else ""
            spans = level < len(heading) - 1
            shown = cell if cell else (shown if spans else "")
            if shown:
                parts[i].append(shown)
    return [" ".join(" ".join(words).lower().split()) for words in parts]


def _fill(step: BenchStep, columns: list[str], cells: list[str]) -> None:
    kind = cells[0].split("@")[0].lower()
    step.load_mode, step.arrival = _MODES.get(kind, ("unknown", "unknown"))
    if "@" in cells[0] and step.load_mode == "open":
        step.requested_rps = positive(cells[0].split("@")[1])
    if kind == "synchronous":
        step.concurrency_cap = 1
    for column, cell in zip(columns[1:], cells[1:], strict=False):
        name = _FIELDS.get(column)
        if name is not None:
            setattr(step, name, count(cell) if name in _COUNTS else number(cell))
            continue
        group, _, last = column.rpartition(" ")
        if group in _STATS and last in _LAST:
            metric, factor, unit = _STATS[group]
            add_stat(step, metric, _LAST[last], cell, factor, unit=unit)
