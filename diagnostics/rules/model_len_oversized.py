"""Maximum model length far above what traffic uses, and it costs concurrency (S02, S04).

In a paged engine the pool is sized by memory, so a long maximum is harmless until a start is refused for it
or the engine reserves by it. So this is said only where the length costs something, and it is never loud.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import deployment, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution

# ratio; configured length by what 99 % of requests stay below. A margin of two is prudent, eight is not.
MANY_TIMES = 8.0
# Requests that show what traffic uses.
MIN_REQUESTS = 100.0
# Sequences of the maximum length that fit; below this one long request can hold most of the pool.
FEW_SEQUENCES = 2.0
_LENGTHS = ("max_model_len", "context_length", "context_len", "max_total_tokens", "max_seq_len")
# Engines that admit by what a request may become, so that the maximum costs seats.
_RESERVE = ("tgi", "tensorrt-llm", "llama.cpp")


def evaluate(facts: Facts) -> Outcome:
    """Fire where the configured length is many times the use, or was refused, and costs something."""
    refused = [e for e in deployment.refusals(facts, "kv-refused") if "max_model_len" in e.fields]
    if refused:
        asked, fits = refused[0].fields["max_model_len"], refused[0].fields.get("estimated_max_len", "nan")
        i = deployment.members(facts, refused)[0]
        said = f"The maximum length of {words.number(float(asked))} tokens is more than the KV cache can hold"
        return Fired(
            (_draft(facts, i, float(asked), float(fits), said=said, cost="the start is refused for it"),)
        )
    looked = False
    for i in range(facts.size):
        longest, used, tokens = (
            facts.number(i, *_LENGTHS),
            _used(facts, i),
            facts.number(i, "kv_capacity_tokens"),
        )
        if longest is None or used is None:
            continue
        looked = True
        thin = tokens is not None and tokens / longest < FEW_SEQUENCES
        if longest >= MANY_TIMES * used and (thin or facts.engine in _RESERVE):
            cost = (
                "one request of that length would take most of the pool"
                if thin
                else "the engine reserves by it"
            )
            said = f"The maximum length is {words.number(longest)} tokens, 99 % of requests hold fewer than "
            said += words.number(used)
            return Fired((_draft(facts, i, longest, used, said=said, cost=cost),))
    if looked:
        return Passed()
    return Unanswered(
        Reason.NOT_IN_THIS_INPUT,
        ("prompt_len", "max_model_len"),
        "give metrics over time, and the launch command",
    )


def _used(facts: Facts, i: int) -> float | None:
    """p99 of prompt plus p99 of answer, an upper estimate of what one holds; None for too few requests."""
    if float(np.nan_to_num(facts.column("prompt_len", Stat.HIST_COUNT)[i])) < MIN_REQUESTS:
        return None
    total = float(
        facts.column("prompt_len", Stat.HIST_P99)[i] + facts.column("generation_len", Stat.HIST_P99)[i]
    )
    return None if np.isnan(total) or total <= 0 else total


def _draft(facts: Facts, i: int, longest: float, fits: float, *, said: str, cost: str) -> Draft:
    flag = flags.flag_for(facts.engine, facts.version, "max-model-len")
    label, measured = facts.entities[i].label, facts.resolution[i] is Resolution.RANGE
    suggested = (
        None
        if np.isnan(fits)
        else words.number(float(np.ceil(fits * (2 if measured else 1)))).replace(",", "")
    )
    return Draft(
        severity=Severity.INFO,
        role=Role.ADVICE,
        replicas=(i,),
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"{said}: {cost}",
        explanation="The memory sum is made for a length that nobody sends. A lower maximum frees no KV "
                    "memory in a paged engine; it lets the engine start, admits more where it reserves, and "
                    "keeps one request from taking the pool.",
        evidence=(
            Evidence("max_model_len", "configured", longest, "tokens", ">", None if np.isnan(fits) else fits,
                     label,
                     Provenance.CONFIGURED),
        ),
        chart=ChartHint(("prompt_len", "generation_len", "kv_usage")),
        impact=Impact(cost, None, "", "configured length beside its limit"),
        remedies=(
            Remedy("Limit prompt and answer length at the gateway to what the product needs.", "now",
                   expected="no request takes the pool",
                   risk="longer requests are refused", undo="lift the limit"),
            Remedy(f"Lower the maximum{f' with {flag}' if flag else ''}, to twice what "
                   "the longest requests use.",
                   "next-rollout", True, facts.engine, flag, words.number(longest).replace(",", ""),
                   suggested,
                   "it starts, or admits more", "longer requests are refused", "old value"),
        ),
        do_not=("Do not cut at the p99: one request in a hundred would fail.",
                "Do not expect more KV memory from it in a paged engine."),
        refuted_by="Long requests do come, rare but wanted.",
        margin=0.5,
        weakest=facts.resolution[i],
        verify=(Request("prompt_len", Stat.HIST_P99), Request("generation_len", Stat.HIST_P99)),
        because="the length is set and what it costs is seen",
    )  # fmt: skip


RULE = Rule(
    code="CFG001",
    slug="model-len-oversized",
    title="Maximum model length far above what traffic uses",
    family="config",
    concepts=("S02", "S04"),
    needs=(),
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "configured length by p99": (MANY_TIMES, "ratio"),
        "requests seen": (MIN_REQUESTS, "requests"),
        "sequences of the maximum length": (FEW_SEQUENCES, "requests"),
    },
)
