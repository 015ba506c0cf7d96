"""``vllm bench latency``: seconds for a fixed batch on an offline engine."""

from __future__ import annotations

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.values import add_stat, as_dict, derive, model_name, number

FORMAT = "vllm-latency"
HINTS: tuple[str, ...] = ('"avg_latency"', '"latencies"', '"percentiles"')


def recognise(content: Content) -> bool:
    """The three keys that the tool has always written."""
    return {"avg_latency", "latencies", "percentiles"} <= content.keys


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a document, one ``e2e`` statistic a batch; lengths and batch size only from the name."""
    return [_read_one(source, place, value) for place, value in content.records if "avg_latency" in value]


def _read_one(source: str, place: str, value: dict[str, object]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="vllm bench latency", engine="vllm", streaming=False)
    run.model = model_name(value.get("model_id"))
    derive(run, "weight_format", weight_format_in(run.model), "named")
    step = BenchStep(source_path=place, load_mode="offline", arrival="none")
    run.steps.append(step)
    latencies = value.get("latencies")
    rounds = len(latencies) if isinstance(latencies, list) else None
    add_stat(step, "e2e", "mean", value.get("avg_latency"), population="batches", n=rounds)
    for share, entry in as_dict(value.get("percentiles")).items():
        place_in_order = number(share)
        if place_in_order is not None:
            add_stat(step, "e2e", f"p{int(place_in_order)}", entry, population="batches", n=rounds)
    if rounds is not None and rounds < 5:
        run.warnings.append(
            f"percentiles come from {rounds} iterations only: they are interpolation, no tail"
        )
    apply_name(run, source, batches=True)
    _derive_rate(run, step)
    return run


def _derive_rate(run: BenchRun, step: BenchStep) -> None:
    mean = step.stat("e2e", "mean")
    output = number((run.output_len_spec or "").removeprefix("fixed "))
    if step.batch_size and output and mean:
        derive(step, "output_tps", step.batch_size * output / mean)
        run.warnings.append("the output rate rests on batch size and output length from the file name")
