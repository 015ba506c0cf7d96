"""GPU clocks are held down by heat, power or errors (S20).

A GPU lowers its clocks to stay inside its limits, and every step takes longer. Running at the power limit
with clocks near their best is normal under load, and an idle GPU lowers its clocks on purpose; neither is
this.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from diagnostics.execute import courses, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Support
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# Share of the time with clocks held down. Source: less than a tenth cannot be felt in a mean.
HELD_SHARE = 0.1
# Mean clock by the best clock seen on any GPU of the deployment; above it a power limit costs little.
LOW_CLOCK = 0.8
# The driver's bits: hardware slowdown, heat by software and by hardware, power brake; and the power limit.
HEAT_BITS, BRAKE_BITS, POWER_BIT = 32 | 64, 8 | 128, 4
# Errors of memory, link or device, and none of the application's. Source: NVIDIA's list of XID errors.
HARDWARE_XIDS = frozenset({48, 62, 63, 64, 74, 79, 92, 94, 95, 119, 120})


class Held(Struct, frozen=True):
    """One GPU that is held down: replica, GPU, why, the number that says so, its unit and limit."""

    replica: int
    gpu: str
    why: str
    signal: str
    value: float
    unit: str
    limit: float
    clock: float


def evaluate(facts: Facts) -> Outcome:
    """Fire from throttle reasons, violation time or a new driver error while requests run."""
    busy = facts.column("running", Stat.MAX) > 0
    held = [h for i in range(facts.size) for h in _gpus(facts, i, bool(busy[i]))]
    return Fired((_draft(facts, held),)) if held else Passed()


def _gpus(facts: Facts, i: int, busy: bool) -> list[Held]:
    heat, brake = (
        courses.share_with_bits(facts, "gpu_throttle", bits)[i] for bits in (HEAT_BITS, BRAKE_BITS)
    )
    limit = courses.share_with_bits(facts, "gpu_throttle", POWER_BIT)[i]
    best = max(
        (
            float(np.nan_to_num(facts.column("gpu_sm_clock", Stat.MAX, key=k)).max())
            for k in facts.keys("gpu_sm_clock")
        ),
        default=0.0,
    )
    observed = facts.courses[i].observed
    found = []
    for gpu in dict.fromkeys(
        k
        for s in ("gpu_throttle", "gpu_throttle_thermal", "gpu_throttle_power", "gpu_xid")
        for k in facts.keys(s)
    ):
        clock = float(facts.column("gpu_sm_clock", Stat.MEAN, key=gpu)[i]) / best if best else float("nan")
        hot = max(heat.get(gpu, 0.0), _share(facts, "gpu_throttle_thermal", gpu, i, observed))
        power = max(limit.get(gpu, 0.0), _share(facts, "gpu_throttle_power", gpu, i, observed))
        first, last = (float(facts.column("gpu_xid", s, key=gpu)[i]) for s in (Stat.MIN, Stat.LAST))
        if busy and hot >= HELD_SHARE:
            found.append(Held(i, gpu, "heat", "gpu_throttle_thermal", hot, "ratio", HELD_SHARE, clock))
        elif busy and brake.get(gpu, 0.0) >= HELD_SHARE:
            found.append(
                Held(
                    i,
                    gpu,
                    "a hardware slowdown or power brake",
                    "gpu_throttle",
                    brake[gpu],
                    "ratio",
                    HELD_SHARE,
                    clock,
                )
            )
        elif busy and power >= HELD_SHARE and clock <= LOW_CLOCK:
            found.append(
                Held(i, gpu, "a power limit", "gpu_throttle_power", power, "ratio", HELD_SHARE, clock)
            )
        elif last != first and last in HARDWARE_XIDS:
            found.append(Held(i, gpu, f"driver error XID {last:.0f}", "gpu_xid", last, "code", last, clock))
    return found


def _share(facts: Facts, signal: str, gpu: str, i: int, observed: float) -> float:
    grown = float(np.nan_to_num(facts.increase(signal, key=gpu)[i]))
    return grown / observed if observed > 0 else 0.0


def _draft(facts: Facts, held: list[Held]) -> Draft:
    worst = max(held, key=lambda h: (h.signal == "gpu_xid", h.value))
    hit = tuple(dict.fromkeys(h.replica for h in held))
    error = worst.signal == "gpu_xid"
    temp = float(facts.column("gpu_temp", Stat.MAX, key=worst.gpu)[worst.replica])
    name = facts.entities[worst.replica].label
    clock = (
        ""
        if np.isnan(worst.clock)
        else f" Its mean clock is {words.percent(worst.clock)} of the best one seen."
    )
    what = (
        f"reported {worst.why}"
        if error
        else f"was held down by {worst.why} for {words.percent(worst.value)} of the time"
    )
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None if error else min(1.0, worst.value)),
        summary=(
            f"GPU {worst.gpu} of {name} {what}" + (f" ({len(held)} GPUs in all)" if len(held) > 1 else "")
        ),
        explanation=(
            (f"{'' if np.isnan(temp) else f'It reached {words.number(temp)} degrees C.'}{clock} Decoding "
             "follows the memory and prefill the clocks, and with tensor parallelism the whole group waits "
             "for its slowest GPU.").strip()
        ),
        evidence=(
            Evidence(worst.signal, "new code" if error else "share of time", round(worst.value, 3),
                     worst.unit, "=" if error else ">=", worst.limit, f"{name} GPU {worst.gpu}",
                     Provenance.MEASURED),
            *((Evidence("gpu_sm_clock", "mean by the best clock", round(worst.clock, 3), "ratio", "<=",
                        LOW_CLOCK if worst.why == "a power limit" else None, f"{name} GPU {worst.gpu}",
                        Provenance.MEASURED),) if worst.clock > 0 else ()),
        ),
        chart=ChartHint(("itl", "running", "generation_tokens"), {}),
        impact=Impact("steps take longer on this replica", None, "", "clocks; the step time follows them"),
        remedies=(
            Remedy("Route traffic away from the replica or lower its weight; after an error of memory "
                   "or link, drain the node.", "now",
                   expected="the card cools, other replicas answer at full speed",
                   risk="the other replicas carry its load", undo="restore the weight"),
            Remedy("Check fans and air, and the power limit that is set on the card against its default.",
                   "next-rollout", expected="clocks return to their best",
                   risk="a higher limit needs the rack's supply", undo="set the limit back"),
        ),
        do_not=(
            "Do not enlarge the batch to make up for it: it draws more power and lowers the clocks further.",
            "Do not take GPU utilization as proof of health: it stays near 100 % at any clock.",
        ),
        refuted_by="Clocks are near their best while requests run, or low only while the GPU is idle.",
        margin=1.0 if error else min(1.0, worst.value / HELD_SHARE - 1),
        weakest=max(facts.resolution[worst.replica], Resolution.PAIR),
        verify=(
            Request("gpu_sm_clock", Stat.MEAN),
            Request("gpu_throttle_thermal", Stat.INCREASE),
            Request("gpu_xid", Stat.MAX),
        ),
        explains=("replica-outlier", "decode-bound"),
        because="the driver's own record",
    )  # fmt: skip


RULE = Rule(
    code="HWD001",
    slug="gpu-throttled",
    title="GPU clocks are held down by heat, power or errors",
    family="hardware",
    concepts=("S20",),
    needs=(
        Need(("gpu_throttle", "gpu_throttle_thermal", "gpu_throttle_power", "gpu_xid"),
             how_to_get="give the DCGM exporter's series with the pod's label; reasons and violations must "
             "be enabled there"),
    ),
    evaluate=evaluate,
    support=Support.SOURCE,
    full=Resolution.PAIR,
    thresholds={"time with clocks held down": (HELD_SHARE, "ratio"), "mean clock by the best": (LOW_CLOCK,
                "ratio")},
)  # fmt: skip
