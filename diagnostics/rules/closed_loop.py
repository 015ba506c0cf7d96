"""The benchmark paces itself so no burst ever happens (S21, S22).

A client that sends its next request when an answer comes slows down with the server: no queue can grow, and latency under
real arrivals stays unknown. All requests at once is the other extreme: one burst, no load level. Not this with open-loop
arrivals, nor for offline batches and single streams, which have no arrivals at all.
"""

from __future__ import annotations

from diagnostics.execute import bench, bench_shape, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

# s; requests that wait so long in the client for a free place arrive by completions, whatever rate was asked for.
CLIENT_QUEUE_SECONDS = 0.1
# Load levels from which a run is a sweep: its curve is what matters, the pace a remark beside it.
SWEEP_LEVELS = 3
# A pile of requests sent at once from which it is called a burst.
MIN_BURST = 8


def evaluate(facts: Facts) -> Outcome:
    """Fire where arrivals follow completions, or all come at once."""
    runs = [r for r in bench.measured(facts) if bench.served(r)]
    if not runs:
        return bench.nothing() if not facts.runs else Passed()
    paced = [(r, hit) for r in runs if (hit := _paced(r)) is not None]
    if paced:
        return Fired((_draft(facts, paced, len(runs)),))
    if all(s.load_mode == "unknown" for r in runs for s in bench.served(r)):
        how = "give the benchmark's command, or its result with request rate and concurrency"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("request rate", "concurrency"), how)
    return Passed()


def _paced(run: BenchRun) -> tuple[BenchStep, str] | None:
    """The first level that paces itself, and in which way."""
    return next(((s, how) for s in bench.served(run) if (how := _how(s))), None)


def _how(step: BenchStep) -> str:
    if step.load_mode == "closed":
        return "closed"
    if step.load_mode == "burst":
        return "burst" if (step.requested or step.completed or MIN_BURST) >= MIN_BURST else ""
    if step.load_mode == "open-capped" and (step.client_queue_p99_s or 0.0) >= CLIENT_QUEUE_SECONDS:
        return "capped"
    return "closed" if step.load_mode == "unknown" and bench_shape.follows_answers(step) else ""


def _is_told(run: BenchRun, step: BenchStep) -> bool:
    """Whether a client's settings tell the pace; a column of a table, a name or a remark only suggests it."""
    return run.format != bench.TABLE and bench.provenance(step, "load_mode") is not Provenance.ASSUMED


_SAID = {
    "closed": "sends a request only when an answer has come",
    "burst": "sends all requests at once",
    "capped": "reaches its own cap and then sends only when an answer has come",
}


def _evidence(run: BenchRun, step: BenchStep, how: str) -> Evidence:
    source = bench.provenance(step, "load_mode") if run.format != bench.TABLE else Provenance.INFERRED
    if how == "capped":
        delay = step.client_queue_p99_s or 0.0
        return bench.evidence(run, step, "wait in the client", "p99", delay, "s", ">=", CLIENT_QUEUE_SECONDS)
    if how == "burst":
        sent = float(step.requested or step.completed or 0)
        return bench.evidence(
            run, step, "requests at once", "count", sent, "requests", ">=", MIN_BURST, source
        )
    if step.load_mode == "unknown":
        share = bench_shape.FOLLOWS_SHARE
        return bench.evidence(run, step, "requests that follow an answer", "share at least", share, "ratio", ">=", share,
                              Provenance.INFERRED)  # fmt: skip
    cap = float(step.concurrency_cap or 0)
    return bench.evidence(
        run, step, "concurrency cap without a rate", "setting", cap, "requests", ">", 0.0, source
    )


def _draft(facts: Facts, paced: list[tuple[BenchRun, tuple[BenchStep, str]]], total: int) -> Draft:
    run, (step, how) = paced[0]
    proved = [p for p in paced if _is_told(p[0], p[1][0])]
    swept = len({bench.load(s) for s in bench.served(run)}) >= SWEEP_LEVELS
    which = bench.several([r for r, _ in paced], total)
    one = step.concurrency_cap if how == "closed" and len(paced) == 1 and not swept else None
    cap = f" ({words.number(one)} open requests)" if one else ""
    queue = "Everything waits in one burst whose length sets the latency; it is no load level." if how == "burst" else (
        "The client slows down with the server: it never offers more than is served, no queue can grow, and slow moments "
        "are under-counted because nothing is sent during them."
    )  # fmt: skip
    verb = (
        _SAID[how]
        if len(paced) == 1
        else _SAID[how].replace("sends", "send").replace("reaches its", "reach their")
    )
    return Draft(
        severity=Severity.WARNING if proved else Severity.INFO,
        role=Role.ADVICE if swept or not proved else Role.CAUSE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"{which[0].upper()}{which[1:]} {verb}{cap}, so latency under real arrivals is not measured",
        explanation=f"{queue} Production's clients do not wait for each other.",
        evidence=tuple(dict.fromkeys(_evidence(r, s, w) for r, (s, w) in paced))[:5],
        chart=ChartHint(("running", "waiting"), {}),
        impact=Impact("latency at a given arrival rate is unknown", None, "", "no arrivals of their own"),
        remedies=(
            Remedy("Repeat the run at several arrival rates without a concurrency cap, from light load to past the knee; no "
                   "restart.", "now", flag="--request-rate", suggested="2, 4, 8, ... with --burstiness 1.0 or below",
                   expected="latency against offered rate, and the knee", risk="past the knee the queue grows: end in time",
                   undo="the cap again, for a comparison of like with like"),
        ),
        do_not=("Do not read the knee in requests per second off this run.",),
        refuted_by="Production's clients really are a fixed number that wait for each answer.",
        margin=1.0,
        weakest=Resolution.RANGE,
        because="the client's own settings" if proved else "a table, a name or a remark alone",
        confidence_cap=1.0 if proved else 0.5,
    )  # fmt: skip


RULE = Rule(
    code="BEN003",
    slug="closed-loop",
    title="The benchmark paces itself so no burst ever happens",
    family="benchmark",
    concepts=("S21", "S22"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={
        "wait in the client for a free place": (CLIENT_QUEUE_SECONDS, "s"),
        "requests sent at once": (MIN_BURST, "requests"),
    },
)
