"""Quantizing at start-up instead of loading a prequantized checkpoint (S24).

Weights are then read in full size and converted at each start, and the kernel is usually a slower one. FP8 is
the stated exception: it quantizes quickly and lands on a fast kernel. Nor is this a checkpoint that is
quantized already and only laid out anew for a kernel ("convertible to gptq_marlin during runtime").
"""

from __future__ import annotations

from diagnostics.execute import deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

# Schemes that convert full-precision weights while loading; the FP8 family is left out on purpose.
ONLINE = (
    "bitsandbytes", "bitsandbytes-nf4", "bitsandbytes-fp4", "eetq", "experts_int8", "torchao", "quanto",
    "rtn", "tpu_int8",
    "int8_per_channel_weight_only", "nvfp4_per_token", "hqq",
)  # fmt: skip
# s; loading that long shows the cost; shorter starts only have the slower kernel.
LONG_LOAD = 60.0


def evaluate(facts: Facts) -> Outcome:
    """Fire where a scheme that converts at start is asked of a checkpoint that does not name it."""
    looked = False
    for i in range(facts.size):
        asked = deployment.weights_format(facts, i)
        if asked is not None and asked.online and asked.name in ONLINE:
            return Fired((_draft(facts, i, asked),))
        looked = looked or asked is not None or deployment.has_whole_configuration(facts, i)
    return (
        Passed()
        if looked
        else Unanswered(
            Reason.NOT_CONFIGURED, ("quantization",), "give the launch command or the start-up log"
        )
    )


def _draft(facts: Facts, i: int, asked: deployment.Format) -> Draft:
    label = facts.entities[i].label
    loads = [
        float(e.fields["seconds"])
        for e in deployment.events(facts, "stage")
        if e.fields.get("stage") == "load-weights"
    ]
    load = max(loads, default=0.0)
    took = f"; loading took {words.seconds(load)}" if load >= LONG_LOAD else ""
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=(i,),
        window=Window(None, None),
        summary=f"Weights are quantized at each start ({asked.name}) instead of loaded in that format{took}",
        explanation="The full-precision weights pass network, disk and host first, are converted, and mostly "
                    "end on a slower kernel than a prequantized checkpoint has.",
        evidence=(
            Evidence("quantization at start", asked.where, 1.0, "0/1", "=", 1.0, label, asked.provenance),
            *((Evidence("load-weights", "printed", load, "s", ">=", LONG_LOAD, label,
                        Provenance.MEASURED),) if took else ()),
        ),
        chart=ChartHint(()),
        impact=Impact("longer starts, and a slower kernel for the life of the "
                      "replica", load or None, "s" if load else "",
                      "printed load time" if load else "not measured"),
        remedies=(
            Remedy("Avoid restarts and scale up earlier, until the checkpoint is changed.", "now",
                   expected="nobody waits for a start", risk="cost of replicas kept up"),
            Remedy("Load a prequantized checkpoint (AWQ, GPTQ, or FP8 where the GPU has "
                   "it) without the flag.",
                   "next-rollout", True, facts.engine, "--quantization", asked.name, "from the checkpoint",
                   "short starts and a fast kernel", "another method has another quality: validate "
                                                     "it", "the old two arguments"),
        ),
        do_not=("Do not drop quantization only to start faster: full weights take the memory that the KV "
                "cache needs.",),
        refuted_by="The checkpoint is quantized already and the flag only repeats its format.",
        margin=1.0,
        weakest=Resolution.SNAPSHOT,
        because="the flag is set and the checkpoint's name says no format",
    )  # fmt: skip


RULE = Rule(
    code="QNT003",
    slug="startup-quantization",
    title="Quantizing at start-up instead of loading a prequantized checkpoint",
    family="quantization",
    concepts=("S24",),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"load time that shows the cost": (LONG_LOAD, "s")},
)
