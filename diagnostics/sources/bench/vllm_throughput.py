"""``vllm bench throughput``: an offline run; its token rate counts prompt and output together."""

from __future__ import annotations

from typing import Any

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, weight_format_in
from diagnostics.sources.bench.values import count, derive, model_name, number, positive

FORMAT = "vllm-throughput"
HINTS: tuple[str, ...] = ('"elapsed_time"', '"num_requests"', '"tokens_per_second"')
_KNOWN = {
    *("elapsed_time", "num_requests", "total_num_tokens", "requests_per_second", "tokens_per_second"),
    *("input", "ouput", "output", "model_id"),
}


def recognise(content: Content) -> bool:
    """The keys that the tool has always written; authors add their own."""
    return {"elapsed_time", "num_requests", "tokens_per_second"} <= content.keys


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a document."""
    return [_read_one(source, place, value) for place, value in content.records if "elapsed_time" in value]


def _read_one(source: str, place: str, value: dict[str, Any]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="vllm bench throughput", engine="vllm", streaming=False)
    run.model = model_name(value.get("model_id"))
    derive(run, "weight_format", weight_format_in(run.model), "named")
    for name, keys in (("input_len_spec", ("input",)), ("output_len_spec", ("output", "ouput"))):
        length = next((count(value[key]) for key in keys if count(value.get(key))), None)
        if length is not None:
            setattr(run, name, f"fixed {length}")
    step = BenchStep(source_path=place)
    run.steps.append(step)
    fill_throughput(step, value)
    run.extra |= {k: v for k, v in value.items() if k not in _KNOWN and isinstance(v, str | int | float)}
    apply_name(run, source)
    split_tokens(run, step)
    return run


def fill_throughput(step: BenchStep, value: dict[str, Any]) -> None:
    """Counts and rates under the tool's own names; ``tokens_per_second`` is input plus output."""
    step.load_mode, step.arrival = "offline", "none"
    step.completed, step.duration_s = count(value.get("num_requests")), positive(value.get("elapsed_time"))
    step.rps, step.total_tps = (
        number(value.get("requests_per_second")),
        number(value.get("tokens_per_second")),
    )
    step.extra["total_num_tokens"] = count(value.get("total_num_tokens"))


def split_tokens(run: BenchRun, step: BenchStep) -> None:
    """Derive the output rate where fixed lengths are known and add up to the reported total."""
    lengths = [
        number((spec or "").removeprefix("fixed ")) for spec in (run.input_len_spec, run.output_len_spec)
    ]
    total, completed = step.extra.get("total_num_tokens"), step.completed
    if not completed or not all(lengths):
        return
    inputs, outputs = (int(length or 0) for length in lengths)
    if total and abs(total / completed / (inputs + outputs) - 1) > 0.02:
        run.warnings.append(
            f"lengths {inputs} + {outputs} are not the {total / completed:.0f} tokens a request: not used"
        )
        return
    derive(step, "input_tokens", inputs * completed)
    derive(step, "output_tokens", outputs * completed)
