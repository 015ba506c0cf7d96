"""GenAI-Perf: summary JSON and its CSV; superseded by AIPerf."""

from __future__ import annotations

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.blocks import csv_blocks, fill_from_blocks
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.values import (
    CLIENT_TOKENIZER,
    as_dict,
    boolean,
    count,
    derive,
    model_name,
    set_load,
    words,
)

FORMAT = "genai-perf"
HINTS: tuple[str, ...] = ('"request_throughput"', '"request_latency"', '"input_config"')


def recognise(content: Content) -> bool:
    """An input configuration beside metric objects, without AIPerf's version; or the two-table CSV."""
    value = as_dict(content.first)
    block = as_dict(value.get("request_throughput"))
    if "input_config" in value and {"unit", "avg"} <= block.keys():
        return "aiperf_version" not in value
    return content.header[:4] == ["Metric", "avg", "min", "max"] and "Request Throughput" in content.text


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one step."""
    run = BenchRun(source=source, format=FORMAT, tool="genai-perf")
    step = BenchStep(token_counter=CLIENT_TOKENIZER)
    run.steps.append(step)
    value = as_dict(content.first)
    if not value:
        run.format_era = "CSV"
        fill_from_blocks(run, step, csv_blocks(content.rows))
        apply_name(run, source)
        return [run]
    fill_from_blocks(run, step, value)
    config = as_dict(value.get("input_config"))
    names = config.get("model_names", config.get("model"))
    run.model = model_name(names[0] if isinstance(names, list) and names else names)
    derive(run, "weight_format", weight_format_in(run.model), "named")
    run.client_protocol, run.streaming = words(config.get("service_kind")), boolean(config.get("streaming"))
    run.seed = count(config.get("random_seed"))
    load = as_dict(as_dict(config.get("perf_analyzer")).get("stimulus")) or config
    set_load(step, load.get("request_rate"), load.get("concurrency"))
    run.warnings.append("requests with an empty answer are dropped silently by this tool")
    apply_name(run, source)
    return [run]
