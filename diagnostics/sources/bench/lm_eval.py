"""``lm_eval`` (EleutherAI's evaluation harness): task scores of one model. No load, so a run without steps."""

from __future__ import annotations

import re
from typing import Any

from diagnostics.model.bench import BenchRun
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import weight_format_in
from diagnostics.sources.bench.values import as_dict, count, derive, model_name, number, words

FORMAT = "lm-eval"
HINTS: tuple[str, ...] = ('"results"', '"n-samples"', "_stderr,")
# Not a measurement of serving: rules on load pass it over.
QUALITY = "quality"
# The runs' key for scores: (score, standard error, samples) by task and metric. The prefix below keeps files apart.
SCORES = "scores"
_OWN = "setting:evaluation"
_MODEL = re.compile(r"(?:^|,)(?:pretrained|model)=([^,]+)")
_QUANTIZATION = re.compile(r"(?:^|,)quantization=([^,]+)")


def recognise(content: Content) -> bool:
    """Results by task with ``metric,filter`` keys, beside the configuration."""
    value = as_dict(content.first)
    tasks = [as_dict(t) for t in as_dict(value.get("results")).values()]
    return bool(tasks) and "config" in value and any("," in key for t in tasks for key in t)


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a document, its scores in ``extra``."""
    return [_read_one(source, value) for _, value in content.records if "results" in value]


def _read_one(source: str, value: dict[str, Any]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="lm_eval", evidence_kind=QUALITY)
    config = as_dict(value.get("config"))
    given = config.get("model_args")
    arguments = (
        ",".join(f"{k}={v}" for k, v in given.items()) if isinstance(given, dict) else str(given or "")
    )
    named = _MODEL.search(arguments)
    run.model = model_name(value.get("model_name") or (named[1] if named else None))
    run.tool_version = words(value.get("lm_eval_version"))
    asked = _QUANTIZATION.search(arguments)
    run.weight_format = asked[1] if asked else None
    derive(run, "weight_format", weight_format_in(run.model), "named")
    samples = as_dict(value.get("n-samples"))
    run.extra[SCORES] = {
        key: score
        for task, metrics in as_dict(value.get("results")).items()
        for key, score in _scores(task, as_dict(metrics), as_dict(samples.get(task)))
    }
    run.extra[_OWN] = source
    return run


def _scores(
    task: str, metrics: dict[str, Any], samples: dict[str, Any]
) -> list[tuple[str, tuple[float, float | None, int | None]]]:
    found = []
    for key, entry in metrics.items():
        metric, comma, rest = key.partition(",")
        score = number(entry)
        if not comma or metric.endswith("_stderr") or score is None:
            continue
        error = number(metrics.get(f"{metric}_stderr,{rest}"))
        found.append((f"{task} {metric}", (score, error, count(samples.get("effective")))))
    return found
