"""The client's clock beside the server's: time that requests spend outside the engine, as the finding of a rule."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import bench, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.requests import Stat
from diagnostics.model.samples import Resolution

# First tokens at the client by those at the server, and seconds between, from which the client's side is most of the wait.
RATIO = 2.0
SECONDS = 0.1
# Requests behind a mean that is compared.
MIN_REQUESTS = 50
# Requests that the server counted by those that the client did, within which both saw the same ones.
SAME_REQUESTS = 0.05
# Mean open requests by those allowed, below which a client does not keep up with its own setting, and rounds from which start
# and end are a small part.
BUSY_SHARE = 0.7
ROUNDS = 10


class Apart(Struct, frozen=True):
    """Mean seconds to the first token on both sides of one level."""

    run: BenchRun
    step: BenchStep
    client: float
    server: float


def outcome(facts: Facts) -> Outcome:
    """Fire where the first token takes far longer at the client than at the server, or the client leaves its slots empty."""
    runs = bench.measured(facts)
    levels = [(r, s) for r in runs for s in bench.served(r)]
    sides = [a for r, s in levels if (a := _sides(facts, r, s)) is not None]
    hit = [a for a in sides if a.client >= RATIO * a.server and a.client - a.server >= SECONDS]
    if hit:
        return Fired((_apart(facts, max(hit, key=lambda a: a.client - a.server)),))
    shares = [(share, r, s) for r, s in levels if (share := _busy(r, s)) is not None]
    idle = [x for x in shares if x[0] <= BUSY_SHARE]
    if idle:
        share, run, step = min(idle, key=lambda x: x[0])
        return Fired((_idle(facts, run, step, share),))
    if sides or shares:
        return Passed()
    how = "give the engine's metrics of the same minutes beside the result"
    return Unanswered(Reason.NOT_IN_THIS_INPUT, ("time to first token at client and server",), how)


def _sides(facts: Facts, run: BenchRun, step: BenchStep) -> Apart | None:
    """Both clocks: the server's beside each request, or its metrics when they count the same requests."""
    client = step.stat("ttft", "mean")
    if client is None or (step.completed or 0) < MIN_REQUESTS:
        return None
    server = step.stat("server_ttft", "mean")
    if server is None and sum(len(r.steps) for r in bench.measured(facts)) == 1:
        counts = facts.column("ttft", Stat.HIST_COUNT)
        total = float(np.nansum(counts))
        if abs(total - (step.completed or 0)) <= SAME_REQUESTS * total:
            server = float(np.nansum(counts * facts.hist_mean("ttft")) / total)
    return Apart(run, step, client, server) if server else None


def _busy(run: BenchRun, step: BenchStep) -> float | None:
    """Mean open requests by those allowed (Little's law); None where pauses are meant, or start and end are most of the run."""
    cap, e2e, done = step.concurrency_cap, step.stat("e2e", "mean"), step.completed
    paced = step.load_mode == "closed" and not run.multi_turn and run.format != bench.TABLE
    if not paced or not cap or not e2e or not step.rps or not done or done < ROUNDS * cap:
        return None
    agentic = any(r.turn for r in step.requests) or "agentic" in (run.dataset or run.source).lower()
    return None if agentic or step.failed or step.incomplete else step.rps * e2e / cap


def _apart(facts: Facts, seen: Apart) -> Draft:
    lost = seen.client - seen.server
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"A first token takes {words.seconds(seen.client)} at the client and {words.seconds(seen.server)} at the server",
        explanation=f"{words.seconds(lost)} of it lie outside of the engine: in the client, its connection pool, the network or a "
        "gateway. The figures of this run are not the server's.",
        evidence=(
            bench.evidence(seen.run, seen.step, "ttft", "client by server", seen.client / seen.server, "ratio", ">=", RATIO),
            bench.evidence(seen.run, seen.step, "ttft", "client minus server", lost, "s", ">=", SECONDS),
        ),
        chart=ChartHint(("ttft", "running", "waiting"), {}),
        impact=Impact("first tokens wait outside of the engine", round(lost, 3), "s", "means of the same requests"),
        remedies=(
            Remedy("Run the client on a machine of its own, close to the server, with more than one process; repeat at the same "
                   "load.", "now", expected="both clocks agree", risk="the server sees its real load"),
        ),
        do_not=("Do not tune the engine for this wait: it does not see it.",),
        refuted_by="A second client elsewhere measures the same wait while the server's own figure stays.",
        margin=min(1.0, seen.client / seen.server / RATIO - 1),
        weakest=Resolution.RANGE,
        because="both clocks are known",
    )  # fmt: skip


def _idle(facts: Facts, run: BenchRun, step: BenchStep, share: float) -> Draft:
    cap = step.concurrency_cap or 0
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"The client kept only {words.number(share * cap)} of {cap} requests open on average",
        explanation="Requests a second by their length give the mean number that is open. In a closed loop it is the cap; here "
        "the client pauses between an answer and the next request, so the load is lighter than its setting says.",
        evidence=(
            bench.evidence(run, step, "open requests", "mean by cap", share, "ratio", "<=", BUSY_SHARE),
        ),
        chart=ChartHint(("running",), {}),
        impact=Impact("the load was lighter than its name", round(share, 2), "x the concurrency asked for", "Little's law"),
        remedies=(
            Remedy("Compare this run by its mean open requests and not by its setting; use a client that sends the next request "
                   "at once, or an open-loop rate.", "now", expected="loads that can be compared"),
        ),
        do_not=("Do not put this level on one curve with other clients' levels of the same name.",),
        refuted_by="Think time between requests was meant.",
        margin=min(1.0, (BUSY_SHARE - share) / BUSY_SHARE),
        weakest=Resolution.RANGE,
        because="the run's own rate and length",
        confidence_cap=0.6,
    )  # fmt: skip
