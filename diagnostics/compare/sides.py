"""Two diagnoses side by side: before and after a moment, a baseline window, other inputs."""

from __future__ import annotations

import time
from collections.abc import Sequence

from msgspec.structs import replace

from diagnostics.compare.comparison import Side, compare_worst
from diagnostics.compare.split import Pair, around, beside, inside, window_of
from diagnostics.loading import Material, load, with_times
from diagnostics.model.errors import OptionError
from diagnostics.model.moments import written
from diagnostics.model.report import Diagnosis, InputSummary
from diagnostics.options import Options
from diagnostics.store.database import open_store
from diagnostics.walk import judged_walk


def compared(
    inputs: Sequence[str], data: Material, summaries: list[InputSummary], options: Options, stdin: bytes | None,
    charts: bool,
) -> Diagnosis | None:  # fmt: skip
    """Walk over both sides, and report the later one with what differs; None where there is nothing to compare."""
    pair = _sides(inputs, data, options, stdin)
    if pair is None:
        return None
    stores = open_store(None), open_store(options.store)
    try:
        plain = replace(options, after=None, baseline=None)
        earlier = judged_walk(stores[0], pair.before, [], plain, charts=False)[1]
        diagnosis, later = judged_walk(stores[1], pair.after, summaries, options, charts)
        sides = [[Side(j.facts, j.results, j.findings) for j in judged] for judged in (earlier, later)]
        found = compare_worst(*sides, asked=pair.asked, same_servers=pair.same_servers)
        return replace(diagnosis, report=replace(diagnosis.report, comparison=found))
    finally:
        for db in stores:
            db.close()


def _sides(inputs: Sequence[str], data: Material, options: Options, stdin: bytes | None) -> Pair | None:
    """The two sides that the options ask for; None where a baseline holds benchmark results only."""
    if options.after is not None:
        before, after = around(options.after, data)
        return Pair(before, after, f"--after {written(options.after)}", same_servers=True)
    named = options.baseline or ""
    window = window_of(named)
    plain = replace(options, baseline=None)
    if window is None:
        loaded = load([named], plain)
        if not loaded.captures:
            reason = loaded.failed[0].warnings[0] if loaded.failed else f"{named}: holds no file"
            raise OptionError(f"--baseline {reason}")
        other = with_times(loaded, options.interval)
        return (
            Pair(other, data, f"--baseline {named}", same_servers=False) if other.has_more_than_runs else None
        )
    asked = (options.start, options.end or time.time()) if options.start is not None else None
    earlier = data
    if any(i.startswith(("http://", "https://")) for i in inputs):
        earlier = with_times(
            load(inputs, replace(plain, start=window[0], end=window[1]), stdin), options.interval
        )
    question = f"--baseline {written(window[0])}..{written(window[1])}"
    return Pair(inside(window, earlier), beside(window, asked, data), question, same_servers=True)
