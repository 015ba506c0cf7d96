"""The number format has no hardware support on this GPU (S15).

FP8 units exist from Ada and Hopper on, FP4 units from Blackwell on, bf16 from Ampere on. Asked of an older
GPU, a format is refused or emulated. Variant ``weight-only``: a Marlin-class kernel stores the small format
and computes in 16 bit, which saves memory and is only a remark. Not this when the GPU has the format,
whatever a generic warning in the log says.
"""

from __future__ import annotations

from diagnostics.capacity import hardware
from diagnostics.execute import deployment
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

# First compute capability with units for the format, as the vendor's data sheets have it.
FIRST_CAPABILITY = {"fp8": 8.9, "fp4": 10.0, "bf16": 8.0}
# Capability from which INT8 and Marlin kernels are at home (S15), for what to serve instead.
AMPERE = 8.0
_WARNINGS = ("no-native-fp8", "marlin-fallback")
_SHOWN = {"fp8": "FP8", "fp4": "FP4", "bf16": "bfloat16"}


def evaluate(facts: Facts) -> Outcome:
    """Hold the format that is asked for against the GPU; the log only says what became of it."""
    warned = deployment.events(facts, *_WARNINGS)
    looked, serves = False, deployment.serves(facts)
    for i in deployment.members(facts, warned) if warned else range(facts.size):
        wanted, rows = _wanted(facts, i, warned=bool(warned)), deployment.gpus(facts, i)
        if wanted is None:
            looked = looked or deployment.has_whole_configuration(facts, i)
            continue
        support = {gpu.supports(wanted) for gpu in rows}
        if support == {False} and not (serves and wanted == "bf16"):
            return Fired(
                (_draft(facts, i, wanted, rows, weight_only=(bool(warned) or serves) and wanted != "bf16"),)
            )
        if support & {True, False}:
            looked = True
        elif warned:
            return Fired((_draft(facts, i, wanted, (), weight_only=True),))
    if looked:
        return Passed()
    return Unanswered(
        Reason.NOT_CONFIGURED,
        ("quantization", "gpu"),
        "give the launch command and the GPU (--gpu), or the start-up log",
    )


def _wanted(facts: Facts, i: int, *, warned: bool) -> str | None:
    """The format that the tensor units would have to compute in; None when nothing special is asked for."""
    asked, dtype = deployment.weights_format(facts, i), facts.setting(i, "dtype")
    text = asked.name if asked else ""
    if "mxfp4" in text:
        return "fp4" if warned else None  # made to be computed in 16 bit
    if "fp4" in text:
        return "fp4"
    if "fp8" in text:
        return "fp8"
    if any(
        "FP4" in e.text or "FP4" in e.fields.get("format", "") for e in deployment.events(facts, *_WARNINGS)
    ):
        return "fp4"
    if warned:
        return "fp8"
    return "bf16" if dtype and dtype.value in ("bfloat16", "bf16") and not asked else None


def _draft(facts: Facts, i: int, wanted: str, rows: tuple[hardware.Gpu, ...], *, weight_only: bool) -> Draft:
    gpu, shown, first = (
        (rows[0].name if rows else "by the engine's word"),
        _SHOWN[wanted],
        FIRST_CAPABILITY[wanted],
    )
    version = (rows[0].compute_capability if rows else None) or ""
    known = float(version) if version.replace(".", "").isdigit() else None
    kept = (
        "weights are stored in it and computed in 16 bit"
        if weight_only
        else "it is refused, emulated, or computed in 16 bit"
    )
    asked = deployment.weights_format(facts, i)
    return Draft(
        severity=Severity.INFO if weight_only else Severity.WARNING,
        role=Role.ADVICE if weight_only else Role.CAUSE,
        replicas=(i,),
        window=deployment.moments(deployment.events(facts, *_WARNINGS)) if weight_only else Window(None,
                                                                                                   None),
        variant="weight-only" if weight_only else None,
        summary=f"{shown} is asked for and the GPU ({gpu}) has no units for it: {kept}",
        explanation=f"{shown} units exist from compute capability {first} on. "
        + ("The engine fell back to a weight-only kernel: memory is saved and small batches gain, large ones "
           "and long prompts do not."
           if weight_only else "Whether the engine starts depends on its kernels; it cannot compute faster "
                               "than in 16 bit."),
        evidence=(
            Evidence("compute capability", gpu, known, "version", "<", first, facts.entities[i].label,
                     deployment.gpu_provenance(facts, i))
            if known is not None
            else Evidence("the engine's warning", asked.where if asked else "log", 1.0, "lines", ">=", 1.0,
                          facts.entities[i].label, Provenance.MEASURED),
        ),
        chart=ChartHint(("prompt_tokens", "prefill_time")),
        impact=Impact("no gain in compute from the small format", None, "", "hardware"),
        remedies=_remedies(facts, i, wanted, known),
        do_not=("Do not force a kernel by a variable to silence the warning: the missing units stay "
                "missing.",),
        refuted_by=f"The GPU is another one, with {shown} units.",
        margin=1.0,
        weakest=Resolution.RANGE if rows else Resolution.SNAPSHOT,
        because="the hardware table and what is configured" if rows else "the engine's warning; the GPU is "
                                                                         "not known",
    )  # fmt: skip


def _remedies(facts: Facts, i: int, wanted: str, capability: float | None) -> tuple[Remedy, ...]:
    asked = deployment.weights_format(facts, i)
    if wanted == "bf16":
        instead, suggested = "Run in float16, which this GPU has: --dtype half.", "half"
    elif capability is not None and capability >= FIRST_CAPABILITY["fp8"]:
        instead, suggested = "Serve an FP8 checkpoint, which this GPU computes in.", "fp8"
    elif capability is None or capability >= AMPERE:
        instead, suggested = (
            "Serve 4-bit GPTQ or AWQ through a Marlin-class kernel for small batches, or "
            "INT8 (W8A8) for large ones.",
            "gptq, awq or int8 checkpoint",
        )
    else:
        instead, suggested = (
            "Serve a 4-bit GPTQ or AWQ checkpoint, or plain float16.",
            "gptq or awq checkpoint",
        )
    return (
        Remedy("If it does not start, keep traffic on the old deployment; if it runs, send long prompts "
               "to newer GPUs.", "now",
               expected="nothing is lost meanwhile", risk="none"),
        Remedy(instead, "next-rollout", True, facts.engine,
               "--dtype" if wanted == "bf16" else "--quantization",
               asked.name if asked else None, suggested,
               "a format that the hardware computes in", "quality differs: validate it",
               "the old checkpoint"),
        Remedy(f"Or move this work to a GPU with {_SHOWN[wanted]} units.", "capacity-plan", risk="cost"),
    )  # fmt: skip


RULE = Rule(
    code="QNT002",
    slug="precision-unsupported",
    title="The number format has no hardware support on this GPU",
    family="quantization",
    concepts=("S15",),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={
        f"compute capability for {name}": (value, "version") for name, value in FIRST_CAPABILITY.items()
    },
)
