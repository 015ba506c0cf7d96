"""The boxed tables that AIPerf and GenAI-Perf print: one row a metric, its unit in the label, which may wrap."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.blocks import csv_blocks, fill_from_blocks
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name

FORMAT = "aiperf-console"
HINTS: tuple[str, ...] = ()
_TITLES = {"NVIDIA AIPerf |": "aiperf", "NVIDIA GenAI-Perf |": "genai-perf"}
_HEADINGS = ("Metric", "Statistic")
_BORDERS = str.maketrans(dict.fromkeys("┃|", "│"))


def recognise(content: Content) -> bool:
    """A title of one of the two tools above a box of metrics; a log may hold other boxes of theirs."""
    if content.documents or "│" not in content.text or _tool(content.text) is None:
        return False
    return any(row[0] == "Metric" for row in _rows(content.text))


def _tool(text: str) -> str | None:
    return next((tool for title, tool in _TITLES.items() if title in text), None)


def read(source: str, content: Content) -> list[BenchRun]:
    """One run of one step; a metric that several boxes hold is read from the first."""
    run = BenchRun(source=source, format=FORMAT, tool=_tool(content.text) or FORMAT)
    step = BenchStep()
    run.steps.append(step)
    blocks: dict[str, dict[str, Any]] = csv_blocks(_rows(content.text))
    fill_from_blocks(run, step, blocks)
    if not step.stats and step.output_tps is None:
        return []
    run.streaming = True if step.stat("ttft", "mean") is not None else None
    apply_name(run, source)
    return [run]


def _rows(text: str) -> list[list[str]]:
    """Rows of all boxes under one spelling of their heading; the rest of a wrapped label is put back."""
    rows: list[list[str]] = []
    for line in text.translate(_BORDERS).splitlines():
        if not line.strip().startswith("│"):
            continue
        cells = [cell.strip() for cell in line.strip().strip("│").split("│")]
        if not any(cells[1:]) and rows:
            rows[-1][0] += f" {cells[0]}"
        elif cells[0] in _HEADINGS:
            rows.append(["Metric", *cells[1:]])
        else:
            rows.append([cells[0], *("" if cell == "N/A" else cell for cell in cells[1:])])
    return rows
