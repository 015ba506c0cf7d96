"""A later run is worse than its baseline beyond noise (S16).

Which run comes first is never guessed: the baseline is the one that the user names, else the dates inside the files tell an
upgrade of the engine. A difference counts when the same work at the same load is worse by more than repeats or the requests
themselves scatter; two bare means are a remark at most.
"""

from __future__ import annotations

from msgspec import Struct

from diagnostics.execute import bench, bench_compare, words
from diagnostics.execute.bench_compare import Change
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Resolution

# Loss below which even a proved difference is not worth a word; repeats of one run differ by as much.
WORSE = 0.05
# Loss of two bare means from which a remark is due: twice what single runs differ by.
BARE_WORSE = 0.1
_NAMES = {"output_tps": "output tokens per second", "ttft": "time to first token", "tpot": "time per output token",
          "e2e": "whole request"}  # fmt: skip


class Loss(Struct, frozen=True):
    """One figure that got worse, with the runs and the level it was seen at."""

    before: BenchRun
    after: BenchRun
    step: BenchStep
    change: Change


def evaluate(facts: Facts) -> Outcome:
    """Compare every run with the named baseline at equal load and work."""
    after = bench.measured(facts)
    if not after:
        return bench.nothing()
    before = [r for r in bench.sides(facts) if bench.BASELINE in r.extra]
    ordered = [(a, b) for a in before for b in after] or bench_compare.upgrades(after)
    if not ordered:
        return Unanswered(Reason.OPTION_NOT_GIVEN, ("baseline",), "name the earlier run: --baseline PATH")
    pairs = [(a, b, m) for a, b in ordered for m in bench_compare.matched(a, b)]
    if not pairs:
        how = "repeat the baseline's run: same data set, lengths and load"
        return Unanswered(Reason.TOO_FEW_SAMPLES, ("the same load on both sides",), how)
    losses = [
        Loss(a, b, later[0], c) for a, b, (early, later) in pairs for c in bench_compare.changes(early, later)
    ]
    proved = [x for x in losses if x.change.beyond_noise and x.change.worse >= WORSE]
    bare = [x for x in losses if not x.change.noise and x.change.worse >= BARE_WORSE]
    if proved or bare:
        return Fired((_draft(facts, proved or bare, loud=bool(proved)),))
    return Passed()


def _evidence(loss: Loss) -> Evidence:
    limit = WORSE if loss.change.beyond_noise else BARE_WORSE
    what = _NAMES[loss.change.metric]
    return bench.evidence(
        loss.after, loss.step, what, "loss against the baseline", loss.change.worse, "ratio", ">=", limit
    )


def _draft(facts: Facts, losses: list[Loss], *, loud: bool) -> Draft:
    worst = max(losses, key=lambda x: x.change.worse)
    change, what = worst.change, _NAMES[worst.change.metric]
    others = bench_compare.differences(worst.before, worst.after)
    apart = f" The runs also differ in: {', '.join(others)}." if others else ""
    proof = {
        "requests": "The intervals of both medians over their requests do not overlap.",
        "repeats": "The repeats of both sides lie apart by more than three times their spread.",
    }.get(
        change.noise,
        "Neither side has repeats or single requests, so noise is unknown: repeat both runs three times.",
    )
    load = bench.load(worst.step)
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.CAUSE if loud else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Worse than the baseline by {words.percent(change.worse)} in {what}{f' at {load}' if load else ''}",
        explanation=f"{what[0].upper()}{what[1:]} went from {words.number(change.a)} to {words.number(change.b)} for the same "
        f"work. {proof}{apart}",
        evidence=tuple(_evidence(x) for x in sorted(losses, key=lambda x: -x.change.worse)[:5]),
        chart=ChartHint(("ttft", "itl", "generation_tokens"), {}),
        impact=Impact(f"{what} is worse", round(change.worse, 3), "ratio", "the baseline at the same load"),
        remedies=(
            Remedy("Keep or bring back the earlier configuration until the cause is known, and repeat both runs in turn "
                   "(A, B, A, B) on the same machine.", "now", restart=True, expected="the baseline's figures return",
                   risk="a restart", undo="the later configuration again"),
        ),
        do_not=("Do not blame one change while the runs differ in several.",),
        refuted_by="Repeats of both runs overlap.",
        margin=min(1.0, change.worse / WORSE - 1) if loud else 0.0,
        weakest=Resolution.RANGE,
        because="beyond the noise of both sides" if loud else "two means without a spread",
        confidence_cap=1.0 if loud and not others else 0.5,
    )  # fmt: skip


RULE = Rule(
    code="BEN006",
    slug="bench-regression",
    title="A later run is worse than its baseline beyond noise",
    family="benchmark",
    concepts=("S16",),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"loss beyond noise": (WORSE, "ratio"), "loss of two bare means": (BARE_WORSE, "ratio")},
)
