"""Acceptance of drafted tokens as a benchmark prints it, as the finding of a rule."""

from __future__ import annotations

from diagnostics.execute import bench, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Resolution

# Requests from which an acceptance rate is more than the luck of a few prompts.
MIN_REQUESTS = 20


def outcome(facts: Facts, low_rate: float, low_length: float, lossless: str) -> Outcome:
    """Fire where the acceptance of a whole run is below break-even.

    Args:
        facts: the deployment.
        low_rate: accepted by drafted.
        low_length: tokens a round, bonus included.
        lossless: what never to do about it.
    """
    known = [(r, s) for r in bench.measured(facts) for s in bench.levels(r) if _is_known(s)]
    if not known:
        how = "speculation is off, or the result lacks its acceptance"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("acceptance rate",), how)
    low = [
        (r, s) for r, s in known
        if (s.spec_acceptance or 0.0) < low_rate and (s.spec_tokens_per_step or 0.0) < low_length
    ]  # fmt: skip
    if not low:
        return Passed()
    run, step = min(low, key=lambda x: x[1].spec_acceptance or 0.0)
    return Fired((_draft(facts, run, step, (low_rate, low_length), lossless),))


def _is_known(step: BenchStep) -> bool:
    """Whether the acceptance is that of this level: a server's total since its start is not."""
    enough = (step.completed or MIN_REQUESTS) >= MIN_REQUESTS
    return step.spec_acceptance is not None and step.spec_scope != "lifetime" and enough


def _draft(facts: Facts, run: BenchRun, step: BenchStep, limits: tuple[float, float], lossless: str) -> Draft:
    rate, length = step.spec_acceptance or 0.0, step.spec_tokens_per_step
    curve = ", ".join(f"{p:.2f}" for p in step.spec_per_position)
    round_ = (
        f", {words.number(length)} tokens a round instead of 1 without speculation"
        if length is not None
        else ""
    )
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Speculation drafts in vain in the benchmark: {words.percent(rate)} of drafted tokens are accepted{round_}",
        explanation=f"{f'Acceptance by position: {curve}. ' if curve else ''}Every round pays for drafting and for verifying "
        "all positions; with so few accepted it brings hardly more than one token. The drafter does not fit this text.",
        evidence=(
            bench.evidence(run, step, "spec_accepted_tokens", "accepted by drafted", rate, "ratio", "<", limits[0]),
            *((bench.evidence(run, step, "spec_accept_length", "mean", length, "tokens", "<", limits[1]),)
              if length is not None else ()),
        ),
        chart=ChartHint(("spec_accept_rate",), {"spec_accept_rate": limits[0]}),
        impact=Impact("drafting and verifying are paid for and bring almost nothing", length, "tokens a round",
                      "the benchmark's own counters"),
        remedies=(
            Remedy("Use a drafter that was trained for this model and text, or draft fewer tokens; switch "
                   "speculation off where none fits.", "next-rollout", True, expected="each round brings more tokens than it "
                   "costs", risk="none for correctness", undo="the former drafter"),
        ),
        do_not=(lossless,),
        refuted_by="Random prompts were sent: then repeat with real text, which drafts better.",
        margin=min(1.0, 1 - rate / limits[0]),
        weakest=Resolution.RANGE,
        because="the benchmark's own counters",
        confidence_cap=0.8,
    )  # fmt: skip
