"""The closing averages of SGLang's benchmark scripts: latency, output throughput, accept length."""

from __future__ import annotations

import re

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.values import add_stat, derive, number

FORMAT = "averages"
HINTS: tuple[str, ...] = ()
_LINE = re.compile(
    r"^[\s>|#]*(?:Average|Mean) (latency|output throughput|accept(?:ance)? length)\s*[:=]\s*([\d.]+)",
    re.IGNORECASE | re.MULTILINE,
)
_QUESTIONS = re.compile(r"--num-questions[ =](\d+)")
# Positions that are drafted each round; the accepted share is at most the accepted length over them.
_DRAFTED = re.compile(r"(?:--speculative-num-steps[ =]|num_speculative_tokens\W{1,4})(\d+)")


def recognise(content: Content) -> bool:
    """At least two of the three averages, each on a line of its own."""
    return len({name.lower() for name, _ in _LINE.findall(content.text)}) > 1


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one load level; the accepted share is derived as an upper bound from the accepted length."""
    values = {
        name.lower().replace("acceptance", "accept"): number(value)
        for name, value in _LINE.findall(content.text)
    }
    run = BenchRun(source=source, format=FORMAT, tool="sglang benchmark script")
    step = BenchStep(source_path="averages")
    run.steps.append(step)
    if (questions := _QUESTIONS.search(content.text)) is not None:
        step.completed = int(questions.group(1))
    step.output_tps = values.get("output throughput")
    add_stat(step, "e2e", "mean", values.get("latency"), population="batches")
    length = values.get("accept length")
    if length is not None and length >= 1:
        drafted = _DRAFTED.search(content.text)
        step.spec_tokens_per_step, step.spec_scope = length, "step"
        derive(step, "spec_acceptance", (length - 1) / (int(drafted.group(1)) if drafted else 1))
    return [run]
