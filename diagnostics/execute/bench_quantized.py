"""Which half of a quantization's validation a benchmark brings, and which is missing."""

from __future__ import annotations

from diagnostics.execute import bench, bench_pairs
from diagnostics.execute.bench_pairs import NOISE, Pair
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired
from diagnostics.model.bench import BenchRun
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.samples import Resolution

# Open requests from which a comparison is one under load.
LOADED = 16.0
# Both halves of a validation: quality, and serving under load.
HALVES = 2.0


def outcome(facts: Facts) -> Fired | None:
    """Remind of the missing half where a run has quantized weights; None where none has."""
    runs = bench.measured(facts)
    quantized = [r for r in runs if _is_quantized(r)]
    if not quantized:
        return None
    pairs = bench_pairs.pairs(
        bench.sides(facts), bench_pairs.is_sixteen_bit, _is_quantized, ("weight_format", "model")
    )
    loaded = [p for p in pairs if p.points[-1].load >= LOADED]
    pair = next(iter(loaded or pairs), None)
    return Fired((_draft(facts, quantized[0], pair, under_load=bool(loaded)),))


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


def _draft(facts: Facts, run: BenchRun, pair: Pair | None, *, under_load: bool) -> Draft:
    held = 1.0 if under_load else 0.0
    missing = "the quality half is missing" if under_load else "both halves of its validation are missing"
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"The weights of a run are quantized ({run.weight_format}), and {missing}",
        explanation=f"{_serving(pair, under_load)} Quality: no evaluation of both models on the same tasks is here. Neither half "
        "replaces the other.",
        evidence=(
            bench.evidence(run, None, "halves of the validation", "in these inputs", held, "results", "<", HALVES,
                           bench.provenance(run, "weight_format")),
        ),
        chart=ChartHint(("itl", "generation_tokens"), {}),
        impact=Impact("quality against full precision is not known", None, "", "nothing measured here"),
        remedies=(
            Remedy("Run the same tasks on both models, for example lm_eval --model local-completions --tasks gsm8k,ifeval, "
                   "and the failures that users reported.", "now", expected="the quality half", risk="GPU time"),
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
        because="only the absence of results in these inputs speaks for it",
        confidence_cap=0.4,
    )  # fmt: skip
