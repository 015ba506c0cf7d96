"""Writes docs/generated/impact.md: what was predicted from a recording before a change, beside what the change did.

Usage: python docs/impact.py FOLDER   (a folder with pair_*_before and pair_*_after, each with its label.json)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from diagnostics.model.findings import Finding
from diagnostics.model.report import Report
from diagnostics.options import Options
from diagnostics.pipeline import diagnose
from diagnostics.reports.escape import markdown

PAGE = Path(__file__).resolve().parent / "generated" / "impact.md"
CLOSE = 0.25
HEAD = """# Predicted and measured

<!-- Made by docs/impact.py from recorded pairs; record new pairs instead of editing. -->

Each pair is one server (vLLM, CPU build, a tiny model of random weights) recorded twice at the same time, with the same requests
sent at the same moments, one setting changed. The prediction is the impact of the finding in the recording *before*; nothing of
the recording after was looked at to make it, and no threshold was fitted to these pairs. The two cores of the machine differ by
up to 9 % with equal settings, so smaller differences are noise.

Formulas: no more than arrives can be served, so throughput grows at most by arriving over served; a limit raised by a factor
gives at most that factor, since steps get longer; where a full step takes several times as long as a light one, computing
prompts is the limit and a larger budget adds no throughput.

| change | finding before | predicted throughput | between | measured: tokens/s, requests | in the interval | within 25 % |
| --- | --- | --- | --- | --- | --- | --- |"""


def main() -> int:
    """Write the page."""
    folder = Path(sys.argv[1])
    names = sorted(p.name.removesuffix("_before") for p in folder.glob("pair_*_before"))
    lines, notes = [HEAD], ["", "What the findings said, and what came of the time to first token:", ""]
    for name in names:
        label = json.loads((folder / f"{name}_before" / "label.json").read_text("utf-8"))["pair"]
        before, after = (folder / f"{name}_{side}" for side in ("before", "after"))
        report = _compared(before, after)
        first = _diagnosed(before).findings[0]
        lines.append(_row(label, first))
        notes += list(_notes(label, first, report))
    PAGE.write_text("\n".join([*lines, *notes]) + "\n", "utf-8")
    return 0


def _evidence(folder: Path) -> list[str]:
    """Metrics and log; not what tells the answer."""
    return [str(folder / "openmetrics.txt.gz"), str(folder / "engine.log")]


def _diagnosed(folder: Path) -> Report:
    return diagnose(_evidence(folder)).report


def _compared(before: Path, after: Path) -> Report:
    """The recording after, held against the one before."""
    return diagnose(_evidence(after), Options(baseline=str(before))).report


def _row(label: dict[str, Any], first: Finding) -> str:
    effect, impact = label["effect"], first.impact
    change = f"`{label['changed']}` {label['before']} to {label['after']}"
    measured = f"x {effect['generation_tok_per_s']:.2f}, x {effect['completed']:.2f}"
    if impact.estimate is None or impact.interval is None:
        return f"| {change} | {first.rule} | none: {markdown(impact.basis)} | | {measured} | | |"
    truth = (effect["generation_tok_per_s"], effect["completed"])
    inside = all(impact.interval[0] <= t <= impact.interval[1] for t in truth)
    close = all(abs(impact.estimate / t - 1) <= CLOSE for t in truth)
    low, high = impact.interval
    return (
        f"| {change} | {first.rule} | x {impact.estimate:.2f} | {low:.2f} and {high:.2f} | {measured} "
        f"| {'yes' if inside else 'no'} | {'yes' if close else 'no'} |"
    )


def _notes(label: dict[str, Any], first: Finding, report: Report) -> Iterator[str]:
    before, after = label["values"]["before"], label["values"]["after"]
    yield (
        f"- `{label['changed']}` {label['before']} to {label['after']}: {markdown(first.impact.statement)}. "
        f"Measured: time to first token {before['ttft_mean']:.3g} s to {after['ttft_mean']:.3g} s, gap between tokens "
        f"{1000 * before['inter_token_mean']:.0f} ms to {1000 * after['inter_token_mean']:.0f} ms."
    )
    if report.comparison is not None:
        yield f"  `--baseline` says: {markdown(report.comparison.sentence)}"


if __name__ == "__main__":
    sys.exit(main())
