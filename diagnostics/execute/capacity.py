"""What a plan of capacity and cost starts from, as far as the inputs tell it; of the first replica or all together."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from diagnostics.capacity.inputs import STAGE
from diagnostics.execute import deployment
from diagnostics.execute.facts import Facts
from diagnostics.execute.starts import starts
from diagnostics.model.report import Known
from diagnostics.model.requests import Stat
from diagnostics.model.samples import Provenance

# Engine options by the name that a plan gives them; engines call them differently.
_OPTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("tp", deployment.TP_NAMES),
    ("utilisation", ("gpu_memory_utilization", "mem_fraction_static")),
    ("kv_dtype", ("kv_cache_dtype",)),
    ("max_model_len", ("max_model_len", "context_length", "max_total_tokens")),
    ("max_sequences", ("max_num_seqs", "max_running_requests", "max_batch_size")),
    ("batched_tokens", ("max_num_batched_tokens", "chunked_prefill_size")),
    ("kv_tokens", ("kv_capacity_tokens",)),
    ("gpu", ("gpu",)),
    ("gpus", ("gpu_count",)),
)


def known(facts: Facts) -> tuple[Known, ...]:
    """Everything that is known, one entry a name; what the user said comes before what was read."""
    found = {item.name: item for item in (*_read(facts), *_measured(facts), *_said(facts))}
    return tuple(found.values())


def _said(facts: Facts) -> Iterator[Known]:
    if facts.options.gpu:
        yield Known("gpu", facts.options.gpu, Provenance.CONFIGURED, "--gpu")
    if facts.options.gpu_hourly:
        yield Known("hourly", f"{facts.options.gpu_hourly:g}", Provenance.CONFIGURED, "--gpu-hourly")


def _read(facts: Facts) -> Iterator[Known]:
    for start in starts(facts)[-1:]:
        for stage, seconds in start.stages.items():
            yield Known(STAGE + stage, f"{seconds:g}", Provenance.MEASURED, "start-up log")
    fields = deployment.config_fields(facts, 0)
    if fields is not None:
        yield Known("config", json.dumps(fields), Provenance.CONFIGURED, "config.json")
    shape = deployment.shape(facts, 0)
    if shape is not None:
        for field in ("layers", "kv_heads", "heads", "head_size", "hidden"):
            if (value := getattr(shape, field)) is not None:
                yield Known(field, str(value), Provenance.CONFIGURED, "config.json")
        yield Known(
            "parameters", f"{shape.parameters / 1e9:.3g}", Provenance.INFERRED, "counted from config.json"
        )
    elif (size := deployment.parameters(facts, 0)) is not None:
        yield Known("parameters", f"{size / 1e9:g}", Provenance.INFERRED, "the model's name")
    asked = deployment.weights_format(facts, 0)
    stored = deployment.stored(facts, 0)
    if asked is not None and stored is not None:
        yield Known("stored", stored.name, asked.provenance, asked.where)
    for name, options in _OPTIONS:
        setting = facts.setting(0, *options)
        if setting is not None and setting.value not in ("None", "auto"):
            yield Known(name, setting.value, setting.provenance, setting.where)


def _measured(facts: Facts) -> Iterator[Known]:
    """Lengths and rates over the time seen: means over all requests, rates of all replicas together."""
    seconds = max((c.observed for c in facts.courses), default=0.0)
    requests = _sum(facts.increase("requests_finished"))
    prompts, answers = _sum(facts.increase("prompt_tokens")), _sum(facts.increase("generation_tokens"))
    if requests > 0:
        yield _number("prompt", prompts / requests, "prompt tokens by finished requests")
        yield _number("answer", answers / requests, "generated tokens by finished requests")
    high = facts.column("prompt_len", Stat.HIST_P99) + facts.column("generation_len", Stat.HIST_P99)
    if np.isfinite(high).any():
        yield _number("longest", float(np.nanmax(high)), "p99 of prompts plus p99 of answers")
    looked_up = _sum(facts.increase("prefix_queries"))
    if looked_up > 0:
        share = 100 * _sum(facts.increase("prefix_hits")) / looked_up
        yield _number("cached", share, "prefix hits by lookups")
    if seconds > 0 and answers > 0:
        yield _number("rate", answers / seconds, "generated tokens a second, all replicas")
    running = facts.column("running", Stat.MEAN)
    if np.isfinite(running).any():
        yield _number("batch", float(np.nanmean(running)), "requests running, mean of a replica")
    yield Known(
        "replicas", str(len({e.replica for e in facts.entities})), Provenance.MEASURED, "replicas seen"
    )


def _sum(column: NDArray[np.float64]) -> float:
    return float(np.nansum(column))


def _number(name: str, value: float, where: str) -> Known:
    digits = 0 if value >= 100 else 2 - math.floor(math.log10(value)) if value > 0 else 0
    return Known(
        name,
        f"{round(value, min(digits, 4)):g}" if value < 1e6 else f"{value:.0f}",
        Provenance.MEASURED,
        where,
    )
