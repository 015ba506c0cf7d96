"""Single requests out of the parallel lists that serving clients write, in seconds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from diagnostics.model.bench import BenchRequest
from diagnostics.sources.bench.gaps import Gaps, reduce_gaps
from diagnostics.sources.bench.values import count, number, positive, words

_ERROR_KIND = re.compile(r"\b([A-Z]\w*(?:Error|Exception|Timeout))\b")


def request_lists(value: dict[str, Any], names: Iterable[str]) -> dict[str, list[Any]]:
    """The parallel lists of a result by name; gaps between tokens reduced to one entry a request."""
    lists = {name: value[name] for name in names if isinstance(value.get(name), list)}
    gaps = lists.get("itls", [])
    if gaps and not isinstance(gaps[0], Gaps):
        lists["itls"] = reduce_gaps(gaps)
    return lists


def request_row(lists: dict[str, list[Any]], i: int, origin: float) -> BenchRequest:
    """One request out of parallel lists in seconds, as ``request_lists`` gives them."""

    def entry(name: str) -> Any:
        return lists[name][i] if name in lists else None

    error = words(entry("errors"))
    ok = not error
    start, ttft = number(entry("start_times")), positive(entry("ttfts")) if ok else None
    gaps: Gaps | None = entry("itls")
    output = count(entry("output_lens"))
    e2e = positive(entry("latencies")) if ok else None
    if e2e is None and ttft is not None and gaps is not None:
        e2e = ttft + gaps.total
    tpot = (
        (e2e - ttft) / (output - 1)
        if e2e is not None and ttft is not None and output and output > 1
        else None
    )
    return BenchRequest(
        request_no=i,
        start_s=None if start is None else start - origin,
        ttft_s=ttft,
        e2e_s=e2e,
        tpot_s=tpot,
        input_tokens=count(entry("input_lens")),
        output_tokens=output,
        cached_tokens=count(entry("cached_tokens")),
        gaps_s=gaps.kept if gaps is not None else (),
        chunks=gaps.count + 1 if ttft is not None and gaps is not None else None,
        status="ok" if ok else "error",
        error_kind=error_kind(error),
    )


def error_kind(text: str | None) -> str | None:
    """A short name for an error text: its exception, or its last line cut short."""
    if not text:
        return None
    names = _ERROR_KIND.findall(text)
    return names[-1] if names else text.strip().splitlines()[-1][:80]
