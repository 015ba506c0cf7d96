"""Which half of a quantization's validation a benchmark brings, and which is missing."""

from __future__ import annotations

from msgspec import Struct

from diagnostics.execute import bench, bench_pairs, bench_quality, words
from diagnostics.execute.bench_pairs import NOISE, Pair
from diagnostics.execute.bench_quality import Quality
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Passed
from diagnostics.model.bench import BenchRun
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.samples import Resolution

# Open requests from which a comparison is one under load.
LOADED = 16.0
# Both halves of a validation: quality, and serving under load.
HALVES = 2.0


class Halves(Struct, frozen=True):
    """What these inputs hold: a pair of serving runs (and whether it is under load), and a pair of evaluations."""

    pair: Pair | None
    under_load: bool
    quality: Quality | None

    @property
    def held(self) -> int:
        """How many halves are there."""
        return int(self.under_load) + int(self.quality is not None)

    @property
    def losses(self) -> list[str]:
        """What got worse with quantized weights, in words."""
        found = [f"{x.task} falls from {x.full:.3f} to {x.quantized:.3f}" for x in (
            self.quality.scores if self.quality else ()) if x.lost]  # fmt: skip
        if self.pair is not None and self.under_load and self.pair.points[-1].ratio < 1 - NOISE:
            found.append(f"output falls to {words.percent(self.pair.points[-1].ratio)} of that in 16 bit")
        return found


def outcome(facts: Facts) -> Fired | Passed | None:
    """Remind of a missing half, or tell a loss, where weights are quantized; None where no result says so."""
    quality = bench_quality.compare(facts)
    quantized = [r for r in bench.measured(facts) if _is_quantized(r)]
    if not quantized and quality is None:
        return None
    about = ("weight_format", "model")
    pairs = bench_pairs.pairs(bench.sides(facts), bench_pairs.is_sixteen_bit, _is_quantized, about)
    loaded = [p for p in pairs if p.points[-1].load >= LOADED]
    halves = Halves(next(iter(loaded or pairs), None), bool(loaded), quality)
    if halves.held == HALVES and not halves.losses:
        return Passed()
    run = quantized[0] if quantized or quality is None else quality.quantized
    return Fired((_draft(facts, run, halves),))


def _is_quantized(run: BenchRun) -> bool:
    word = (run.weight_format or "").lower()
    return bool(word) and word not in (*bench_pairs.SIXTEEN_BIT, "fp32", "float32", "unknown", "auto")


def _serving(pair: Pair | None, under_load: bool) -> str:
    """What the serving half says, in words."""
    if pair is None:
        return "Serving: no run of the same work in 16 bit is beside it."
    loss = pair.points[-1].ratio < 1 - NOISE
    verdict = "a loss at the highest load" if loss else "no loss at the highest load"
    said = f"Serving: output by that in 16 bit is {bench_pairs.curve(pair)}, {verdict}."
    if pair.confounders:
        said += f" The runs also differ in: {', '.join(pair.confounders)}."
    return said if under_load else f"{said} This is not the load of production."


def _quality(quality: Quality | None) -> str:
    """What the quality half says, in words."""
    if quality is None:
        return "Quality: no evaluation of both models on the same tasks is here."
    shown = ", ".join(f"{x.task} {x.full:.3f} and {x.quantized:.3f}" for x in quality.scores[:4])
    noise = "" if quality.proved else " Without standard errors a difference cannot be told from noise."
    return f"Quality, in 16 bit and quantized: {shown}.{noise}"


def _missing(halves: Halves) -> str:
    if halves.losses:
        return "; ".join(halves.losses)
    if not halves.held:
        return "both halves of its validation are missing"
    return "the quality half is missing" if halves.under_load else "the serving half is missing"


def _draft(facts: Facts, run: BenchRun, halves: Halves) -> Draft:
    under_load = halves.under_load
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"The weights of a run are quantized ({run.weight_format}), and {_missing(halves)}",
        explanation=f"{_serving(halves.pair, under_load)} {_quality(halves.quality)} Neither half replaces the other.",
        evidence=(
            bench.evidence(run, None, "halves of the validation", "in these inputs", float(halves.held), "results", "<", HALVES,
                           bench.provenance(run, "weight_format")),
        ),
        chart=ChartHint(("itl", "generation_tokens"), {}),
        impact=Impact("; ".join(halves.losses) or "what it costs is not fully known", None, "", "results in these inputs"),
        remedies=(
            *(() if halves.quality else (
                Remedy("Run the same tasks on both models, and the failures that users reported.", "now",
                       suggested="lm_eval --model local-completions --tasks gsm8k,ifeval --output_path results",
                       expected="the quality half", risk="GPU time"),)),
            *(() if under_load else (
                Remedy("Run the same load at production's concurrency on both models.", "now",
                       suggested="vllm bench serve --max-concurrency 64 --save-result --save-detailed",
                       expected="the serving half", risk="GPU time"),)),
            Remedy("Then a canary: 5 % of traffic for a day, rolled back when time to first token or a task score breaks its "
                   "SLO, the old replica kept warm.", "next-rollout", expected="losses are seen by few",
                   risk="two kinds of replica at once", undo="route all traffic to the old replica"),
        ),
        do_not=("Do not take the publisher's scores for your task.",),
        refuted_by="Both comparisons are on record for this checkpoint, engine release and concurrency.",
        margin=1.0,
        weakest=Resolution.SNAPSHOT,
        because="both sides are measured" if halves.losses else "only the absence of results in these inputs speaks for it",
        confidence_cap=0.8 if halves.losses else 0.4,
    )  # fmt: skip
