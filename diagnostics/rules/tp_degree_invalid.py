"""The tensor-parallel degree does not divide the model (S23).

Attention heads and MLP are cut into equal parts, one a GPU; KV heads must divide the degree or be divided by
it. The engine's refusal proves it; so does the model's configuration beside the launch command. A degree
above the number of KV heads works and is advice: heads are then copied. Not this for an engine that runs with
that degree.
"""

from __future__ import annotations

from msgspec import Struct

from diagnostics.capacity.model import ModelShape
from diagnostics.capacity.parallelism import COMMON_DEGREES, kv_replication, tp_obstacles
from diagnostics.engines import flags
from diagnostics.execute import deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.samples import LogEvent, Provenance, Resolution

# Parts left over when heads are dealt out to GPUs; none may be.
REMAINDER = 0.0


class Case(Struct, frozen=True):
    """A degree that does not divide, where it was found, and the size that it leaves a rest of.

    Each part of the size must be a multiple of ``tile``; a degree that nobody said is 1.
    """

    hit: tuple[int, ...]
    tp: int
    why: tuple[str, ...]
    what: str
    size: int
    window: Window
    text: str
    tile: int = 1


def evaluate(facts: Facts) -> Outcome:
    """Fire from a refusal in the log, else from the model's structure and the degree."""
    refused = deployment.refusals(facts, "tp-indivisible")
    if refused:
        return Fired((_invalid(facts, _refusal(facts, refused)),))
    known = [
        (i, s, d) for i in range(facts.size) if (s := deployment.shape(facts, i)) and (d := _degree(facts, i))
    ]
    if not known:
        how = "give the model's config.json beside the launch command"
        return Unanswered(Reason.NOT_CONFIGURED, ("num_attention_heads",), how)
    for i, shape, tp in known:
        stored = deployment.stored(facts, i) if deployment.weights_format(facts, i) else None
        why = tp_obstacles(shape, tp, stored)
        if why and not deployment.serves(facts):
            return Fired((_invalid(facts, _by_structure(i, shape, tp, why)),))
        if not why and shape.mla is None and (copies := kv_replication(shape, tp)) > 1:
            return Fired((_replicated(facts, i, shape, tp, copies),))
    return Passed()


def _degree(facts: Facts, i: int) -> int | None:
    return deployment.degree(facts, i, deployment.TP_NAMES)


def _refusal(facts: Facts, refused: list[LogEvent]) -> Case:
    fields = refused[0].fields
    hit = deployment.members(facts, refused)
    asked = next((d for i in hit if (d := _degree(facts, i))), 1)
    if "tile" in fields:
        part, tile, tp = int(fields["part"]), int(fields["tile"]), asked
        size = part * tp
        why = f"the part of a quantized layer on each GPU is {part:,}, no multiple of {tile}"
    else:
        tile = 1
        size, tp = (int(fields.get(name, "0")) for name in ("heads", "tp"))
        why = f"{size:,} is no multiple of {tp}" if size and tp else "the engine refused it"
    text = f"The engine refused: {refused[0].text.strip()[:240]}"
    window = deployment.moments(refused)
    return Case(hit, max(tp, 1), (why,), "the size that the engine names", size, window, text, tile)


def _by_structure(i: int, shape: ModelShape, tp: int, why: tuple[str, ...]) -> Case:
    sizes = {"attention heads": shape.heads, "KV heads": shape.kv_heads, "MLP size": shape.intermediate}
    listed = ", ".join(f"{what} {size}" for what, size in sizes.items())
    text = f"By its configuration the model has {listed}."
    what, size = next(
        ((w, n) for w, n in sizes.items() if n and n % tp), ("MLP size", shape.intermediate or 0)
    )
    return Case((i,), tp, why, what, size, Window(None, None), text)


def _allowed(facts: Facts, case: Case) -> list[int]:
    """Common degrees below the one asked for that divide what is known of the model."""
    shape = deployment.shape(facts, case.hit[0])
    below = [d for d in COMMON_DEGREES if d < case.tp]
    fitting = [d for d in below if not tp_obstacles(shape, d)] if shape else below
    if shape and case.tile == 1:
        return fitting
    return [d for d in fitting if case.size and case.size % d == 0 and case.size // d % case.tile == 0]


def _invalid(facts: Facts, case: Case) -> Draft:
    good = _allowed(facts, case)
    rest = case.size % case.tp or case.size // case.tp % case.tile
    current = str(case.tp) if case.tp > 1 else None
    asked = f"over {case.tp} GPUs" if case.tp > 1 else "at the degree asked for"
    best = str(good[-1]) if good else None
    flag = flags.flag_for(facts.engine, facts.version, "tensor-parallel")
    return Draft(
        severity=Severity.CRITICAL,
        role=Role.CAUSE,
        replicas=case.hit,
        window=case.window,
        summary=f"Tensor parallelism {asked} is not possible for this model: "
                f"{'; '.join(case.why)}",
        explanation=case.text
        + (f" Degrees that divide it: {', '.join(map(str, good))}." if good else "")
        + " Each GPU must get equal parts, and whole heads.",
        evidence=(
            Evidence(f"{case.what} over the degree", "remainder", float(rest), "parts", ">",
                     REMAINDER, facts.entities[case.hit[0]].label, Provenance.CONFIGURED),
        ),
        chart=ChartHint(("up",)),
        impact=Impact("the replica never starts", None, "", "refused start"),
        remedies=(
            Remedy("Stop this rollout and keep traffic on the replicas that run; no restart of "
                   "those.", "now",
                   expected="users are served meanwhile", risk="less capacity", undo="resume the rollout"),
            Remedy("Use a degree that divides the "
                   f"model{f', {flag} {best}' if flag and best else ''}; give GPUs that are left over to a "
                   "second replica or to pipeline stages.", "next-rollout", True, facts.engine, flag,
                   current, best, "it starts", "weights a GPU grow: check that they fit", "old degree"),
        ),
        do_not=("Do not edit config.json to pass the check: the weights would not match it.",),
        refuted_by="The engine starts with this degree.",
        explains=("replica-down-or-restarting",),
        because="the numbers do not divide",
    )  # fmt: skip


def _replicated(facts: Facts, i: int, shape: ModelShape, tp: int, copies: int) -> Draft:
    """A degree above the number of KV heads: it works, and each head is held several times."""
    flag = flags.flag_for(facts.engine, facts.version, "tensor-parallel")
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=(i,),
        window=Window(None, None),
        variant="kv-heads-copied",
        summary=f"The degree {tp} is valid but above the {shape.kv_heads} KV heads, so each is held "
                f"{words.number(copies)} times",
        explanation="KV memory a token on each GPU stops shrinking at the number of KV heads; further GPUs "
                    "hold copies.",
        evidence=(
            Evidence("GPUs that hold the same KV head", "count", float(copies), "GPUs", ">", 1.0,
                     facts.entities[i].label,
                     Provenance.CONFIGURED),
        ),
        chart=ChartHint(("kv_usage",)),
        impact=Impact("KV cache smaller than the number of GPUs promises", float(copies), "copies",
                      "degree by KV heads"),
        remedies=(
            Remedy(f"When planning: two replicas of degree {shape.kv_heads} hold more tokens, if the weights "
                   "fit.", "capacity-plan",
                   False, facts.engine, flag, str(tp), str(shape.kv_heads), "no copies", "weights a GPU grow",
                   f"degree {tp}"),
        ),
        refuted_by="The model has more KV heads than its configuration says.",
        because="the model's configuration and the degree",
    )  # fmt: skip


RULE = Rule(
    code="PAR002",
    slug="tp-degree-invalid",
    title="The TP degree does not divide the model",
    family="parallelism",
    concepts=("S23",),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"heads left over": (REMAINDER, "parts")},
)
