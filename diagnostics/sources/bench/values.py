"""Small conversions shared by the readers: numbers, counts, statistics, load modes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from diagnostics.model.bench import BenchRun, BenchStat, BenchStep

NOTHING = frozenset({"", "-", "--", "n/a", "na", "nan", "none", "null", "inf", "infinity", "-inf", "trace"})
MILLI = 1e-3
NANO = 1e-9
CLIENT_TOKENIZER = "client-tokenizer"
PERCENT = 0.01
UNIT_FACTORS = {
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "s/token": 1.0,
    "ms": MILLI,
    "milliseconds": MILLI,
    "ms/token": MILLI,
    "us": 1e-6,
    "ns": NANO,
}
_STAT_NAMES = {
    "mean": "mean",
    "avg": "mean",
    "average": "mean",
    "median": "p50",
    "med": "p50",
    "std": "sd",
    "stdev": "sd",
    "stddev": "sd",
    "std_dev": "sd",
    "sd": "sd",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
    "p001": "p0.1",
    "p01": "p1",
    "p05": "p5",
}
_PERCENTILE = re.compile(r"^p(\d{1,2})(?:[.p](\d+))?$|^p(999)$")


def number(value: Any) -> float | None:
    """A finite number, also from text with thousands separators; None for every way to say nothing."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        text = value.strip().replace(",", "")
        if text.lower() in NOTHING:
            return None
        try:
            value = float(text.rstrip("%"))
        except ValueError:
            return None
    if not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def count(value: Any) -> int | None:
    """A whole number from nought up, or None."""
    found = number(value)
    return round(found) if found is not None and 0 <= found < 2**62 else None


def positive(value: Any) -> float | None:
    """A number above nought: -1 and 0 stand for 'not set' in rates, caps and durations."""
    found = number(value)
    return found if found is not None and found > 0 else None


def scaled(value: Any, factor: float) -> float | None:
    """A number times a factor, or None."""
    found = number(value)
    return None if found is None else found * factor


def words(value: Any) -> str | None:
    """Text that is not empty, or None."""
    return value.strip() if isinstance(value, str) and value.strip() else None


def boolean(value: Any) -> bool | None:
    """A truth value, also written as text or as 0 and 1."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    return None


def stat_name(spelling: str) -> str | None:
    """One spelling for percentiles and moments: ``median`` is p50, ``p99.9`` is p999, ``std`` is sd."""
    known = _STAT_NAMES.get(spelling.lower())
    if known:
        return known
    match = _PERCENTILE.match(spelling.lower())
    if not match:
        return None
    if match.group(3):
        return "p999"
    whole, fraction = int(match.group(1)), match.group(2)
    if whole == 0:
        return f"p0.{fraction}" if fraction else None
    return f"p{whole}{fraction or ''}"


def add_stat(
    step: BenchStep,
    metric: str,
    stat: str | None,
    value: Any,
    factor: float = 1.0,
    *,
    unit: str = "s",
    population: str = "requests",
    n: int | None = None,
) -> None:
    """Append one statistic when both its name and its value are known."""
    found = number(value)
    if stat is not None and found is not None:
        step.stats.append(BenchStat(metric, stat, found * factor, unit, population, n))


def add_block(
    step: BenchStep,
    metric: str,
    block: Any,
    factor: float = 1.0,
    *,
    unit: str = "s",
    population: str = "requests",
    n: int | None = None,
) -> None:
    """Append every statistic of a mapping such as ``{mean, median, p99, percentiles: {...}}``."""
    if not isinstance(block, Mapping):
        return
    if n is None:
        n = count(block.get("count"))
    seen: set[str] = {s.stat for s in step.stats if s.metric == metric}
    for spelling, value in [*block.items(), *_percentiles(block)]:
        name = stat_name(str(spelling))
        if name is not None and name not in seen and number(value) is not None:
            seen.add(name)
            add_stat(step, metric, name, value, factor, unit=unit, population=population, n=n)


def _percentiles(block: Mapping[str, Any]) -> list[tuple[str, Any]]:
    inner = block.get("percentiles")
    return list(inner.items()) if isinstance(inner, Mapping) else []


def quantile(ordered: Sequence[float], share: float) -> float:
    """Linear interpolation between the two nearest values of a sorted sequence."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def add_computed(
    step: BenchStep,
    metric: str,
    values: Iterable[float | None],
    *,
    unit: str = "s",
    population: str = "requests",
    stats: Sequence[str] = ("mean", "sd", "min", "p50", "p90", "p95", "p99", "max"),
) -> None:
    """Compute statistics from single values where the file gives none; marked ``derived``."""
    found = sorted(v for v in values if v is not None and math.isfinite(v))
    have = {s.stat for s in step.stats if s.metric == metric}
    if not found:
        return
    mean = math.fsum(found) / len(found)
    for name in stats:
        if name in have or (name == "sd" and len(found) < 2):
            continue
        value = _one_stat(name, found, mean)
        add_stat(step, metric, name, value, unit=unit, population=population, n=len(found))
        step.origins[f"{metric}.{name}"] = "derived"


def _one_stat(name: str, ordered: Sequence[float], mean: float) -> float:
    if name == "mean":
        return mean
    if name == "sd":
        return math.sqrt(math.fsum((v - mean) ** 2 for v in ordered) / len(ordered))
    if name in ("min", "max"):
        return ordered[0 if name == "min" else -1]
    return quantile(ordered, float(name[1:]) / 100)


def set_load(step: BenchStep, rate: Any, cap: Any, *, burstiness: Any = None) -> None:
    """Set rate, cap and load mode from what a client was told; an infinite rate is stored as None."""
    step.requested_rps, step.concurrency_cap = positive(rate), count(positive(cap))
    step.burstiness = positive(burstiness)
    unlimited = rate in ("inf", "Infinity", "infinity") or (isinstance(rate, float) and math.isinf(rate))
    if rate == "trace":
        step.load_mode, step.arrival = "replay", "trace"
    elif step.requested_rps is not None:
        step.load_mode = "open" if step.concurrency_cap is None else "open-capped"
        if step.burstiness is not None:
            step.arrival = "poisson" if step.burstiness == 1 else "gamma"
    elif step.concurrency_cap is not None:
        step.load_mode, step.arrival = "closed", "none"
    elif unlimited:
        step.load_mode, step.arrival = "burst", "none"


def derive(
    target: BenchStep | BenchRun, name: str, value: float | int | str | None, origin: str = "derived"
) -> None:
    """Set a field that is still None and remember where the value comes from."""
    if value is not None and getattr(target, name) is None:
        setattr(target, name, value)
        target.origins[name] = origin


def model_name(spelling: Any) -> str | None:
    """The model behind a local path: ``models--org--name/snapshots/<hash>`` becomes ``org/name``."""
    text = words(spelling)
    if text is None:
        return None
    match = re.search(r"models--([^/]+?)--([^/]+)", text)
    if match:
        return f"{match.group(1)}/{match.group(2)}"
    if text.startswith(("/", "~", "./")):
        return text.rstrip("/").rsplit("/", 1)[-1]
    return text


def as_dict(value: Any) -> dict[str, Any]:
    """The value when it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}
