"""Console output as people paste it: serving blocks of vLLM, SGLang and forks, offline throughput lines."""

from __future__ import annotations

import re

from msgspec import Struct

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.command import apply_command, apply_remarks, find_commands, tool_of
from diagnostics.sources.bench.console_guidellm import find_tables, read_tables
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.labels import apply_label, settle_load
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import add_stat, derive, number

FORMAT = "console"
HINTS: tuple[str, ...] = ()
_TITLE = re.compile(
    r"={3}[ \t]{0,20}(?:Serving Benchmark Result|Offline Throughput Benchmark Result)[ \t]{0,20}={3}"
)
_CLOSE = re.compile(r"^[\s>|#]*={20,}\s*$")
_LABEL = re.compile(r"^[\s>|#]*([A-Za-z][\w .+/%-]*?(?:\s*\([^()]*\))*)\s*:\s+(\S.*?)\s*$")
_THROUGHPUT = re.compile(
    r"Throughput:\s*([\d.,]+)\s*requests/s"
    r"(?:,\s*([\d.,]+)\s*(?:total\s+)?tokens/s)?(?:,\s*([\d.,]+)\s*output\s+tokens/s)?"
)
_REMARKED_RATE = re.compile(
    r"^[^\w\n]*result\W{1,9}([\d.]+)\s*(?:requests|req)/s\b", re.IGNORECASE | re.MULTILINE
)
_LATENCY = re.compile(r"^[ \t]*Avg latency:\s*([\d.]+)\s*seconds", re.MULTILINE)
_LATENCY_PERCENTILE = re.compile(r"^[ \t]*(\d{1,2})% percentile latency:\s*([\d.]+)\s*seconds", re.MULTILINE)
_LOG_LINE = re.compile(r"^\W*(?:\([^)]*\)\s*)?(?:DEBUG|INFO|WARNING|ERROR)\b|^\[?\d{4}-\d\d-\d\d")
_MAX_BLOCK_LINES = 120
_MAX_FOREIGN_LINES = 15
_MAX_LINE = 300


class Block(Struct, frozen=True):
    """A printed result, the line where it begins, and the text between it and the block before."""

    text: str
    line: int
    before: str


def find_console_blocks(text: str) -> list[str]:
    """Every printed benchmark result in a text, amid whatever else stands there."""
    if find_tables(text):
        return [text]
    return [block.text for block in _blocks(text)]


def _blocks(text: str) -> list[Block]:
    lines = text.splitlines()
    found: list[Block] = []
    i = last = 0
    while i < len(lines):
        end = _block_end(lines, i)
        if end is None:
            i += 1
            continue
        found.append(Block("\n".join(lines[i:end]), i + 1, "\n".join(lines[last:i])))
        i = last = end
    return found


def _block_end(lines: list[str], i: int) -> int | None:
    """Line behind the block that begins here, or None when none begins."""
    line = lines[i]
    if _THROUGHPUT.search(line) or _REMARKED_RATE.search(line):
        return i + 1
    if _LATENCY.match(line):
        end = i + 1
        while end < len(lines) and _LATENCY_PERCENTILE.match(lines[end]):
            end += 1
        return end
    if not _TITLE.search(line):
        return None
    last = i
    for j in range(i + 1, min(len(lines), i + _MAX_BLOCK_LINES)):
        if _TITLE.search(lines[j]) or j - last > _MAX_FOREIGN_LINES:
            break
        if _CLOSE.match(lines[j]):
            return j + 1
        match = _LABEL.match(lines[j][:_MAX_LINE])
        if match and not _is_log(lines[j]) and apply_label(_scratch(), BenchStep(), *match.groups()):
            last = j
    return last + 1


def _is_log(line: str) -> bool:
    return _LOG_LINE.match(line[:_MAX_LINE]) is not None


def _scratch() -> BenchRun:
    return BenchRun(source="", format=FORMAT, tool="")


def recognise(content: Content) -> bool:
    """A title, a throughput line, a latency line or GuideLLM's tables; one remark alone needs its command."""
    text = content.text
    if content.documents:
        return False
    if _TITLE.search(text) or _THROUGHPUT.search(text) or _LATENCY.search(text) or find_tables(text):
        return True
    return bool(_REMARKED_RATE.search(text)) and bool(find_commands(text))


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a block; settings come from the nearest command and remarks before it."""
    tables = find_tables(content.text)
    if tables:
        run = read_tables(source, tables)
        apply_name(run, source)
        return [run]
    blocks = _blocks(content.text)
    after = _after(content.text, blocks)
    runs: list[BenchRun] = []
    command: dict[str, str] | None = None
    remarks = ""
    for i, block in enumerate(blocks):
        commands = find_commands(block.before) or (
            find_commands(after) if i == 0 and len(blocks) == 1 else []
        )
        command = commands[-1] if commands else command
        if _has_words(block.before):
            remarks = block.before
        runs.append(_read_block(source, block, command, f"{remarks}\n{after if len(blocks) == 1 else ''}"))
    return runs


def _after(text: str, blocks: list[Block]) -> str:
    if not blocks:
        return ""
    last = blocks[-1]
    return "\n".join(text.splitlines()[last.line - 1 + len(last.text.splitlines()) :])


def _has_words(text: str) -> bool:
    return any(line.strip() and not _is_log(line) for line in text.splitlines())


def _read_block(source: str, block: Block, command: dict[str, str] | None, remarks: str) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="vllm bench serve", format_era="console")
    step = BenchStep(source_path=f"line {block.line}")
    run.steps.append(step)
    if _TITLE.search(block.text):
        _fill_serving(run, step, block.text)
    elif _LATENCY.search(block.text):
        _fill_latency(run, step, block.text)
    else:
        _fill_throughput(run, step, block.text)
    settle_load(step)
    if command is not None:
        if run.tool == "vllm bench serve":
            run.tool = tool_of(command["program"])
        apply_command(run, step, command)
    if step.load_mode == "offline" and step.requested and step.rps:
        derive(step, "duration_s", step.requested / step.rps)
    apply_remarks(run, "\n".join(line for line in remarks.splitlines() if not _is_log(line)))
    apply_name(run, source)
    return run


def _fill_serving(run: BenchRun, step: BenchStep, text: str) -> None:
    unknown: list[str] = []
    for line in text.splitlines():
        match = _LABEL.match(line[:_MAX_LINE])
        if match and not _is_log(line) and not apply_label(run, step, match.group(1), match.group(2)):
            unknown.append(match.group(1).strip())
    if "Accept length" in text or "Max request concurrency" in text or "Traffic request rate" in text:
        run.tool = "sglang bench_serving"
    if "Offline Throughput" in text:
        run.tool, step.load_mode, step.arrival = "sglang bench_offline_throughput", "offline", "none"
    run.streaming = True if step.stat("ttft", "mean") else None
    if unknown:
        run.extra["unread_labels"] = unknown[:20]


def _fill_latency(run: BenchRun, step: BenchStep, text: str) -> None:
    run.tool, run.engine, run.streaming = "vllm bench latency", "vllm", False
    step.load_mode, step.arrival = "offline", "none"
    mean = _LATENCY.search(text)
    add_stat(step, "e2e", "mean", mean.group(1) if mean else None, population="batches")
    for share, value in _LATENCY_PERCENTILE.findall(text):
        add_stat(step, "e2e", f"p{share}", value, population="batches")


def _fill_throughput(run: BenchRun, step: BenchStep, text: str) -> None:
    """The total counts prompt and output tokens together; the output rate is printed since 2025 only."""
    run.tool, run.engine, run.streaming = "vllm bench throughput", "vllm", False
    step.load_mode, step.arrival = "offline", "none"
    match = _THROUGHPUT.search(text)
    if match:
        step.rps, step.total_tps, step.output_tps = (number(part) for part in match.groups())
        return
    remarked = _REMARKED_RATE.search(text)
    step.rps = number(remarked.group(1)) if remarked else None
    step.origins["rps"] = "named"
