"""What a sweep over tensor-parallel degrees gains, where the link between the GPUs is known to be slow."""

from __future__ import annotations

import itertools

from msgspec import Struct

from diagnostics.capacity.hardware import match_gpus
from diagnostics.execute import bench, bench_compare
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Unanswered
from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.model.findings import ChartHint, Impact, Remedy, Role, Severity
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

# Gain by the ideal one, below which the link is suspected; inside NVLink degrees of 2 to 8 reach 0.7 and more at light load.
EFFICIENCY = 0.6
# Loads in common that make a trend.
MIN_LOADS = 3
SLOW = ("pcie", "network")
FAST = ("nvlink", "nvswitch", "infinity fabric", "xgmi")


class Scaling(Struct, frozen=True):
    """Two degrees over the loads that both have: gain by the ideal gain at each, lightest first."""

    few: BenchRun
    many: BenchRun
    points: tuple[tuple[BenchStep, float], ...]
    repeated: bool
    others: tuple[str, ...]

    @property
    def best(self) -> float:
        """The best efficiency over the loads."""
        return max(share for _, share in self.points)


def outcome(facts: Facts) -> Outcome:
    """Fire where more GPUs in a group bring far less than their number and the link between them is slow."""
    runs = [r for r in bench.measured(facts) if r.tp]
    found = [
        s
        for a, b in itertools.permutations(runs, 2)
        if (a.tp or 0) < (b.tp or 0) and (s := _scaling(a, b)) is not None
    ]
    if not found:
        how = "give results of the same work at two tensor-parallel degrees, and the GPU"
        return Unanswered(Reason.NOT_IN_THIS_INPUT, ("two tensor-parallel degrees",), how)
    asked = facts.options.gpu
    linked = [(s, source) for s in found if (source := slow_link(s.many, asked)) is not None]
    hit = [(s, source) for s, source in linked if s.best < EFFICIENCY]
    if hit:
        return Fired((_draft(facts, *min(hit, key=lambda x: (len(x[0].others), x[0].best))),))
    if linked or all(_is_fast(s.many, asked) for s in found):
        return Passed()
    return Unanswered(
        Reason.NOT_IN_THIS_INPUT, ("link between the GPUs",), "name the GPU (--gpu 'L40S'): its link decides"
    )


def slow_link(run: BenchRun, asked: str | None) -> Provenance | None:
    """How it is known that the group crosses a slow link; None when it does not, or that is not known.

    Args:
        run: the run with the group.
        asked: the GPU as the user named it, where the run does not.
    """
    told = (run.interconnect or "").lower()
    if any(word in told for word in SLOW):
        return bench.provenance(run, "interconnect")
    if told and told != "unknown":
        return None
    rows = match_gpus(run.gpu_model or asked or "")
    return Provenance.INFERRED if rows and all((run.tp or 1) > gpu.fast_domain for gpu in rows) else None


def _is_fast(run: BenchRun, asked: str | None) -> bool:
    if any(word in (run.interconnect or "").lower() for word in FAST):
        return True
    rows = match_gpus(run.gpu_model or asked or "")
    return bool(rows) and all((run.tp or 1) <= gpu.fast_domain for gpu in rows)


def _scaling(few: BenchRun, many: BenchRun) -> Scaling | None:
    """Gain of the larger degree at equal load; None for other work or another machine."""
    if few.tool != many.tool or (few.gpu_model or "") != (many.gpu_model or "") or few.model != many.model:
        return None
    ideal = (many.tp or 1) / (few.tp or 1)
    points, repeated = [], True
    for mine, theirs in bench_compare.matched(few, many):
        gains = [g for g in (_faster(mine, theirs), _more(mine, theirs)) if g is not None]
        if gains:
            points.append((theirs[0], max(gains) / ideal))
            repeated = repeated and min(len(mine), len(theirs)) > 1
    if not points:
        return None
    points.sort(key=lambda x: x[0].concurrency_cap or x[0].batch_size or x[0].requested_rps or 0.0)
    meant = ("tp", "gpus", "engine_args")
    others = tuple(d for d in bench_compare.differences(few, many) if d not in meant)
    return Scaling(few, many, tuple(points), repeated, others)


def _faster(few: list[BenchStep], many: list[BenchStep]) -> float | None:
    """Time a token with few GPUs by that with many."""
    one, other = (_mean([v for s in side if (v := bench.central(s, "tpot"))]) for side in (few, many))
    return one / other if one and other else None


def _more(few: list[BenchStep], many: list[BenchStep]) -> float | None:
    """Output with many GPUs by that with few; an open-loop level serves its rate whatever it could do."""
    if few[0].load_mode in ("open", "open-capped"):
        return None
    one, other = (_mean([s.output_tps or s.total_tps or 0.0 for s in side]) for side in (few, many))
    return other / one if one and other else None


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _draft(facts: Facts, seen: Scaling, source: Provenance) -> Draft:
    loud = (len(seen.points) >= MIN_LOADS or seen.repeated) and not seen.others
    ideal = (seen.many.tp or 1) / (seen.few.tp or 1)
    step, best = max(seen.points, key=lambda x: x[1])
    said = ", ".join(f"{ideal * share:.2f} at {bench.load(s) or 'this load'}" for s, share in seen.points[:4])
    apart = f" The runs also differ in: {', '.join(seen.others)}." if seen.others else ""
    thin = "" if len(seen.points) >= MIN_LOADS or seen.repeated else (
        " Single means at few loads carry no verdict: repeat both at three loads."
    )  # fmt: skip
    return Draft(
        severity=Severity.WARNING if loud else Severity.INFO,
        role=Role.CAUSE if loud else Role.ADVICE,
        replicas=tuple(range(facts.size)),
        window=bench.no_window(),
        summary=f"{seen.many.tp} GPUs in a tensor-parallel group bring {ideal * best:.2f} times what {seen.few.tp} bring, at "
        "best, over a slow link",
        explanation=f"Gain from {ideal:g} times the GPUs: {said}. Two all-reduces a layer lie on the path of every token, and "
        f"these GPUs share no fast link.{apart}{thin}",
        evidence=(
            bench.evidence(seen.many, step, "gain by the ideal gain", "best over the loads", best, "ratio", "<", EFFICIENCY),
            bench.evidence(seen.many, step, "GPUs in one tensor-parallel group", "degree", float(seen.many.tp or 0), "GPUs", ">",
                           1.0, source),
        ),
        chart=ChartHint(("itl", "generation_tokens")),
        impact=Impact("added GPUs wait for the link", round(ideal * best, 2), "x throughput", f"{ideal:g} times the GPUs"),
        remedies=(
            Remedy(f"Serve with {seen.few.tp} GPUs a group and more replicas where the model fits; measure both at the load of "
                   "production.", "next-rollout", True, current=str(seen.many.tp), suggested=str(seen.few.tp),
                   expected="more tokens per GPU", risk="less room for KV cache in each", undo="the old degree"),
            Remedy("Route latency-critical traffic to replicas inside an NVLink domain.", "now",
                   expected="the cost of the link is avoided there", risk="none"),
        ),
        do_not=("Do not raise the degree to win latency across PCIe: each GPU adds to every all-reduce.",),
        refuted_by="nvidia-smi topo -m shows NVLink between the GPUs of a group.",
        margin=min(1.0, 1 - best / EFFICIENCY),
        weakest=Resolution.RANGE,
        because="measured at both degrees" if loud else "few loads, or more than the degree differs",
        confidence_cap=0.85 if loud else 0.4,
    )  # fmt: skip
