"""The model cannot fit on the chosen GPUs (S02, S20).

Weights, context, activations and at least one sequence of KV cache must fit into the memory of each GPU. The
engine's own refusal proves that they do not; without a log the sum is made from the model's size, its format
and the GPU. Not this when the engine was seen at work, and not for memory of the host.
"""

from __future__ import annotations

from diagnostics.capacity import hardware
from diagnostics.engines import flags
from diagnostics.execute import budget, deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.samples import LogEvent, Provenance, Resolution

# GiB; what CUDA itself takes of a GPU before anything else, from the memory sum of the capacity library.
CONTEXT_GIB = 1.0
_KINDS = ("kv-refused", "memory-not-free", "out-of-memory")


def evaluate(facts: Facts) -> Outcome:
    """Fire from a refusal in the log, else from the sum of the terms."""
    refused = [e for e in deployment.refusals(facts, *_KINDS) if e.fields.get("scope") != "host"]
    if refused:
        return Fired((_refused(facts, refused),))
    for i in range(facts.size):
        if (left := facts.number(i, "kv_memory_gib")) is not None and left <= 0:
            return Fired((_nothing_left(facts, i, left),))
    if deployment.serves(facts):
        return Passed()
    known = [i for i in range(facts.size) if deployment.gpus(facts, i)]
    sums = [
        (i, g, t)
        for i in known
        for g in [_largest(facts, i)]
        if (t := budget.estimated(facts, i, g)) is not None
    ]
    if not sums:
        return Unanswered(
            Reason.NOT_CONFIGURED, () if known else ("gpu",),
            "give the start-up log, or the launch command, the model's config.json and the GPU (--gpu)",
        )  # fmt: skip
    over = [(i, g, t) for i, g, t in sums if (t.weights or 0) + CONTEXT_GIB >= (t.granted or 0)]
    return Fired((_by_sum(facts, *over[0]),)) if over else Passed()


def _largest(facts: Facts, i: int) -> hardware.Gpu:
    """Of the GPUs that a name may mean the one with most memory, so that no doubt makes a refusal."""
    return max(deployment.gpus(facts, i), key=lambda gpu: gpu.usable_gib)


def _refused(facts: Facts, refused: list[LogEvent]) -> Draft:
    event = max(refused, key=lambda e: len(e.fields))
    hit = deployment.members(facts, refused)
    said, short, evidence = _reading(facts, event, hit[0])
    return _draft(
        facts, hit, deployment.moments(refused), summary=said, evidence=evidence, short=short,
        explanation="The engine printed: " + event.text.strip()[:240],
        because="the engine refused in its own words",
        refuted_by="The same configuration became ready on this GPU since then.",
        provenance=Provenance.MEASURED,
    )  # fmt: skip


def _reading(facts: Facts, event: LogEvent, i: int) -> tuple[str, str, tuple[Evidence, ...]]:
    """The refusal in words, what broke the sum (``length``, ``taken``, ``weights``, ``peak``), a number."""
    label, fields = facts.entities[i].label, event.fields

    def gib(name: str, value: str, limit: str) -> tuple[Evidence, ...]:
        return (
            Evidence(name, "printed", float(value), "GiB", ">", float(limit), label, Provenance.MEASURED),
        )

    if "needed_gib" in fields and "available_gib" in fields:
        longest = fields.get("estimated_max_len")
        rest = f"; up to {words.number(float(longest))} tokens would" if longest else ""
        return (
            f"One sequence of the maximum length ({words.number(float(fields['max_model_len']))} tokens) "
            f"needs {fields['needed_gib']} GiB of KV cache and {fields['available_gib']} GiB are there, so "
            f"the engine does not start{rest}",
            "length", gib("KV cache of one sequence", fields["needed_gib"], fields["available_gib"]),
        )  # fmt: skip
    if "wanted_gib" in fields and "free_gib" in fields:
        return (
            f"The engine wants {fields['wanted_gib']} GiB of the GPU and only {fields['free_gib']} GiB are "
            "free: something else holds it",
            "taken", gib("GPU memory wanted", fields["wanted_gib"], fields["free_gib"]),
        )  # fmt: skip
    if event.kind == "kv-refused" and "estimated_max_len" in fields:
        held, asked = float(fields["estimated_max_len"]), float(fields["max_model_len"])
        number = Evidence("max_model_len", "printed", asked, "tokens", ">", held, label, Provenance.MEASURED)
        return (
            f"The KV cache holds {words.number(held)} tokens, less than one sequence of "
            f"{words.number(asked)}",
            "length",
            (number,),
        )
    count = Evidence("refusals in the log", "count", 1.0, "events", ">=", 1.0, label, Provenance.MEASURED)
    if event.kind == "out-of-memory" and _was_ready(facts, event):
        return (
            "The GPU ran out of memory under load: weights, KV cache and the peak of a step exceed it "
            "together",
            "peak",
            (count,),
        )
    what = (
        "no memory is left for the KV cache"
        if event.kind == "kv-refused"
        else "the GPU ran out of memory while it started"
    )
    return f"The model does not fit: {what}", "weights", (count,)


def _was_ready(facts: Facts, event: LogEvent) -> bool:
    """Whether the process was ready before this line."""
    before = facts.events[: facts.events.index(event)]
    return any(e.kind == "ready" and e.labels == event.labels for e in before) or bool(
        facts.has("running").any()
    )


def _nothing_left(facts: Facts, i: int, left: float) -> Draft:
    label = facts.entities[i].label
    return _draft(
        facts, (i,), Window(None, None), short="weights",
        summary="The model does not fit: no memory is left for the KV cache",
        evidence=(Evidence("kv_memory_gib", "printed", left, "GiB", "<=", 0.0, label, Provenance.MEASURED),),
        explanation=f"The engine found {words.number(left)} GiB for KV cache after weights and activations.",
        because="the engine printed what is left",
        refuted_by="The engine became ready with this configuration since then.",
        provenance=Provenance.MEASURED,
    )  # fmt: skip


def _by_sum(facts: Facts, i: int, gpu: hardware.Gpu, terms: budget.Terms) -> Draft:
    label, taken, granted = (
        facts.entities[i].label,
        (terms.weights or 0.0) + CONTEXT_GIB,
        terms.granted or 0.0,
    )
    return _draft(
        facts, (i,), Window(None, None), short="weights",
        summary=f"Weights and context of {words.number(taken)} GiB a GPU do not fit into the "
                f"{words.number(granted)} GiB that the engine may use of one {gpu.name}",
        evidence=(Evidence("weights and context on one GPU", "estimate", round(taken, 1), "GiB", ">=",
                           round(granted, 1), label, Provenance.INFERRED),),
        explanation=f"The sum is {terms.basis}; activations and KV cache are not even in it.",
        because=f"the sum is {terms.basis}",
        refuted_by="The engine starts with this configuration, or its checkpoint is smaller than named.",
        provenance=Provenance.INFERRED,
    )  # fmt: skip


def _draft(
    facts: Facts, hit: tuple[int, ...], window: Window, *, summary: str, evidence: tuple[Evidence, ...],
    short: str, explanation: str, because: str, refuted_by: str, provenance: Provenance,
) -> Draft:  # fmt: skip
    printed = budget.printed(facts, hit[0])
    return Draft(
        severity=Severity.CRITICAL,
        role=Role.CAUSE,
        replicas=hit,
        window=window,
        summary=summary,
        explanation=explanation + (" " + printed.sentence if printed else ""),
        evidence=evidence,
        chart=ChartHint(("up",)),
        impact=Impact(
            "the replica never becomes ready, or dies at its first load", None, "", "refused start"
        ),
        remedies=_remedies(facts, hit[0], short),
        do_not=(
            "Do not set the memory share to 0.99: it then dies at a peak under load instead of at the start.",
        ),
        refuted_by=refuted_by,
        weakest=Resolution.RANGE if provenance is Provenance.MEASURED else Resolution.SNAPSHOT,
        explains=("replica-down-or-restarting", "kv-budget-thin", "model-len-oversized"),
        because=because,
    )


def _remedies(facts: Facts, i: int, short: str) -> tuple[Remedy, ...]:
    """Keep traffic where it works first, then mend the term that broke the sum."""
    engine, version = facts.engine, facts.version
    length, tp = (flags.flag_for(engine, version, p) for p in ("max-model-len", "tensor-parallel"))
    now = {
        "taken": "Find the process that holds the GPU with nvidia-smi and end it by its id; keep "
        "traffic on other replicas.",
        "peak": "Route long prompts elsewhere and lower the clients' concurrency.",
    }.get(short, "Stop this rollout and keep traffic on the replicas that run; no restart of those.")
    found = [
        Remedy(
            now, "now", expected="users are served meanwhile", risk="less capacity", undo="resume the rollout"
        )
    ]
    if short == "length" and length:
        current = facts.setting(i, "max_model_len", "context_length")
        fits = next(
            (e.fields["estimated_max_len"] for e in facts.events if "estimated_max_len" in e.fields), None
        )
        found.append(Remedy(f"Set {length} to what the traffic needs, at most what "
                            "fits.", "next-rollout", True,
                            engine, length, current.value if current else None, fits, "it starts",
                            "longer requests are refused",
                            "old value"))  # fmt: skip
    degree = deployment.degree(facts, i, deployment.TP_NAMES)
    if tp and short in ("weights", "length"):
        found.append(Remedy("Split the weights over more GPUs with "
                            f"{tp}.", "next-rollout", True, engine, tp,
                            str(degree) if degree else None, str(2 * degree) if degree else None,
                            "weights a GPU halve",
                            "more GPUs; the degree must divide the model", "old degree"))  # fmt: skip
    share = flags.flag_for(engine, version, "kv-memory-fraction")
    if share and short == "peak":
        found.append(Remedy(f"Leave more memory for peaks: a lower {share}, or a smaller "
                            "token budget.",
                            "next-rollout", True, engine, share, None, None,
                            "room for the peak of a step", "less KV cache",
                            "old value"))  # fmt: skip
    found.append(Remedy("Or load a checkpoint in a smaller format that this GPU computes in, or take a GPU "
                        "with more memory.",
                        "capacity-plan", expected="weights shrink to a half or a "
                                                  "quarter", risk="quality: validate it first"))  # fmt: skip
    return tuple(found)


RULE = Rule(
    code="MEM002",
    slug="does-not-fit",
    title="The model cannot fit on the chosen GPUs",
    family="memory",
    concepts=("S02", "S20"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"context beside the weights": (CONTEXT_GIB, "GiB")},
)
