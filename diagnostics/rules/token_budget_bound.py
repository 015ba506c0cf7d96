"""The per-step token budget is spent on prefill, so admission waits (S19, S29).

Every step carries at most a budget of tokens; running sequences take one each, prompts share the rest. When prompts arrive
faster than that rest, requests wait though seats and KV cache are free. ``budget``: larger steps would carry more tokens a
second. ``prefill-compute``: a full step already takes long because computing prompts is the limit, and it would not.
Not this when prompt throughput is low or falling, or when the cap or memory is the limit.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import gain, words
from diagnostics.execute.facts import Facts
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity
from diagnostics.model.report import Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance
from diagnostics.signals.regimes import BUDGET_SHARE, PREFILL_BUSY, PREFILL_MOST, PREFILL_SHARE
from diagnostics.signals.settings import BUDGET_NAMES, limit

# A full step by a decode-only step: from this on, time goes into computing prompt tokens, and larger steps would only
# take longer (recordings: 8 with a budget of 256, where 2048 brought 4 % more tokens a second).
COMPUTE_BOUND_STEP = 3.0


def evaluate(facts: Facts) -> Outcome:
    """Fire from the token-budget regime."""
    seconds = facts.seconds(Regime.TOKEN_BUDGET)
    hit = tuple(i for i in range(facts.size) if words.matters(seconds[i], facts.courses[i].observed))
    return Fired((_draft(facts, hit),)) if hit else Passed()


def _variant(facts: Facts, i: int) -> str | None:
    """Whether larger steps would help, from how long a full step takes beside a decode-only one; None when unknown."""
    steps = float(facts.column("iteration_tokens", Stat.HIST_COUNT, Regime.TOKEN_BUDGET.value)[i])
    light = float(facts.column("itl", Stat.HIST_P50, "calm")[i])
    stretch = facts.courses[i].seconds(Regime.TOKEN_BUDGET)
    if np.isnan(steps) or np.isnan(light) or steps <= 0 or light <= 0:
        return None
    return "prefill-compute" if stretch / steps >= COMPUTE_BOUND_STEP * light else "budget"


def _draft(facts: Facts, hit: tuple[int, ...]) -> Draft:
    worst = max(hit, key=lambda i: facts.courses[i].seconds(Regime.TOKEN_BUDGET))
    during = Regime.TOKEN_BUDGET.value
    budget = limit(facts.settings[worst], BUDGET_NAMES)
    size = float(facts.hist_mean("iteration_tokens", during)[worst])
    window = facts.window(hit, Regime.TOKEN_BUDGET)
    waiting = float(facts.column("waiting", Stat.MEAN, during)[worst])
    running = float(facts.column("running", Stat.MEAN, during)[worst])
    grows = words.queue_grows(facts, worst, during)
    inferred = any(s.inferred for s in facts.courses[worst].stretches(Regime.TOKEN_BUDGET))
    variant = _variant(facts, worst)
    full = (
        f"steps of {words.number(size)} tokens on average"
        + (f" against a budget of {words.number(budget)}" if budget else "")
        if not np.isnan(size)
        else "prompt tokens a second stand at a ceiling"
    )
    return Draft(
        severity=Severity.CRITICAL if grows or words.slo_broken(facts, worst, during) else Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=window,
        variant=variant,
        summary=f"Every step is full of prefill ({full}) while {words.number(waiting)} requests wait, on "
        f"{words.replicas(facts, hit)} {words.held(window)}",
        explanation=(
            f"Only {words.number(running)} requests run and the KV cache has room, yet requests wait: prompt tokens arrive "
            f"faster than steps can carry them. {words.queue_sentence(facts, worst, during)}{_mechanism(variant)}"
        ),
        evidence=_evidence(facts, worst, during, budget, inferred),
        chart=ChartHint(("iteration_tokens", "waiting", "running", "prompt_tokens", "kv_usage"), _lines(budget)),
        impact=_impact(facts, worst, during, variant),
        remedies=_remedies(facts, worst, budget, variant),
        do_not=(
            "Do not raise the concurrency cap: it is not reached.",
            *(("Do not raise the token budget for throughput: steps are compute-bound and would only get longer, and the "
               "gaps between tokens with them.",) if variant == "prefill-compute" else ()),
        ),
        refuted_by="Requests wait while steps are far below the budget or hold mostly decode tokens.",
        margin=1.0 if not np.isnan(size) else 0.4,
        verify=(
            Request("iteration_tokens", Stat.HIST_MEAN), Request("waiting", Stat.MIN), Request("kv_usage", Stat.MAX),
            Request("prompt_tokens", Stat.INCREASE),
        ),
        explains=("past-saturation-knee", "prefill-stalls-decode"),
        because="steps hold almost only prompt tokens while requests wait and memory is free",
    )  # fmt: skip


def _impact(facts: Facts, i: int, during: str, variant: str | None) -> Impact:
    """A larger budget carries more where steps are short of tokens, and nothing where they are short of compute."""
    if variant == "budget":
        return gain.lifted(facts, i, during)
    if variant == "prefill-compute":
        return Impact(
            "a larger budget would add no throughput: computing prompts is the limit",
            1.0,
            "x throughput",
            "a full step takes several times as long as a light one, so time goes into its tokens",
            (1.0, 1.0 + gain.SERVED),
        )
    return Impact(
        "requests wait for prefill", None, "", "whether larger steps would carry more cannot be told here"
    )


def _lines(budget: float | None) -> dict[str, float]:
    return {"iteration_tokens": budget} if budget else {}


def _mechanism(variant: str | None) -> str:
    if variant == "budget":
        return (
            "A full step is hardly longer than a light one, so larger steps would carry more tokens a second."
        )
    if variant == "prefill-compute":
        return (
            "A full step takes several times as long as a light one: computing prompts is the limit, and a larger budget "
            "would start prompts sooner but stretch every gap between tokens."
        )
    return "Whether larger steps would help cannot be told here: it needs the length of a light step."


def _evidence(
    facts: Facts, i: int, during: str, budget: float | None, inferred: bool
) -> tuple[Evidence, ...]:
    provenance = Provenance.INFERRED if inferred else Provenance.MEASURED
    found = [facts.evidence(i, Request("waiting", Stat.MEAN, during), ">", 1.0)]
    if not np.isnan(facts.hist_mean("iteration_tokens", during)[i]):
        limit_tokens = BUDGET_SHARE * budget if budget else None
        found.append(
            facts.evidence(
                i, Request("iteration_tokens", Stat.HIST_MEAN, during), ">=", limit_tokens, provenance
            )
        )
        generated = float(facts.increase("generation_tokens", during)[i])
        tokens = float(facts.column("iteration_tokens", Stat.HIST_SUM, during)[i])
        share = 1 - generated / tokens if tokens > 0 else float("nan")
        found.append(
            Evidence("iteration_tokens", "share of prompt tokens", round(share, 4), "ratio", ">=",
                     PREFILL_SHARE if share >= PREFILL_SHARE else PREFILL_MOST,
                     facts.entities[i].label, provenance)
        )  # fmt: skip
    else:
        found.append(
            facts.evidence(i, Request("prompt_tokens", Stat.INCREASE, during), ">", None, provenance)
        )
    if not np.isnan(facts.column("kv_usage", Stat.MEAN, during)[i]):
        found.append(facts.evidence(i, Request("kv_usage", Stat.MEAN, during), "<", None))
    return tuple(found)


def _remedies(facts: Facts, i: int, budget: float | None, variant: str | None) -> tuple[Remedy, ...]:
    flag = flags.flag_for(facts.engine, facts.version, "token-budget")
    caching = facts.flag(i, "enable_prefix_caching")
    found = [
        Remedy(
            "Route long prompts to other replicas or admit fewer of them at the gateway.",
            "now",
            expected="the queue drains; short prompts start at once",
            risk="long prompts wait outside or go elsewhere",
            undo="lift the limit",
        )
    ]
    if caching is False:
        found.append(
            Remedy(
                "Switch prefix caching on, if prompts share their beginnings.",
                "next-rollout", True, facts.engine, "--enable-prefix-caching", "off", "on",
                "shared prefixes are not computed again", "none known", "--no-enable-prefix-caching",
            )
        )  # fmt: skip
    if flag and budget and variant != "prefill-compute":
        found.append(
            Remedy(
                f"Raise {flag} from {words.number(budget)} to {2 * budget:.0f}.",
                "next-rollout", True, facts.engine, flag, words.number(budget), f"{2 * budget:.0f}",
                "prompts start sooner",
                "gaps between tokens get longer with the step; stop when inter-token latency nears its target",
                f"set {flag} back to {words.number(budget)}",
            )
        )  # fmt: skip
    found.append(
        Remedy(
            "Otherwise add prefill capacity: more replicas, faster GPUs, or separate prefill and decode.",
            "capacity-plan",
            expected="prompt tokens a second in proportion to compute",
            risk="cost",
        )
    )
    return tuple(found)


RULE = Rule(
    code="SCH004",
    slug="token-budget-bound",
    title="The per-step token budget is spent on prefill so admission waits",
    family="scheduler",
    concepts=("S19", "S29"),
    needs=(Need(("waiting",)), Need(("prompt_tokens", "iteration_tokens"))),
    evaluate=evaluate,
    thresholds={
        "share of prompt tokens in a step": (PREFILL_SHARE, "ratio"),
        "tokens a step by a known budget": (BUDGET_SHARE, "ratio"),
        "seconds of prefill finished each second": (PREFILL_BUSY, "ratio"),
        "full step by light step that means compute-bound": (COMPUTE_BOUND_STEP, "ratio"),
    },
)
