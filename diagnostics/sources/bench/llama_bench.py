"""llama.cpp ``llama-bench``: single-stream tests in JSON, JSON lines, CSV or Markdown."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import weight_format_in
from diagnostics.sources.bench.values import count, derive, number, words

FORMAT = "llama-bench"
HINTS: tuple[str, ...] = ('"build_commit"', '"n_prompt"', '"avg_ts"')
_KEYS = {"build_commit", "n_prompt", "n_gen", "avg_ts"}
_MARKDOWN = re.compile(r"^\|\s*model\s*\|\s*size\s*\|\s*params\s*\|", re.MULTILINE)
_TEST = re.compile(r"^(?:pp(\d+))?\+?(?:tg(\d+))?(?:\s*@\s*d(\d+))?$")
_RATE = re.compile(r"^\s*([\d.]+)\s*±\s*([\d.]+)")
_QUANT = re.compile(r"\b(I?Q\d_[\w]+|F16|BF16|F32|MXFP4)\b", re.IGNORECASE)
_SETTINGS = (
    "backends",
    "flash_attn",
    "type_k",
    "type_v",
    "n_batch",
    "n_ubatch",
    "n_gpu_layers",
    "split_mode",
    "build_commit",
)


def recognise(content: Content) -> bool:
    """The tool's own columns, wherever they stand."""
    return bool(content.keys >= _KEYS) or set(content.header) >= _KEYS or bool(_MARKDOWN.search(content.text))


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a model and setting, a step a test; a line without a rate stays as a failed step."""
    if content.documents:
        rows = content.records
    elif set(content.header) >= _KEYS:
        rows = [(f"line {line}", dict(row)) for line, row in content.table()]
    else:
        rows = _markdown_rows(content.text)
    runs: dict[tuple[str, ...], BenchRun] = {}
    for place, row in rows:
        run = runs.setdefault(_identity(row), _describe(source, row))
        run.steps.append(_step(run, place, row))
    return list(runs.values())


def _identity(row: dict[str, Any]) -> tuple[str, ...]:
    names = ("model_filename", "model_type", "gpu_info", *_SETTINGS)
    return tuple(str(row.get(name, "")) for name in names)


def _describe(source: str, row: dict[str, Any]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="llama-bench", engine="llama.cpp", streaming=False)
    run.tool_version = run.engine_version = str(row.get("build_number") or "") or words(
        row.get("build_commit")
    )
    run.model, run.gpu_model = words(row.get("model_type")), words(row.get("gpu_info"))
    name = (words(row.get("model_filename")) or "").rsplit("/", 1)[-1]
    if name:
        run.extra["model_file"] = name
    quant = _QUANT.search(run.model or "") or _QUANT.search(name)
    if quant:
        derive(run, "weight_format", f"gguf-{quant.group(1).lower()}", "named")
    derive(run, "weight_format", weight_format_in(name), "named")
    run.kv_format = words(row.get("type_k"))
    for setting in _SETTINGS:
        if row.get(setting) is not None:
            run.extra[f"setting:{setting}"] = row[setting]
    return run


def _step(run: BenchRun, place: str, row: dict[str, Any]) -> BenchStep:
    step = BenchStep(source_path=place, load_mode="single-stream", arrival="none", concurrency_cap=1)
    prompt, output, depth = (count(row.get(key)) or 0 for key in ("n_prompt", "n_gen", "n_depth"))
    step.extra |= {"n_prompt": prompt, "n_gen": output, "n_depth": depth}
    rate, spread = number(row.get("avg_ts")), number(row.get("stddev_ts"))
    samples = row.get("samples_ts")
    repeats = len(samples) if isinstance(samples, list) else None
    if rate is None or rate <= 0:
        step.valid, step.invalid_reason = False, "the test did not finish"
        return step
    if prompt and output:
        step.total_tps = rate
    elif output:
        step.output_tps, step.decode_step_s = rate, 1 / rate
        step.origins["decode_step_s"] = "derived"
    else:
        step.input_tps = rate
    if repeats is not None and repeats > 1 and spread is not None:
        step.extra["rate_sd"] = spread
    elif repeats == 1 and "one repetition" not in "".join(run.warnings):
        run.warnings.append("one repetition only: the spread is unknown, not zero")
    return step


def _markdown_rows(text: str) -> list[tuple[str, dict[str, Any]]]:
    rows: list[tuple[str, dict[str, Any]]] = []
    header: list[str] = []
    for number_, line in enumerate(text.splitlines(), 1):
        cells = (
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            if line.lstrip().startswith("|")
            else []
        )
        if not cells:
            header = []
        elif cells[0] == "model" and "test" in cells:
            header = cells
        elif header and not set(cells[0]) <= set("-: ") and len(cells) == len(header):
            rows.append((f"line {number_}", _from_markdown(dict(zip(header, cells, strict=True)))))
    return rows


def _from_markdown(cells: dict[str, str]) -> dict[str, Any]:
    test, rate = _TEST.match(cells.get("test", "")), _RATE.match(cells.get("t/s", ""))
    row: dict[str, Any] = {"model_type": cells.get("model"), "backends": cells.get("backend")}
    row |= {"n_gpu_layers": cells.get("ngl"), "flash_attn": cells.get("fa")}
    if test:
        row |= {"n_prompt": test.group(1) or 0, "n_gen": test.group(2) or 0, "n_depth": test.group(3) or 0}
    if rate:
        row |= {"avg_ts": rate.group(1), "stddev_ts": rate.group(2)}
    return row
