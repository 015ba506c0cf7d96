"""The load generator or the client library is the limit (S21, S22).

A client that keeps N requests open shows as running at N with nothing waiting, however fast the server is;
the figures measured are the client's. Not this while the engine queues, nor at the engine's own cap.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench, bench_client, courses, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.regimes import KV_SPARE
from diagnostics.signals.settings import CAP_NAMES, limit

# Share of the busy scrapes that show running at its top exactly (recordings: 0.72 and more with a fixed
# number of clients, 0.43 and less with arrivals of their own).
FLAT_SHARE = 0.7
# Requests; one or two that run all the time are no load worth a word.
MIN_TOP = 3.0
MIN_SCRAPES = 12
# s at one number; shorter calm between bursts is chance.
MIN_SECONDS = 60.0
# Tokens a second at another time by those at the plateau: the engine's own record of what it can do.
RECORD = 1.5
# Scrapes above the plateau that make a record.
MIN_RECORD_SCRAPES = 6
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (Need(("running",), at_least=Resolution.RANGE), Need(("waiting",), at_least=Resolution.RANGE))


class Plateau(Struct, frozen=True):
    """The number, the share of busy scrapes at it, tokens a second there and above it."""

    top: float
    share: float
    rate: float
    record: float


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; both clocks of a benchmark answer where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, bench_client.outcome)


def _from_engine(facts: Facts) -> Outcome:
    """Fire where running is flat at one number, nothing waits and the KV cache has room."""
    calm = (
        facts.is_range()
        & (facts.column("waiting", Stat.MAX) == 0)
        & ~(facts.column("kv_usage", Stat.MAX) >= KV_SPARE)
    )
    found = {
        int(i): p for i in np.flatnonzero(calm) if (p := plateau(courses.course(facts, int(i)))) is not None
    }
    found = {i: p for i, p in found.items() if p.top != limit(facts.settings[i], CAP_NAMES)}
    return Fired((_draft(facts, found),)) if found else Passed()


def plateau(course: courses.Course) -> Plateau | None:
    """The number at which running is flat, or None."""
    busy = course.running > 0
    if busy.sum() < MIN_SCRAPES:
        return None
    values, counts = np.unique(course.running[busy], return_counts=True)
    top = float(values[int(np.argmax(counts))])
    above = course.running > top
    # The longest time in which nothing rose above it.
    edges = np.flatnonzero(np.diff(above)) + 1
    parts = [part for part in np.split(np.arange(len(above)), edges) if not above[part[0]]]
    longest = max(parts, key=len)
    at = longest[course.running[longest] == top]
    if not len(at) or course.t[at[-1]] - course.t[at[0]] < MIN_SECONDS:
        return None
    share = len(at) / max(int(busy[longest].sum()), 1)
    if top < MIN_TOP or share < FLAT_SHARE or len(at) < MIN_SCRAPES or 0 < above.sum() < MIN_RECORD_SCRAPES:
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = np.nansum(course.generated[at]) / np.nansum(course.dt[at])
        record = np.nansum(course.generated[above]) / np.nansum(course.dt[above])
    return Plateau(top, share, float(rate), float(record) if above.any() else float("nan"))


def _draft(facts: Facts, found: dict[int, Plateau]) -> Draft:
    hit = tuple(found)
    worst = max(hit, key=lambda i: found[i].share)
    seen = found[worst]
    proved = seen.record >= RECORD * seen.rate
    name = facts.entities[worst].label
    record = (
        f" At another time it made {words.number(seen.record)} tokens a second with more running, here "
        f"{words.number(seen.rate)}."
        if proved
        else " Whether it could do more was not seen."
    )
    return Draft(
        severity=Severity.WARNING if proved else Severity.INFO,
        role=Role.CAUSE if proved else Role.ADVICE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, seen.share),
        summary=(
            f"Clients set the pace on {words.replicas(facts, hit)}: running is flat at "
            f"{words.number(seen.top)} and nothing waits"
        ),
        explanation=(
            f"{words.percent(seen.share)} of the busy scrapes show exactly {words.number(seen.top)} requests "
            "running, the queue is empty and the KV cache has room. That is what a client looks like that "
            f"keeps so many requests open and sends the next one when an answer ends.{record} Throughput and "
            "latency measured like this are those of the client's setting."
        ),
        evidence=(
            Evidence("running", "share of busy scrapes at its top", round(seen.share, 3), "ratio", ">=",
                     FLAT_SHARE, name, Provenance.INFERRED),
            facts.evidence(worst, Request("waiting", Stat.MAX), "=", 0.0),
            *((Evidence("generation_tokens", "tokens a second at another time by those here",
                        round(seen.record / seen.rate, 2), "ratio", ">=", RECORD, name, Provenance.MEASURED),)
              if proved else ()),
        ),
        chart=ChartHint(("running", "waiting", "generation_tokens"), {"running": seen.top}),
        impact=Impact("the server's own limit is not measured", None, "", "no queue ever formed"),
        remedies=(
            Remedy("If more throughput is wanted, raise the client's number of open requests or start a "
                   "second client elsewhere, until requests wait at the server.", "now",
                   expected="tokens a second rise, or a queue forms", risk="the server sees its real load: "
                   "watch queue and KV cache", undo="restore the client's limit"),
        ),
        do_not=("Do not raise the engine's concurrency cap: its seats are not taken.",),
        refuted_by="A second client adds no tokens a second, or requests wait at the server.",
        margin=(seen.share - FLAT_SHARE) / (1 - FLAT_SHARE),
        verify=(Request("running", Stat.MAX), Request("running", Stat.P50), Request("waiting", Stat.MAX)),
        because="the engine did more at another time" if proved else "a flat top alone",
        confidence_cap=1.0 if proved else 0.6,
    )  # fmt: skip


RULE = Rule(
    code="CLI001",
    slug="client-bound",
    title="The load generator or the client library is the limit",
    family="benchmark",
    concepts=("S21", "S22"),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    thresholds={"busy scrapes at the top": (FLAT_SHARE, "ratio"), "tokens a second by the record": (RECORD,
                "ratio")},
)  # fmt: skip
