"""Long prefills stall every generating sequence (S19).

Without chunked prefill, or with a very large step budget, a whole prompt is computed in one step and every running answer
waits for it. The median gap between tokens stays low while single gaps last seconds. Not this when the tail comes from
preemption or from queueing alone.
"""

from __future__ import annotations

import numpy as np

from diagnostics.engines import flags
from diagnostics.execute import bench, bench_stalls, words
from diagnostics.execute.facts import Facts, Mask
from diagnostics.execute.rule import Draft, Fired, Need, Outcome, Passed, Rule, Unanswered
from diagnostics.model.findings import ChartHint, Evidence, Impact, Remedy, Role, Severity, Window
from diagnostics.model.report import Reason, Regime
from diagnostics.model.requests import Request, Stat
from diagnostics.model.samples import Provenance, Resolution
from diagnostics.signals.settings import BUDGET_NAMES, limit

# Mean gap by median gap: stalls take most of the decode time from 5 on (recordings: 8.9 with whole prefills, 4.6 and less
# on loaded servers that chunk).
STALL_MEAN = 5.0
# p99 gap by median gap (recordings: 380 with whole prefills, 110 and less without).
STALL_TAIL = 100.0
# With the cause in the settings, half as clear a tail is enough.
KNOWN_MEAN, KNOWN_TAIL = 3.0, 50.0
# s; a gap that a reader of a stream notices.
MIN_STALL_SECONDS = 0.5
# Gaps observed, below which a p99 means nothing.
MIN_GAPS = 500.0
# Preemptions by finished requests from which the tail may be theirs.
MAX_PREEMPTED = 0.05
# A log has no gaps: tokens a second of each running request collapse to this share of its best in steps with prefill.
COLLAPSE = 0.05
MIN_COLLAPSED_LINES = 2.0
# What the engine's half needs; a benchmark can answer without it.
NEEDS = (Need(("itl", "generation_tokens")),)


def evaluate(facts: Facts) -> Outcome:
    """Judge the engine's own record; the single gaps of a benchmark answer where that is not there."""
    return bench.either(facts, NEEDS, _from_engine, _from_bench)


def _from_bench(facts: Facts) -> Outcome:
    """Single requests of a benchmark."""
    return bench_stalls.outcome(facts, facts.options.slo.get("itl_p99"))


def _from_engine(facts: Facts) -> Outcome:
    """Fire from the gaps between tokens, or from collapsing generation where only a log is there."""
    # The stretch in which gaps are long, where there is a course to find it in; else everything seen.
    during = "stalling" if any(facts.episodes) else "all"
    mean, median = facts.hist_mean("itl", during), facts.column("itl", Stat.HIST_P50)
    tail, count = facts.column("itl", Stat.HIST_P99, during), facts.column("itl", Stat.HIST_COUNT, during)
    known = _whole_prefill(facts)
    with np.errstate(invalid="ignore", divide="ignore"):
        heavy = mean / median >= np.where(known, KNOWN_MEAN, STALL_MEAN)
        long = tail / median >= np.where(known, KNOWN_TAIL, STALL_TAIL)
    stalls = (
        heavy
        & long
        & (tail >= MIN_STALL_SECONDS)
        & (count >= MIN_GAPS)
        & ~_preempted(facts)
        & ~_queueing(facts)
    )
    if stalls.any():
        return Fired((_draft(facts, tuple(np.flatnonzero(stalls).tolist()), known, during),))
    no_gaps = np.isnan(facts.column("itl", Stat.HIST_COUNT))
    collapsed = _collapsed(facts) & no_gaps
    if collapsed.any():
        return Fired((_from_log(facts, tuple(np.flatnonzero(collapsed).tolist())),))
    if no_gaps.all():
        return Unanswered(
            Reason.NOT_IN_THIS_INPUT, ("itl",), "give the engine's metrics: a log has no gaps between tokens"
        )
    return Passed()


def _whole_prefill(facts: Facts) -> Mask:
    """Replicas on which a whole prompt is known to be computed in one step."""
    return np.array([facts.flag(i, "enable_chunked_prefill") is False for i in range(facts.size)])


def _preempted(facts: Facts) -> Mask:
    events, finished = facts.increase("preemptions"), facts.increase("requests_finished")
    return np.nan_to_num(events) > MAX_PREEMPTED * np.maximum(np.nan_to_num(finished), 1)


def _queueing(facts: Facts) -> Mask:
    """Replicas that are saturated most of the time: the limit that binds explains their tail."""
    bound = facts.share(Regime.CAP, Regime.KV_MEMORY, Regime.PREEMPTING, Regime.TOKEN_BUDGET)
    return np.asarray(bound >= 0.5)


def _draft(facts: Facts, hit: tuple[int, ...], known: Mask, during: str) -> Draft:
    tail = facts.column("itl", Stat.HIST_P99, during)
    worst = max(hit, key=lambda i: float(tail[i]))
    median = float(facts.column("itl", Stat.HIST_P50)[worst])
    mean = float(facts.hist_mean("itl", during)[worst])
    prefill = float(facts.hist_mean("prefill_time")[worst])
    breaks = words.slo_broken(facts, worst, "all")
    chunked = facts.setting(worst, "enable_chunked_prefill")
    reason = (
        f"Chunked prefill is off ({chunked.where})."
        if known[worst] and chunked is not None
        else "Whether chunked prefill is on is not in this input; the gaps themselves show whole prompts being computed."
    )
    certain = bool(known[worst])
    return Draft(
        severity=Severity.CRITICAL if breaks else Severity.WARNING,
        role=Role.CAUSE,
        replicas=hit,
        window=facts.episode_window(hit, during),
        summary=f"Long prefills stall running answers on {words.replicas(facts, hit)}: the median gap between tokens is "
        f"{words.seconds(median)}, one in a hundred lasts {words.seconds(float(tail[worst]))}",
        explanation=(
            f"{reason} While a long prompt is computed, no running request gets a token. Stalls make the mean gap "
            f"{words.number(mean / median)} times the median, so most of the time spent decoding is spent waiting for "
            f"somebody else's prompt{'' if np.isnan(prefill) else f' (mean prefill {words.seconds(prefill)})'}. "
            "Nothing is preempted, and requests do not queue for long."
        ),
        evidence=(
            facts.evidence(worst, Request("itl", Stat.HIST_P99, during), ">=", MIN_STALL_SECONDS),
            Evidence("itl", "p99 by median", round(float(tail[worst]) / median, 1), "ratio", ">=",
                     KNOWN_TAIL if certain else STALL_TAIL, facts.entities[worst].label, Provenance.MEASURED),
            Evidence("itl", "mean by median", round(mean / median, 2), "ratio", ">=",
                     KNOWN_MEAN if certain else STALL_MEAN, facts.entities[worst].label, Provenance.MEASURED),
        ),
        chart=ChartHint(("itl", "prompt_tokens", "running"), {}),
        impact=Impact(
            f"about {words.percent(1 - median / mean)} of decode time goes into stalls",
            round(mean / median, 1), "x inter-token latency", "mean gap by median gap",
        ),
        remedies=_remedies(facts, worst),
        do_not=("Do not lower the concurrency cap: fewer requests wait for the same prompts.",),
        refuted_by="The long gaps come at times without prefill work, or while sequences are preempted.",
        margin=min(1.0, mean / median / STALL_MEAN - 0.6),
        weakest=Resolution.RANGE if facts.resolution[worst] is Resolution.RANGE else Resolution.PAIR,
        verify=(Request("itl", Stat.HIST_P99), Request("itl", Stat.HIST_P50), Request("prefill_time", Stat.HIST_MEAN)),
        because="chunked prefill is known to be off" if certain else "the gaps show it, the flag is not known",
    )  # fmt: skip


def _remedies(facts: Facts, i: int) -> tuple[Remedy, ...]:
    chunk = flags.flag_for(facts.engine, facts.version, "chunked-prefill")
    flag = flags.flag_for(facts.engine, facts.version, "token-budget")
    budget = limit(facts.settings[i], BUDGET_NAMES)
    found = [
        Remedy(
            "Route long prompts to a replica of their own, so that they stall each other only.",
            "now",
            expected="streams on the other replicas run evenly",
            risk="long prompts wait longer for their first token",
            undo="route them together again",
        )
    ]
    if facts.flag(i, "enable_chunked_prefill") is False and chunk:
        found.append(
            Remedy(
                f"Switch chunked prefill on: {chunk}.",
                "next-rollout", True, facts.engine, chunk, "off", "on",
                "a step carries a piece of a prompt beside every running answer",
                "long prompts take a little longer to their first token", "--no-enable-chunked-prefill",
            )
        )  # fmt: skip
    if flag:
        found.append(
            Remedy(
                f"With chunking on, set {flag} so that a full step stays within the inter-token target.",
                "next-rollout", True, facts.engine, flag, words.number(budget) if budget else None, "2048",
                "the longest gap is one step", "smaller steps start long prompts later", "set it back",
            )
        )  # fmt: skip
    found.append(
        Remedy(
            "Or separate prefill and decode on different GPUs.",
            "capacity-plan",
            expected="no prompt touches a stream",
        )
    )
    return tuple(found)


def _collapsed(facts: Facts) -> Mask:
    """Replicas whose log shows generation collapsing while prompts are computed and nothing waits."""
    generated_max = facts.column("generation_tokens", Stat.MAX)
    generated_median = facts.column("generation_tokens", Stat.P50)
    prompt_median = facts.column("prompt_tokens", Stat.P50)
    running = facts.column("running", Stat.P50)
    lines = facts.column("generation_tokens", Stat.COUNT)
    waiting = facts.column("waiting", Stat.MAX)
    return np.asarray(
        (generated_median <= COLLAPSE * generated_max * np.maximum(running, 1))
        & (generated_median < running)
        & (prompt_median > 0)
        & (running >= 2)
        & (waiting == 0)
        & (lines > MIN_COLLAPSED_LINES)
    )


def _from_log(facts: Facts, hit: tuple[int, ...]) -> Draft:
    worst = hit[0]
    known = bool(_whole_prefill(facts)[worst])
    generated, prompt = Request("generation_tokens", Stat.P50), Request("prompt_tokens", Stat.P50)
    return Draft(
        severity=Severity.WARNING if known else Severity.INFO,
        role=Role.CAUSE if known else Role.ADVICE,
        replicas=hit,
        window=Window(facts.observed.start, facts.observed.end, None),
        summary=f"Answers hardly move while prompts are computed on {words.replicas(facts, hit)}: "
        f"{words.number(float(facts.ask(generated)[worst]))} tokens a second in all with "
        f"{words.number(float(facts.column('running', Stat.P50)[worst]))} running",
        explanation="The lines show long prompts being computed, nothing waiting, and next to no token generated meanwhile: "
        "running answers wait for prefill. "
        + (
            "Chunked prefill is off, which explains it."
            if known
            else "A log has no gaps between tokens, so this stays a lead."
        ),
        evidence=(
            facts.evidence(worst, generated, "<", 1.0, Provenance.INFERRED),
            facts.evidence(worst, prompt, ">", 0.0),
        ),
        chart=ChartHint(("generation_tokens", "prompt_tokens", "running"), {}),
        impact=Impact("streams stall while prompts are computed", None, "", "log lines"),
        remedies=_remedies(facts, worst),
        refuted_by="The histogram of inter-token latency has no tail.",
        margin=0.3,
        weakest=Resolution.PAIR,
        verify=(Request("itl", Stat.HIST_P99), Request("itl", Stat.HIST_P50)),
        because="only a log, and the flag" if known else "only a log",
        confidence_cap=0.6 if known else 0.4,
    )


RULE = Rule(
    code="SCH006",
    slug="prefill-stalls-decode",
    title="Long prefills stall every generating sequence",
    family="scheduler",
    concepts=("S19",),
    needs=(),
    or_bench=NEEDS,
    evaluate=evaluate,
    full=Resolution.PAIR,
    thresholds={
        "mean gap by median gap": (STALL_MEAN, "ratio"),
        "p99 gap by median gap": (STALL_TAIL, "ratio"),
        "p99 gap": (MIN_STALL_SECONDS, "s"),
    },
)
