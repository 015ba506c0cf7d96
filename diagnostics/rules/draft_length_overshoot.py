"""Later draft positions are almost never accepted (S17).

A position is only reached when all before it were accepted, so the curve falls. Positions whose share lies below what they
cost make every round slower. Not this when the curve is flat.
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

# Accepted share of a position over all drafts; below it the position returns less than drafting and verifying one more
# token costs, taken as a tenth of a step (arithmetic of speculation; no engine publishes the draft's cost).
POSITION_PAYS = 0.1


def evaluate(facts: Facts) -> Outcome:
    """Fire where the first position pays and the last ones do not."""
    numbers = speculation.read(facts)
    if not numbers.curve:
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT,
            ("spec_accepted_per_pos",),
            "acceptance by position is in newer metrics and log lines",
        )
    curve = np.array(numbers.curve)
    hit = numbers.enough & (curve[0] >= POSITION_PAYS) & (curve[-1] < POSITION_PAYS)
    if len(numbers.curve) < 2 or not hit.any():
        return Passed()
    return Fired((_draft(facts, tuple(np.flatnonzero(hit).tolist()), curve),))


def _draft(facts: Facts, hit: tuple[int, ...], curve: np.ndarray) -> Draft:
    worst = min(hit, key=lambda i: float(curve[-1][i]))
    shares = [float(p) for p in curve[:, worst]]
    best = sum(p >= POSITION_PAYS for p in shares)
    listed = ", ".join(f"{p:.2f}" for p in shares)
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, 1.0 if facts.observed.start is not None else None),
        summary=f"Draft {best} tokens instead of {len(shares)}: later positions are almost never accepted on "
        f"{words.replicas(facts, hit)}",
        explanation=f"Acceptance by position over all drafts: {listed}. A position counts only when all before it were "
        "accepted; beyond the best length each further one costs a verified token and returns almost nothing.",
        evidence=(
            Evidence("spec_accepted_per_pos", f"share at position {len(shares)}", round(shares[-1], 4), "ratio", "<",
                     POSITION_PAYS, facts.entities[worst].label, Provenance.MEASURED),
        ),
        chart=ChartHint(("spec_accepted_per_pos",), {"spec_accepted_per_pos": POSITION_PAYS}),
        impact=Impact("each round verifies positions that are thrown away", None, "", "curve over all drafts"),
        remedies=(
            Remedy(
                f"Draft {best} tokens.",
                "next-rollout", True, facts.engine, flags.flag_for(facts.engine, facts.version, "speculative-config"),
                f"num_speculative_tokens={len(shares)}", f"num_speculative_tokens={best}",
                "shorter rounds with almost the same accepted length", "none for correctness", "set it back",
            ),
        ),
        do_not=("Do not switch speculation off to restore quality: verification is lossless (S26).",),
        refuted_by="Tokens a second fall with the shorter draft at the same load.",
        margin=1 - shares[-1] / POSITION_PAYS,
        weakest=max(facts.resolution[worst], Resolution.PAIR),
        verify=(Request("spec_accepted_tokens", Stat.INCREASE, over="spec_drafts"),),
        because="the curve is measured, the draft's cost is assumed",
    )  # fmt: skip


RULE = Rule(
    code="SPC003",
    slug="draft-length-overshoot",
    title="Later draft positions are almost never accepted",
    family="speculation",
    concepts=("S17",),
    needs=(
        Need(
            ("spec_accepted_per_pos", "spec_pos_rate"),
            how_to_get="speculation is off, or its metrics are not here",
        ),
    ),
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={"accepted share of the last position": (POSITION_PAYS, "ratio")},
)
