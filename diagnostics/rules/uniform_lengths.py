"""The benchmark has no length tail (S21, S06).

Real traffic mixes short and very long requests; the long ones clog a batch and make the tail. With constant lengths
nothing of that happens. Not this where either length varies; a length that only a table, a name or a remark states is a remark.
"""

from __future__ import annotations

from msgspec import Struct

from diagnostics.execute import bench, bench_shape, words
from diagnostics.execute.bench_shape import NEARLY_CONSTANT, Length
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

# Load levels from which a run is a sweep: its lengths are held on purpose, and its curve is what matters.
SWEEP_LEVELS = 3
# How a setting says that a line of a log told it.
_LOG_LINE = "start-up line"


class Flat(Struct, frozen=True):
    """A run, a level of it, and both constant lengths."""

    run: BenchRun
    step: BenchStep
    given: Length
    made: Length

    @property
    def is_assumed(self) -> bool:
        """Whether only a table, a name or a remark tells one of the lengths."""
        told = self.run.format != bench.TABLE or self.given.source is self.made.source is Provenance.MEASURED
        return not told or Provenance.ASSUMED in (self.given.source, self.made.source)


def evaluate(facts: Facts) -> Outcome:
    """Fire where both lengths are constant in a run, or in the command of one."""
    runs = [r for r in bench.measured(facts) if _is_a_load(r)]
    flat = [f for r in runs if (f := _flat(r)) is not None]
    if flat:
        return Fired((_draft(facts, flat, len(runs)),))
    asked = _asked(facts)
    if asked is not None:
        return Fired((asked,))
    if not facts.runs:
        return bench.nothing()
    if not runs or not any(_known(r) for r in runs):
        how = "give the benchmark's command, or its result with per-request lengths (--save-detailed)"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("input and output lengths",), how)
    return Passed()


def _is_a_load(run: BenchRun) -> bool:
    return any(s.load_mode != "single-stream" for s in bench.levels(run))


def _known(run: BenchRun) -> bool:
    return any(s.stat(f"{side}_len", "mean") for s in bench.levels(run) for side in ("input", "output"))


def _flat(run: BenchRun) -> Flat | None:
    """The run's level with constant lengths, when no level has other ones."""
    found = []
    for step in bench.levels(run):
        given, made = (bench_shape.constant_length(run, step, side) for side in ("input", "output"))
        if given is None or made is None:
            return None
        found.append(Flat(run, step, given, made))
    return found[0] if found else None


def _asked(facts: Facts) -> Draft | None:
    """The lengths that a benchmark's command asks for, where no result is beside it; loud where it is seen to have run."""
    for i in range(facts.size):
        lengths = [
            n for side in ("input", "output")
            if (n := facts.number(i, f"bench_{side}_len", f"bench_random_{side}_len")) is not None
        ]  # fmt: skip
        if len(lengths) == 2 and not facts.number(i, "bench_random_range_ratio") and not facts.runs:
            run = BenchRun("command", "bench-command", "benchmark")
            source = Provenance.CONFIGURED if _has_run(facts, i) else Provenance.ASSUMED
            given, made = (Length(n, 0.0, source) for n in lengths)
            return _draft(facts, [Flat(run, BenchStep(), given, made)], 1)
    return None


def _has_run(facts: Facts, i: int) -> bool:
    """Whether the engine said something itself: a command alone may never have been run."""
    return any(s.where.startswith(_LOG_LINE) for s in facts.settings[i].values())


def _evidence(flat: Flat) -> tuple[Evidence, ...]:
    return tuple(
        bench.evidence(flat.run, flat.step, what, "deviation by mean", length.variation, "ratio", "<=", NEARLY_CONSTANT,
                       length.source)
        for what, length in (("input length", flat.given), ("output length", flat.made))
    )  # fmt: skip


def _draft(facts: Facts, flat: list[Flat], total: int) -> Draft:
    proved = [f for f in flat if not f.is_assumed]
    first = (proved or flat)[0]
    which = bench.several([f.run for f in proved or flat], total)
    lengths = f"{words.number(first.given.tokens)} tokens in and {words.number(first.made.tokens)} out"
    return Draft(
        severity=Severity.WARNING if proved else Severity.INFO,
        role=Role.ADVICE if not proved or len(bench.levels(first.run)) >= SWEEP_LEVELS else Role.CAUSE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"Every request of {which} has the same length ({lengths}), so no long request ever clogs a batch",
        explanation="Real requests differ in length by orders of magnitude. With constant lengths the batch never holds "
        "one long request beside many short ones, answers end together, and the tail that clients feel does not form.",
        evidence=_evidence(first),
        chart=ChartHint(("prompt_tokens_per_request", "generation_tokens_per_request"), {}),
        impact=Impact("tail latency and usable concurrency look better than production will see", None, "",
                      "no spread of lengths"),
        remedies=(
            Remedy("Repeat the run with production's length distribution: a real data set, or a wide range around the mean.", "now",
                   flag="--random-range-ratio", suggested="0.8 (vllm bench serve)",
                   expected="percentiles that hold for mixed requests", risk="none for the server",
                   undo="use the fixed lengths again, to compare like with like"),
        ),
        do_not=("Do not promise a p99 from this run.",),
        refuted_by="Production's requests have one length, too.",
        margin=1.0,
        weakest=Resolution.RANGE,
        because="both lengths are constant",
        confidence_cap=1.0 if proved else 0.5,
    )  # fmt: skip


RULE = Rule(
    code="BEN002",
    slug="uniform-lengths",
    title="The benchmark has no length tail",
    family="benchmark",
    concepts=("S21", "S06"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"deviation of lengths by their mean": (NEARLY_CONSTANT, "ratio")},
)
