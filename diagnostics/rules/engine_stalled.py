"""Requests are running but no tokens come out (S13).

A healthy engine finishes a step every few milliseconds, a long prefill within seconds. When requests run, the
process answers and no counter moves for longer than that, the engine loop hangs. Not this for an idle server,
for one long prefill, or where an engine counts tokens only when a request finishes.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import registry
from diagnostics.execute import courses, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# s without any progress (recordings: 13 at most, with whole prompts of 4,000 tokens in one step on a slow
# machine).
STALL_SECONDS = 45.0
# s where one step may legitimately be long: a lone request, or prompts that are not computed in chunks.
LONG_STEP_SECONDS = 180.0
# Scrapes in a row without progress; one is a scrape that came twice.
MIN_SCRAPES = 2
# What moves while a request is under way, whatever the engine.
_LIVE = (
    "generation_tokens",
    "prompt_tokens",
    "iteration_tokens",
    "realtime_tokens",
    "iterations",
    "cuda_graph_passes",
)


def evaluate(facts: Facts) -> Outcome:
    """Fire where requests ran over a long time in which no progress counter moved."""
    engine = registry.engine_named(facts.engine)
    late = engine.at_finish if engine else frozenset()
    signals = tuple(s for s in _LIVE if s not in late)
    seen = np.logical_or.reduce([facts.has(s) for s in signals]) & facts.has("running")
    if not seen.any():
        return Unanswered(
            Reason.NOT_EXPORTED_BY_ENGINE, ("realtime_tokens",),
            "this engine counts tokens only when a request finishes; its log may show steps",
        )  # fmt: skip
    if not facts.is_range().any():
        return Unanswered(
            Reason.NEEDS_TIME_SERIES, ("generation_tokens",), "give a metrics API, or dumps every few seconds"
        )
    found = courses.stalls(facts, signals)
    hit = tuple(
        i for i, s in enumerate(found) if seen[i] and s and s.scrapes >= MIN_SCRAPES and _long(facts, i, s)
    )
    if not hit:
        return Passed()
    return Fired((_draft(facts, hit, found),))


def _long(facts: Facts, i: int, stall: courses.Stall) -> bool:
    whole = facts.flag(i, "enable_chunked_prefill") is False
    limit = LONG_STEP_SECONDS if whole or stall.running < 2 else STALL_SECONDS
    return stall.end - stall.start >= limit


def _draft(facts: Facts, hit: tuple[int, ...], found: list[courses.Stall | None]) -> Draft:
    lengths = {i: s.end - s.start for i in hit if (s := found[i]) is not None}
    worst = max(lengths, key=lambda i: lengths[i])
    stall = found[worst]
    assert stall is not None  # noqa: S101  the worst one is among the found
    course = facts.courses[worst]
    still = (
        bool(course.segments)
        and stall.end >= course.segments[-1].end - 2 * MIN_SCRAPES * (stall.end - stall.start) / stall.scrapes
    )
    waiting = float(facts.column("waiting", Stat.LAST)[worst])
    name = facts.entities[worst].label
    return Draft(
        severity=Severity.CRITICAL,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(stall.start, stall.end, min(1.0, lengths[worst] / course.observed) if course.observed
                      else None),
        summary=(
            f"{name} {'makes' if still else 'made'} no tokens for {words.seconds(lengths[worst])} with "
            f"{words.number(stall.running)} or more requests running" + (f" ({len(hit)} of {facts.size} "
                "replicas affected)" if len(hit) > 1 else "")
        ),
        explanation=(
            "No counter of tokens or steps moved in this time, while the process answered every scrape. No "
            "load explains that: past the knee throughput is flat at a high value, not at zero. "
            f"{words.number(waiting)} requests wait at the end. The engine loop hangs, for instance in a "
            "collective that one GPU never joins, in a transfer of KV blocks, or after a driver error; the "
            "API server is another process, so health checks stay green."
        ),
        evidence=(
            Evidence("generation_tokens", "time without growth", round(lengths[worst], 1), "s", ">=",
                     STALL_SECONDS if stall.running >= 2 else LONG_STEP_SECONDS, name, Provenance.MEASURED),
            Evidence("running", "min meanwhile", stall.running, "requests", ">=", 1.0, name,
                     Provenance.MEASURED),
        ),
        chart=ChartHint(("generation_tokens", "prompt_tokens", "running", "waiting"), {}),
        impact=Impact("every request on this replica stands still", stall.running, "requests",
                      "running without progress"),
        remedies=(
            Remedy("Take the replica out of the router; its health check will not do it. Save stacks "
                   "and the end of the log.", "now",
                   expected="no new request lands on it", risk="the other replicas carry its load",
                   undo="add it back once tokens flow"),
            Remedy("Then restart this one replica; its running requests are lost in any case.", "now", True,
                   expected="the engine starts anew", risk="the reason is gone unless stacks and log were "
                   "saved", undo="none"),
            Remedy("Probe progress and not liveness: alert on running above zero with flat token counters.",
                   "next-rollout", expected="the next stall is seen within minutes",
                   risk="a short timeout hits a busy server"),
        ),
        do_not=(
            "Do not wait for the liveness probe: it asks the API server, which is well.",
            "Do not restart all replicas at once: if one request hangs each engine, find that request first.",
        ),
        refuted_by="Token or step counters moved in this time, or one very long prefill was alone on the "
            "engine and ended.",
        margin=min(1.0, lengths[worst] / STALL_SECONDS - 1),
        verify=(
            Request("generation_tokens", Stat.INCREASE),
            Request("running", Stat.MIN),
            Request("up", Stat.MIN),
        ),
        explains=("past-saturation-knee", "client-disconnects", "prefill-stalls-decode"),
        because="no progress counter moved while requests ran",
    )  # fmt: skip


RULE = Rule(
    code="SCH012",
    slug="engine-stalled",
    title="Requests are running but no tokens come out",
    family="scheduler",
    concepts=("S13",),
    needs=(Need(("running",)), Need(_LIVE, at_least=Resolution.RANGE)),
    evaluate=evaluate,
    support=Support.REPORT,
    thresholds={"time without progress": (STALL_SECONDS, "s"), "time without progress of a lone request or "
                "of whole prefills": (LONG_STEP_SECONDS, "s"),},
)  # fmt: skip
