"""Prefix reuse that a benchmark offers against what the cache returned, as the finding of a rule."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.execute import bench, bench_knee, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Resolution

# Share of a prompt that could be reused, below which nothing is asked of the cache.
OFFERED = 0.3
# Hits by what was offered: working at light load, and lost.
KEPT, LOST = 0.8, 0.5
# Requests behind a rate.
MIN_REQUESTS = 20
# Levels with a rate that make a trend.
MIN_LEVELS = 3


class Reuse(Struct, frozen=True):
    """One level: share of prompt tokens that could be reused, and share that was.

    ``told`` is unset where nobody says what could be reused, so that the lightest level of the same sweep has to.
    """

    step: BenchStep
    offered: float
    found: float
    told: bool = True

    @property
    def kept(self) -> float:
        """Found by offered."""
        return self.found / self.offered


def outcome(facts: Facts) -> Outcome:
    """Fire where offered reuse is lost as load grows (evicted), where caching is off, or without a proof as a remark."""
    runs = bench.measured(facts)
    off = [r for r in runs if r.prefix_caching is False and _shared(r) >= OFFERED]
    if off:
        return Fired((_disabled(facts, off[0]),))
    known = [(r, levels) for r in runs if (levels := _levels(r))]
    if not known:
        how = "give a result with cached tokens (aiperf, SGLang --cache-report) and what the prompts share"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("cached prompt tokens", "shared prefix"), how)
    evicted = [(r, x) for r, x in known if _is_lost_with_load(x)]
    if evicted:
        return Fired(
            (_evicted(facts, *max(evicted, key=lambda e: e[1][0].kept - min(x.kept for x in e[1]))),)
        )
    low = [(r, x) for r, levels in known for x in levels if x.told and x.kept <= LOST]
    if low:
        return Fired((_unknown(facts, *min(low, key=lambda e: e[1].kept)),))
    return Passed()


def _shared(run: BenchRun) -> float:
    """Share of a prompt that it shares with others by design; 0 when nothing is known of it."""
    lengths = [v for s in bench.levels(run) if (v := s.stat("input_len", "mean"))]
    if not run.shared_prefix_tokens or not lengths or (run.distinct_prompts or MIN_REQUESTS) < 2:
        return 0.0
    return min(1.0, run.shared_prefix_tokens / (sum(lengths) / len(lengths)))


def _levels(run: BenchRun) -> list[Reuse]:
    """Levels with both figures, lightest first; a level with tokens from a store beside the GPU is none of its cache."""
    found: list[Reuse] = []
    for step in sorted(bench.served(run), key=lambda s: s.concurrency_cap or s.requested_rps or 0.0):
        offered = step.extra.get("theoretical_cache_hit")
        offered = float(offered) if isinstance(offered, int | float) else _shared(run)
        told = bool(offered)
        if not told:
            offered = found[0].found if found else step.cache_hit or 0.0
        if step.cache_hit is None or offered < OFFERED or (step.completed or MIN_REQUESTS) < MIN_REQUESTS:
            continue
        found.append(Reuse(step, offered, step.cache_hit, told))
    return found


def _is_lost_with_load(levels: list[Reuse]) -> bool:
    """Whether reuse works at the lightest load and is lost, without coming back, above some other."""
    if len(levels) < MIN_LEVELS or levels[0].kept < KEPT:
        return False
    lost = [x.kept <= LOST for x in levels]
    return lost[-1] and all(lost[lost.index(True) :])


def _evicted(facts: Facts, run: BenchRun, levels: list[Reuse]) -> Draft:
    first = next(x for x in levels if x.kept <= LOST)
    before = [x for x in levels if x.kept > LOST][-1]
    curve = ", ".join(
        f"{words.percent(x.found)} at {bench.load(x.step)}" for x in (levels[0], before, first, levels[-1])
    )
    loud = sum(x.kept <= LOST for x in levels) > 1
    least = "" if first.told else "at least "
    return _draft(
        facts, run, first, variant="evicted", loud=loud,
        summary=f"The prefix cache loses its reuse between {bench.load(before.step)} and {bench.load(first.step)}: "
        f"{words.percent(before.found)} of prompt tokens were found, then {words.percent(first.found)}",
        explanation=f"The requests would allow {least}{words.percent(first.offered)}. Found: {curve}. The same traffic is "
        "served from the cache at lighter load, so the blocks are there and are evicted before they are used again: the "
        "working set of all sessions is larger than the pool.",
        remedy=Remedy("Keep fewer sessions on a replica, or send each session to the replica that has its blocks; a larger pool "
                      "(more memory, KV offload, FP8 KV) moves the point.", "now", expected="reuse returns",
                      risk="less load on a replica", undo="the old limit"),
        do_not="Do not raise the concurrency further: every added session evicts another one's blocks.",
        because="reuse falls with load on the same traffic",
    )  # fmt: skip


def _unknown(facts: Facts, run: BenchRun, seen: Reuse) -> Draft:
    return _draft(
        facts, run, seen, variant="unknown", loud=False,
        summary=f"{words.percent(seen.found)} of prompt tokens were found in the prefix cache; the requests would allow "
        f"{words.percent(seen.offered)}",
        explanation="Whether the front of the prompts differs, the shared part is shorter than a block or the blocks were evicted "
        "is not in the result.",
        remedy=Remedy("Repeat at the lightest load: if reuse returns, the pool is too small; if not, the prompts differ at their "
                      "front.", "now", expected="the variant is known", risk="one more run"),
        do_not="Do not buy memory before the light load was tried.",
        because="one load only",
    )  # fmt: skip


def _disabled(facts: Facts, run: BenchRun) -> Draft:
    step = next(iter(bench.levels(run)), BenchStep())
    return _draft(
        facts, run, Reuse(step, _shared(run), 0.0), variant="disabled", loud=True,
        summary="Prefix caching is off, and the benchmark's prompts share "
        f"{words.percent(_shared(run))} of their tokens",
        explanation="Every prompt is computed from its first token, also where it repeats an earlier one.",
        remedy=Remedy("Switch prefix caching on.", "next-rollout", True, expected="shared prefixes are computed once",
                      risk="none known for correctness", undo="switch it off again"),
        do_not="Do not compare with a server that caches without naming this.",
        because="the configuration and the shared length are known",
    )  # fmt: skip


def _draft(
    facts: Facts, run: BenchRun, seen: Reuse, *, variant: str, loud: bool, summary: str, explanation: str, remedy: Remedy,
    do_not: str, because: str,
) -> Draft:  # fmt: skip
    lost = max(0.0, seen.offered - seen.found)
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.CAUSE if loud else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        variant=variant,
        summary=summary,
        explanation=explanation,
        evidence=(
            bench.evidence(run, seen.step, "cached prompt tokens", "by those offered", seen.kept, "ratio", "<=", LOST),
        ),
        chart=ChartHint(("prefix_queries", "prefix_hits"), {}),
        impact=Impact(f"{words.percent(lost)} of prompt tokens are computed again", round(lost, 3), "ratio",
                      "offered less found"),
        remedies=(remedy,),
        do_not=(do_not,),
        refuted_by="The prompts do not share what the benchmark says they share.",
        margin=min(1.0, 1 - seen.kept / LOST),
        weakest=Resolution.RANGE,
        explains=("past-saturation-knee",) if loud and bench_knee.of_run(run) is not None else (),
        because=because,
        confidence_cap=0.85 if loud else 0.4,
    )  # fmt: skip
