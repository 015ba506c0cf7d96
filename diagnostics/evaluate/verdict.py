"""The verdict of one deployment: status, the one thing to act on, how much was seen, the sentence."""

from __future__ import annotations

import numpy as np

from diagnostics.engines import registry as engines
from diagnostics.evaluate.causes import primary, runner_up
from diagnostics.execute import words
from diagnostics.execute.facts import Facts, Mask
from diagnostics.model.findings import Finding, Role, confidence_word
from diagnostics.model.report import Regime, Verdict
from diagnostics.model.requests import Stat
from diagnostics.signals.regimes import KV_SPARE, SATURATED

# Health must have been seen on so much of the replicas' time.
HEALTHY_COVERAGE = 0.9
# From the worst to the best thing a replica can be in.
_SEVERE = (
    Regime.DOWN, Regime.PREEMPTING, Regime.KV_MEMORY, Regime.CAP, Regime.TOKEN_BUDGET, Regime.QUEUEING,
    Regime.UNSATURATED, Regime.IDLE, Regime.UNDECIDED,
)  # fmt: skip


def coverage(facts: Facts) -> float:
    """Share of replica-time on which every limit was decided, 0 to 1."""
    observed = sum(c.observed for c in facts.courses)
    return sum(c.decided for c in facts.courses) / observed if observed else 0.0


def verdict(facts: Facts, ranked: list[Finding], left_out: dict[str, int] | None = None) -> Verdict:
    """Judge one deployment from its ranked findings.

    Args:
        facts: the deployment.
        ranked: its findings, the one to act on first at the head.
        left_out: findings that the user asked not to see, by rule.
    """
    seen = round(coverage(facts), 3)
    first = primary(ranked)
    if first is not None:
        second, apart = runner_up(ranked, first)
        return Verdict("findings", first.rule, second, apart, seen, _headline(first))
    if facts.size and seen >= HEALTHY_COVERAGE and _has_outcomes(facts):
        return Verdict("healthy", None, None, "", seen, _healthy(facts, left_out or {}))
    return Verdict("insufficient-data", None, None, "", seen, _insufficient(facts, seen))


def _has_outcomes(facts: Facts) -> bool:
    """Whether latencies and completions were seen: a log shows limits, but neither stalls nor clients that hang up."""
    ended = facts.has("requests_finished")
    latency = facts.has("itl") | facts.has("ttft") | facts.has("e2e")
    return bool((ended & latency & _preemption_seen(facts)).all())


def _preemption_seen(facts: Facts) -> Mask:
    """Whether preemption is counted, or cannot be: the engine never does it, or the KV cache never came near full."""
    engine = engines.engine_named(facts.engine)
    if engine is not None and engine.never_preempts:
        return np.ones(facts.size, dtype=bool)
    return facts.has("preemptions") | (facts.column("kv_usage", Stat.MAX) < KV_SPARE)


def _headline(first: Finding) -> str:
    sentence = first.summary.rstrip(".")
    sure = confidence_word(first.confidence)
    if first.role is Role.SYMPTOM:
        return f"{sentence}; its cause is not established ({sure})."
    now = next((f"Now: {r.action[:1].lower()}{r.action[1:]}" for r in first.remedies if r.when == "now"), "")
    step = now or next((r.action for r in first.remedies), "")
    return f"{sentence} ({sure}). {step}".strip()


def _healthy(facts: Facts, left_out: dict[str, int]) -> str:
    worst = worst_regime(facts)
    replicas = f"{facts.size} replica" + ("s" if facts.size != 1 else "")
    if left_out:
        return f"Nothing else was found on {replicas}; left out as asked: {', '.join(sorted(left_out))}."
    bound = max((c.seconds(*SATURATED, Regime.DOWN) for c in facts.courses), default=0.0)
    if bound:
        return (
            f"Nothing to act on: {replicas} up; a limit was binding for {words.seconds(bound)} at most on one replica,"
            " too short to be a finding."
        )
    if worst == Regime.IDLE:
        return f"Nothing is wrong: {replicas} up and idle; no request arrived."
    return f"Nothing is wrong: {replicas} up, no limit binding at any time."


def _insufficient(facts: Facts, seen: float) -> str:
    if not facts.size:
        return "Nothing known was found in the input, so nothing can be said about the server."
    if facts.runs and not any(c.observed for c in facts.courses):
        return _benchmark_only(facts)
    if seen >= HEALTHY_COVERAGE:
        return (
            "No limit was binding in what was seen, but a log shows neither latency nor clients that hang up;"
            " give the engine's metrics to call it healthy."
        )
    return (
        f"Not enough to judge: whether a limit binds was decided on {100 * seen:.0f} % of the time seen;"
        " give a metrics API, or dumps saved every few seconds."
    )


def _benchmark_only(facts: Facts) -> str:
    """What a benchmark alone can and cannot tell."""
    count = sum(len(run.steps) for run in facts.runs)
    which = "The benchmark shows" if count == 1 else f"The {count} benchmark results show"
    return (
        f"{which} nothing wrong with the measurement or the load, but only the client's side:"
        " which limit binds inside the server cannot be told. Give the engine's metrics of the same minutes."
    )


def worst_regime(facts: Facts) -> str:
    """The worst regime that any replica was in for long enough to matter."""
    present = {s.regime for c in facts.courses for s in c.segments}
    return next((r.value for r in _SEVERE if r in present), Regime.UNDECIDED.value)


def since(facts: Facts, ranked: list[Finding]) -> float | None:
    """When the trouble began, Unix seconds; None when there is none or it has no time."""
    first = primary(ranked)
    return first.window.start if first is not None else None
