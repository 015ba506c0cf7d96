"""Scale-up is slow because of one start-up stage (S10, S24).

A new replica loads weights, compiles, captures graphs and warms up before it is useful. The log gives the
seconds of each stage; the longest is the one worth working on. A start long before the trouble that the input
shows is only a remark.
"""

from __future__ import annotations

from diagnostics.execute import deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.execute.starts import Start, starts
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

# s; a start that an autoscaler can hide behind a queue of ordinary length is shorter.
LONG_START = 180.0
# A lone stage has nothing to be compared with.
MIN_STAGES = 2.0
# ratio; from a third of the known time on one stage is what to work on: five equal stages have a fifth each.
DOMINATES = 0.33
_REFUSALS = ("kv-refused", "out-of-memory", "memory-not-free", "tp-indivisible", "engine-dead")
_NAMES = {
    "download": "downloading weights", "load-weights": "loading weights", "compile": "compiling",
    "compile-cache":
    "loading compiled graphs", "profile": "profiling memory", "graph-capture": "capturing CUDA graphs",
    "init-engine": "the rest of engine initialisation (warm-up, cache)",
}  # fmt: skip
# What shortens each stage.
_HELP = {
    "download": "keep the weights on the node's disk or a shared read-only volume",
    "load-weights": "load from local disk with a streaming or sharded loader, from a prequantized checkpoint",
    "compile": "mount a persistent volume for the compile cache (VLLM_CACHE_ROOT)",
    "compile-cache": "put the compile cache on a local disk",
    "graph-capture": "capture fewer batch sizes, if batches stay below them",
    "profile": "set the KV memory by hand, if the release can, or skip autotuning",
    "init-engine": "look for autotuning and kernel builds in the log, and ship prebuilt kernels in the image",
}


def evaluate(facts: Facts) -> Outcome:
    """Take the longest start of the log apart and fire when one stage makes most of it."""
    if deployment.refusals(facts, *_REFUSALS):
        return Passed()  # the start did not end, and not for its length
    found = [s for s in starts(facts) if len(s.stages) >= MIN_STAGES]
    if not found:
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT,
            ("stage",),
            "give the log of a start, from its first line until it is ready",
        )
    slowest = max(found, key=lambda s: sum(s.stages.values()))
    total = sum(slowest.stages.values())
    name, seconds = max(slowest.stages.items(), key=lambda item: item[1])
    if total < LONG_START or seconds < DOMINATES * total:
        return Passed()
    return Fired((_draft(facts, slowest, name, seconds, total),))


def _draft(facts: Facts, start: Start, name: str, seconds: float, total: float) -> Draft:
    share = seconds / total
    now = not facts.has("running").any()
    told = sorted(start.stages.items(), key=lambda item: -item[1])
    hit = deployment.members(
        facts, [e for e in deployment.events(facts, "stage") if e.labels == start.labels]
    )
    what, help_it = _NAMES.get(name, name), _HELP.get(name, "see what runs before the engine's first line")
    return Draft(
        severity=Severity.WARNING if now else Severity.INFO,
        role=Role.CAUSE if now else Role.ADVICE,
        replicas=hit,
        window=Window(start.begun, start.ready, None),
        summary=f"A start takes {words.seconds(total)}, {words.percent(share)} of it {what} "
                f"({words.seconds(seconds)})",
        explanation="By stage: " + ", ".join(f"{_NAMES.get(n, n)} {words.seconds(s)}" for n, s in told)
        + ". Demand that arrives meanwhile queues on the replicas that run. Node and image come before the "
          "log and are not in it.",
        evidence=(
            Evidence("start-up stages", "sum", round(total, 1), "s", ">=", LONG_START,
                     facts.entities[hit[0]].label, Provenance.MEASURED),
            Evidence(what, "share of the start", round(share, 3), "ratio", ">=", DOMINATES,
                     facts.entities[hit[0]].label,
                     Provenance.MEASURED),
        ),
        chart=ChartHint(("waiting", "up")),
        impact=Impact("arrival rate x start time is the backlog that a new replica "
                      "inherits", round(total), "s", "printed stages"),
        remedies=(
            Remedy("Scale out before the known peak and keep one more replica up.", "now",
                   expected="nobody waits for a start", risk="cost of idle replicas", undo="the old minimum"),
            Remedy(f"Shorten that stage: {help_it}.", "next-rollout", True,
                   expected=f"up to {words.seconds(seconds)} less", risk="try it on one replica",
                   undo="the old image or options"),
        ),
        do_not=("Do not use eager mode in production to start faster: every token is slower for the life of "
                "the replica.",
                "Do not shorten the start-up probe: it kills replicas that are nearly ready."),
        refuted_by="Starts are rare and demand never waits for one.",
        margin=min(1.0, total / LONG_START - 1),
        weakest=Resolution.RANGE,
        because="the engine printed its stages",
    )  # fmt: skip


RULE = Rule(
    code="CLD001",
    slug="cold-start-dominated",
    title="Scale-up is slow because of one start-up stage",
    family="coldstart",
    concepts=("S10", "S24"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={
        "a start": (LONG_START, "s"),
        "one stage of it": (DOMINATES, "ratio"),
        "stages that are known": (MIN_STAGES, "stages"),
    },
)
