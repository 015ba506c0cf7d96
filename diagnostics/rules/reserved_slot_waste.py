"""Memory is reserved per slot for the longest possible output (S04, S03).

A contiguous allocator gives each slot the whole length it could need; most requests never grow into it.
llama.cpp with a fixed number of slots divides its context by them. Not this for paged engines, nor where
slots share one pool (unified cache).
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.samples import Provenance, Resolution

# ratio; tokens held by tokens reserved. A third is what mixed chat fills; below it most of the memory is
# empty.
USED_SHARE = 0.3
# Fewer slots than this hold no others up.
MIN_SLOTS = 2.0
_PAGED = ("vllm", "sglang", "tgi", "lmdeploy")


def evaluate(facts: Facts) -> Outcome:
    """Hold the length of real requests against the length of a slot."""
    if facts.engine in _PAGED:
        return Passed()
    looked = False
    for i in range(facts.size):
        slots = _slots(facts, i)
        if slots is None:
            continue
        number, length = slots
        held, provenance = _held(facts, i)
        looked = looked or held is not None or number < MIN_SLOTS
        if held is not None and number >= MIN_SLOTS and held / length < USED_SHARE:
            return Fired((_draft(facts, i, slots, held, provenance),))
    if looked or (facts.size and all(facts.flag(i, "kv_unified") for i in range(facts.size))):
        return Passed()
    return Unanswered(
        Reason.NOT_CONFIGURED, ("ctx_size", "parallel", "prompt_tokens_per_request"),
        "give the launch command with its slots, and what requests hold: a remark such as '# 900 prompt "
        "tokens, 200 output tokens'",
    )  # fmt: skip


def _slots(facts: Facts, i: int) -> tuple[float, float] | None:
    """Slots and tokens reserved for each; None for an engine that shares its pool or does not say."""
    if facts.flag(i, "kv_unified"):
        return None
    number = facts.number(i, "parallel", "total_slots")
    each = facts.number(i, "n_ctx_slot")
    total = facts.number(i, "ctx_size", "n_ctx")
    if number is not None and number >= 1 and (each or total):
        return number, each or (total or 0.0) / number
    kind = facts.setting(i, "kv_cache_type", "paged_kv_cache")
    batch, longest = facts.number(i, "max_batch_size"), facts.number(i, "max_seq_len", "max_model_len")
    contiguous = kind is not None and kind.value.lower() in ("continuous", "false", "disable")
    return (batch, longest) if contiguous and batch and longest else None


def _held(facts: Facts, i: int) -> tuple[float | None, Provenance]:
    """Tokens that a request holds at its end, as measured or as told."""
    prompt, answer = (float(facts.hist_mean(s)[i]) for s in ("prompt_len", "generation_len"))
    if not np.isnan(prompt):
        return prompt + float(np.nan_to_num(answer)), Provenance.MEASURED
    ended = float(facts.increase("requests_finished")[i])
    total = float(facts.increase("prompt_tokens")[i] + facts.increase("generation_tokens")[i])
    if ended > 0 and not np.isnan(total):
        return total / ended, Provenance.MEASURED
    told, out = facts.number(i, "prompt_tokens_per_request"), facts.number(i, "output_tokens_per_request")
    return (told + (out or 0.0), Provenance.ASSUMED) if told else (None, Provenance.ASSUMED)


def _draft(facts: Facts, i: int, slots: tuple[float, float], held: float, provenance: Provenance) -> Draft:
    number, length = slots
    used, fit = held / length, number * length / held
    flag = flags.flag_for(facts.engine, facts.version, "concurrency-cap")
    return Draft(
        severity=Severity.WARNING,
        role=Role.CAUSE,
        replicas=(i,),
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"{words.number(number)} slots reserve {words.number(length)} tokens each, and requests hold "
                f"about {words.number(held)}: {words.percent(used)} is used at most",
        explanation="What a slot reserves and a request does not use stays empty, while others wait for a "
                    "slot.",
        evidence=(Evidence("tokens held by tokens reserved", "mean", round(used, 3), "ratio", "<", USED_SHARE,
                           facts.entities[i].label,
                           provenance),),
        chart=ChartHint(("running", "waiting", "kv_usage"), {"kv_usage": USED_SHARE}),
        impact=Impact(f"a shared pool of the same size would hold about {words.number(round(fit))} such "
                      "requests", round(fit, 1),
                      "requests", "reserved tokens by tokens held"),
        remedies=(
            Remedy("Spread the load over more servers, or lower the clients' concurrency to the number "
                   "of slots.", "now",
                   expected="waiting is visible at the client", risk="none", undo="raise it again"),
            Remedy("Let more slots share the pool: more slots with --kv-unified, or a "
                   "slot length near the longest real request.", "next-rollout", True, facts.engine, flag,
                   words.number(number),
                   words.number(number * 4),
                   "more requests at once in the same memory",
                   "with a full shared pool requests fail", "the old line"),
            Remedy("For many users take a paged engine (vLLM, SGLang) on the same "
                   "GPU.", "capacity-plan", risk="a migration"),
        ),
        do_not=("Do not buy memory before sharing it: the empty part of the reservation is what is "
                "missing.",),
        refuted_by="Sequences come near the length of their slot, or the slots share one pool.",
        margin=1 - used / USED_SHARE,
        weakest=facts.resolution[i] if provenance is Provenance.MEASURED else Resolution.SNAPSHOT,
        because="slot length and request length are known",
    )  # fmt: skip


RULE = Rule(
    code="SCH008",
    slug="reserved-slot-waste",
    title="Memory is reserved per slot for the longest possible output",
    family="scheduler",
    concepts=("S03", "S04"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.SNAPSHOT,
    thresholds={"tokens held by tokens reserved": (USED_SHARE, "ratio"), "slots": (MIN_SLOTS, "slots")},
)
