"""Labels of the console block: also column headings of tables that people make out of it."""

from __future__ import annotations

import re

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.values import (
    PERCENT,
    UNIT_FACTORS,
    add_stat,
    count,
    number,
    positive,
    scaled,
    set_load,
    stat_name,
)

_SPLIT = re.compile(r"^(.*?)\s*(?:[(\[]([^()\[\]]+)[)\]])?$")
_STAT = re.compile(
    r"^(mean|median|avg|average|std|min|max|p\d{1,2}(?:\.\d+)?)\s+"
    r"(ttft|tpot|itl|e2el|e2e latency|e2e|latency|ntpot)$"
)
_METRICS = {
    "ttft": ("ttft", "requests"),
    "tpot": ("tpot", "requests"),
    "itl": ("itl", "gaps"),
    "e2el": ("e2e", "requests"),
    "e2e latency": ("e2e", "requests"),
    "e2e": ("e2e", "requests"),
    "latency": ("e2e", "requests"),
    "ntpot": ("ntpot", "requests"),
}
_COUNTS = {
    "successful requests": "completed",
    "failed requests": "failed",
    "total input tokens": "input_tokens",
    "total generated tokens": "output_tokens",
    "total output tokens": "output_tokens",
}
_RATES = {
    "request throughput": "rps",
    "request goodput": "goodput_rps",
    "input token throughput": "input_tps",
    "output token throughput": "output_tps",
    "peak output token throughput": "peak_output_tps",
    "total token throughput": "total_tps",
}
_RATE_UNITS = frozenset({"req/s", "tok/s", "tokens/s", "requests/s", "token/s"})
_POSITION = re.compile(r"^position \d+$")


def apply_label(run: BenchRun, step: BenchStep, label: str, text: str) -> bool:
    """Read one ``Label (unit): value`` into run and step.

    Returns:
        Whether the label is known. A known label whose unit is missing or strange is refused with a warning.
    """
    match = _SPLIT.match(" ".join(label.split()))
    name, unit = (match.group(1).lower(), (match.group(2) or "").lower()) if match else (label.lower(), "")
    stat = _STAT.match(name)
    if stat:
        return _apply_stat(run, step, (stat.group(1), stat.group(2)), unit, text)
    if name in _COUNTS and not unit:
        setattr(step, _COUNTS[name], count(text))
        return True
    if name in _RATES:
        if unit not in _RATE_UNITS:
            run.warnings.append(f"'{label}' has no known unit: left out")
        else:
            setattr(step, _RATES[name], number(text))
        return True
    return _apply_other(run, step, name, unit, text)


def _apply_stat(run: BenchRun, step: BenchStep, name: tuple[str, str], unit: str, text: str) -> bool:
    stat, metric = name
    factor = UNIT_FACTORS.get(unit)
    if factor is None:
        run.warnings.append(f"'{stat} {metric}' has no known unit: left out")
        return True
    canonical, population = _METRICS[metric]
    add_stat(step, canonical, stat_name(stat), text, factor, population=population)
    return True


def _apply_other(run: BenchRun, step: BenchStep, name: str, unit: str, text: str) -> bool:
    if name == "benchmark duration" and unit in ("s", "sec", "seconds"):
        step.duration_s = number(text)
    elif name in ("request rate configured", "traffic request rate"):
        step.extra["rate_text"] = text
    elif name in ("maximum request concurrency", "max request concurrency", "max concurrency"):
        step.concurrency_cap = count(positive(text))
    elif name == "peak concurrent requests":
        step.concurrency_peak = positive(text)
    elif name == "concurrency":
        step.concurrency_mean = positive(text)
    elif name == "backend":
        run.client_protocol = text.strip()
    elif not _apply_speculation(run, step, name, unit, text):
        return False
    return True


def _apply_speculation(run: BenchRun, step: BenchStep, name: str, unit: str, text: str) -> bool:
    if name == "acceptance rate" and unit == "%":
        step.spec_acceptance, step.spec_scope = scaled(text, PERCENT), "step"
    elif name == "acceptance length":
        step.spec_tokens_per_step, step.spec_scope = number(text), "step"
    elif name == "accept length":
        step.spec_tokens_per_step, step.spec_scope = number(text), "lifetime"
    elif _POSITION.match(name) and unit == "%":
        share = scaled(text, PERCENT)
        step.spec_per_position += () if share is None else (share,)
    else:
        return False
    if run.spec_method is None:
        run.spec_method = "unknown"
        run.origins["spec_method"] = "derived"
    return True


def settle_load(step: BenchStep) -> None:
    """Load mode out of the rate and the cap that a block prints."""
    text = step.extra.pop("rate_text", None)
    rate = "inf" if text is not None and str(text).strip().lower() in ("inf", "infinity") else text
    if rate is None and step.concurrency_cap is None:
        return
    set_load(step, number(rate) if rate != "inf" else rate, step.concurrency_cap)
