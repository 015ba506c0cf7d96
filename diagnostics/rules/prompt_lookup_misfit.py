"""Prompt lookup drafts on text that does not copy its input (S25).

Drafts looked up in the prompt cost almost nothing and win where the answer copies its input. On open-ended text there is
nothing to copy and acceptance falls to near zero. Not for other drafters.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import speculation, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# accepted by drafted; "near zero" (recording of open-ended text: 0.016; of copying text: 0.71).
NEAR_ZERO = 0.1


def evaluate(facts: Facts) -> Outcome:
    """Fire where the method is known to be lookup and next to nothing is accepted."""
    lookup = np.array([speculation.is_lookup(facts, i) for i in range(facts.size)])
    if not lookup.any():
        known = any(speculation.method(facts, i) for i in range(facts.size))
        if known:
            return Passed()
        return Unanswered(
            Reason.NOT_CONFIGURED,
            ("speculative_method",),
            "give the launch command or the log: no metric names the method",
        )
    numbers = speculation.read(facts)
    hit = lookup & numbers.enough & (numbers.rate < NEAR_ZERO)
    return Fired((_draft(facts, tuple(np.flatnonzero(hit).tolist()), numbers),)) if hit.any() else Passed()


def _draft(facts: Facts, hit: tuple[int, ...], numbers: speculation.Speculation) -> Draft:
    worst = min(hit, key=lambda i: float(numbers.rate[i]))
    rate = float(numbers.rate[worst])
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else None),
        summary=f"Prompt lookup drafts where nothing is copied: {words.percent(rate)} of its tokens are accepted on "
        f"{words.replicas(facts, hit)}",
        explanation=f"The method is {speculation.method(facts, worst)}: it proposes what followed the same words in the prompt. "
        "These answers do not repeat their input, so nearly every draft is rejected and the verification of its positions is "
        "wasted.",
        evidence=(
            Evidence("spec_accepted_tokens", "accepted by drafted", round(rate, 4), "ratio", "<", NEAR_ZERO,
                     facts.entities[worst].label, Provenance.MEASURED),
        ),
        chart=ChartHint(("spec_draft_tokens", "spec_accepted_tokens"), {"spec_accept_rate": NEAR_ZERO}),
        impact=Impact("verification work without gain", None, "", "drafting itself is nearly free"),
        remedies=(
            Remedy(
                "Send summaries, edits and document questions here, open-ended traffic elsewhere.",
                "now", expected="acceptance rises", risk="none for correctness", undo="route as before",
            ),
            Remedy(
                "Run this traffic without prompt lookup, or with a trained drafter.",
                "next-rollout", True, facts.engine, flags.flag_for(facts.engine, facts.version, "speculative-config"),
                speculation.method(facts, worst), "remove it", "steps verify one token a sequence again",
                "slower where the answers do copy", "restore the setting",
            ),
        ),
        do_not=(
            "Do not switch speculation off to restore quality: verification is lossless (S26); a difference is a defect to "
            "report.",
        ),
        refuted_by="Acceptance is high on the same traffic once warm-up requests are left out.",
        margin=1 - rate / NEAR_ZERO,
        weakest=max(facts.resolution[worst], Resolution.PAIR),
        verify=(Request("spec_accepted_tokens", Stat.INCREASE, over="spec_draft_tokens"),),
        explains=("low-acceptance", "draft-length-overshoot"),
        because="the method is configured and the acceptance measured",
    )  # fmt: skip


RULE = Rule(
    code="SPC004",
    slug="prompt-lookup-misfit",
    title="Prompt lookup drafts on text that does not copy its input",
    family="speculation",
    concepts=("S25",),
    needs=(
        Need(
            ("spec_draft_tokens", "spec_accept_rate"),
            how_to_get="speculation is off, or its metrics are not here",
        ),
    ),
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={"accepted by drafted tokens": (NEAR_ZERO, "ratio")},
)
