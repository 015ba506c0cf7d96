"""Tables of benchmark runs in words: comparisons, how real a load was, cost. Texts are plain; who shows them escapes."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from diagnostics.model.bench_view import Compared, Comparison, CostRow, Scorecard
from diagnostics.reports.theme import duration, number

_METRICS = {"ttft": "Time to first token", "tpot": "Time per output token", "e2e": "Whole request",
            "output_tps": "Output"}  # fmt: skip
_STATES = {"real": "realistic", "unreal": "not realistic", "unknown": "not known"}


class TableCard(Struct, frozen=True):
    """A table with a heading and a sentence."""

    title: str
    note: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def comparison_card(item: Comparison) -> TableCard:
    """Two runs side by side, each figure with the interval of its change."""
    note = f"A: {item.a}. B: {item.b}."
    if item.others:
        note += f" They differ in: {', '.join(item.others)}."
    if len(item.others) > 1:
        note += " No part of a change can be put on one of these alone."
    header = ("Figure", "Load", "A", "B", "Change", "95 % interval", "Noise from")
    return TableCard(f"What changed ({item.about})", note, header, tuple(_compared(r) for r in item.rows))


def _compared(row: Compared) -> tuple[str, ...]:
    def said(value: float) -> str:
        return duration(value) if row.unit == "s" else f"{number(value)} {row.unit}"

    interval = f"{_change(row.interval[0])} to {_change(row.interval[1])}" if row.interval else "not known"
    noise = {"requests": "single requests", "repeats": "repeats"}.get(row.noise, "nothing: repeat both runs")
    change = _change(row.b / row.a)
    return _METRICS.get(row.metric, row.metric), row.load, said(row.a), said(row.b), change, interval, noise


def _change(ratio: float) -> str:
    """A ratio as a change in percent; without a digit after the point where that is enough."""
    return f"{100 * (ratio - 1):+.1f} %"


def score_card(item: Scorecard) -> TableCard:
    """Aspect by aspect, beside production's where its metrics are there."""
    unreal = [r.aspect.lower() for r in item.rows if r.state == "unreal"]
    unknown = [r.aspect.lower() for r in item.rows if r.state == "unknown"]
    parts = [f"not realistic: {', '.join(unreal)}"] if unreal else []
    parts += [f"not known: {', '.join(unknown)}"] if unknown else []
    rows = tuple(
        (r.aspect, r.benchmark, r.production or "no metrics given", _STATES[r.state]) for r in item.rows
    )
    note = "; ".join(parts) or "nothing speaks against it"
    return TableCard(item.run, note, ("Aspect", "Benchmark", "Production", "Verdict"), rows)


def cost_card(rows: Sequence[CostRow]) -> TableCard:
    """Price of a million output tokens at the load that meets the target, and at saturation."""
    shown = tuple((r.run, r.at, f"{number(r.rate)} tokens/s", f"{r.per_million:.2f}", r.basis) for r in rows)
    header = ("Run", "At", "Output", "A million output tokens", "Price")
    return TableCard("What a million output tokens cost", "Prompt tokens are not counted.", header, shown)
