"""LMBenchmark and fmperf: one CSV row a finished request, seconds, rate only in the file name."""

from __future__ import annotations

import math
from itertools import pairwise

from diagnostics.model.bench import BenchRequest, BenchRun, BenchStep
from diagnostics.model.errors import InputError
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.names import apply_name, rate_in
from diagnostics.sources.bench.values import add_computed, count, derive, number

FORMAT = "lmbenchmark"
HINTS: tuple[str, ...] = ()
_KEYS = {"prompt_tokens", "generation_tokens", "ttft", "generation_time", "launch_time", "finish_time"}
_EVEN_SHARE = 0.2


def recognise(content: Content) -> bool:
    """The six columns."""
    return set(content.header) >= _KEYS


def read(source: str, content: Content) -> list[BenchRun]:
    """One run with one step; arrival and true concurrency are rebuilt from the launch times."""
    rows = [row for _, row in content.table()]
    launches = [number(row.get("launch_time")) for row in rows]
    starts = [t for t in launches if t is not None]
    if not starts:
        raise InputError(source, "", "no row with a launch time", "check that the run has finished")
    run = BenchRun(source=source, format=FORMAT, tool="lmbenchmark", streaming=True, started_at=min(starts))
    step = BenchStep(load_mode="open")
    run.steps.append(step)
    step.requests = [
        _request(i, row, launch, min(starts))
        for i, (row, launch) in enumerate(zip(rows, launches, strict=True))
    ]
    step.requested_rps = rate_in(source.rsplit("/", 1)[-1])
    if step.requested_rps is not None:
        step.origins["requested_rps"] = "named"
    _summarise(step, sorted(starts))
    run.warnings.append(
        "unfinished requests are no rows here: failures and the slowest answers may be missing"
    )
    apply_name(run, source)
    _drop_false_length(run)
    return [run]


def _request(i: int, row: dict[str, str], launch: float | None, first: float) -> BenchRequest:
    finish, tokens = number(row.get("finish_time")), count(row.get("generation_tokens"))
    generation = number(row.get("generation_time"))
    return BenchRequest(
        request_no=i,
        start_s=None if launch is None else launch - first,
        ttft_s=number(row.get("ttft")),
        e2e_s=finish - launch if finish is not None and launch is not None else None,
        tpot_s=generation / (tokens - 1) if generation is not None and tokens and tokens > 1 else None,
        input_tokens=count(row.get("prompt_tokens")),
        output_tokens=tokens,
    )


def _summarise(step: BenchStep, starts: list[float]) -> None:
    rows = step.requests
    step.completed = len(rows)
    ends = [r.start_s + r.e2e_s for r in rows if r.start_s is not None and r.e2e_s is not None]
    derive(step, "duration_s", max(ends, default=0.0) or None)
    step.input_tokens, step.output_tokens = (
        sum(getattr(r, f"{s}_tokens") or 0 for r in rows) for s in ("input", "output")
    )
    for metric in ("ttft", "tpot", "e2e"):
        add_computed(step, metric, [getattr(r, f"{metric}_s") for r in rows])
    add_computed(step, "input_len", (r.input_tokens for r in rows), unit="tokens")
    add_computed(step, "output_len", (r.output_tokens for r in rows), unit="tokens")
    gaps = [later - earlier for earlier, later in pairwise(starts)]
    if len(gaps) < 5 or sum(gaps) <= 0:
        return
    mean = sum(gaps) / len(gaps)
    spread = math.sqrt(sum((g - mean) ** 2 for g in gaps) / len(gaps)) / mean
    step.achieved_rps = 1 / mean
    step.origins["achieved_rps"] = "derived"
    step.arrival = "constant" if spread < _EVEN_SHARE else "poisson" if 0.7 < spread < 1.3 else "unknown"
    step.origins["arrival"] = "derived"


def _drop_false_length(run: BenchRun) -> None:
    """In ``..._output_0.84.csv`` the number behind 'output' is a rate, no length."""
    if run.origins.get("output_len_spec") == "named":
        run.output_len_spec = None
        del run.origins["output_len_spec"]
