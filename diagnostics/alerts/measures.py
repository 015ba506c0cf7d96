"""Recording rules: one name for what every engine and release publishes, and what several alerts share.

An alert reads these names only, so it is written once for all engines. ``expand`` puts the definitions back in their
place, for a history in which the names were not recorded yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec.structs import replace

from diagnostics.alerts.names import (
    RANK,
    REPLICA,
    TARGET,
    growth,
    known,
    mean,
    now,
    of_target,
    on,
    quantile,
    seen,
)
from diagnostics.alerts.options import INTERVAL, LONG, TOP, WINDOW, AlertOptions, number
from diagnostics.engines import registry
from diagnostics.execute.fleet import MAX_DOWN
from diagnostics.execute.words import GROWTH_REQUESTS, GROWTH_SHARE
from diagnostics.model.errors import OptionError
from diagnostics.rules import engine_stalled
from diagnostics.signals.regimes import (
    BACKLOG_MEAN,
    BACKLOG_SHARE,
    BUDGET_SHARE,
    CAP_TOLERANCE,
    KV_SPARE,
    PINNED_MEAN,
    PLATEAU_SHARE,
    PREFILL_BUSY,
    PREFILL_MOST,
    PREFILL_SHARE,
    STORM_MIN,
    STORM_RATIO,
)

PREFIX = "diagnose:"
# A chunked prefill in progress can hold one seat of the cap, and running shows one less.
PREFILL_SEATS = 1
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
Measures = dict[str, str]


def measures(options: AlertOptions) -> Measures:
    """Every recording rule, name -> expression, each before those that read it."""
    found: Measures = {}
    for part in (_signals, _backlog, _storm, _prefill, _cap, _latency, _speculation, _fleet, _targets):
        found.update({PREFIX + name: expression for name, expression in part(options).items()})
    return found


def _signals(options: AlertOptions) -> Measures:
    found = {
        "running": now("running", options),
        "waiting": now("waiting", options),
        "waiting_deferred": now("waiting_deferred", options),
        "kv_usage": now("kv_usage", options),
        "idle": "diagnose:running == bool 0",
    }
    # What waits for another reason than capacity is no backlog.
    found["held"] = "clamp_min(diagnose:waiting - diagnose:waiting_deferred, 0) or diagnose:waiting"
    found["running_held"] = f"diagnose:running and diagnose:held >= {number(BACKLOG_MEAN)}"
    found["kv_held"] = f"diagnose:kv_usage and diagnose:held >= {number(BACKLOG_MEAN)}"
    return found


def _backlog(options: AlertOptions) -> Measures:
    w, top = options.time(WINDOW), options.time(TOP * WINDOW)
    one = number(BACKLOG_MEAN)
    return {
        # The mean queue, where requests wait on average and in at least half of the scrapes.
        "backlog": f"avg_over_time(diagnose:held[{w}]) >= {one}"
        f" and quantile_over_time({number(1 - BACKLOG_SHARE)}, diagnose:held[{w}]) >= {one}",
        # Requests by which the queue grew lately, where its growth makes up a good part of all of it.
        "queue_growth": f"{_grown(2 * WINDOW, options)} > {number(GROWTH_REQUESTS)}"
        f" and {_grown(TOP * WINDOW, options)} > {number(GROWTH_SHARE)} * avg_over_time(diagnose:held[{top}])",
    }


def _grown(window: float, options: AlertOptions) -> str:
    """Requests by which the queue grew over a window, along its trend."""
    return f"deriv(diagnose:held[{options.time(window)}]) * {number(options.seconds(window))}"


def _storm(options: AlertOptions) -> Measures:
    return {
        "preempted": growth("preemptions", WINDOW, options),
        "finished": growth("requests_finished", WINDOW, options),
        # Preemptions by finished requests, where they are a storm.
        "storm": f"diagnose:preempted / clamp_min(diagnose:finished, 1) >= {number(STORM_RATIO)}"
        f" and diagnose:preempted >= {STORM_MIN}",
    }


def _prefill(options: AlertOptions) -> Measures:
    """Whether steps are full of prompt tokens."""
    busy = number(PREFILL_BUSY / options.stretch)
    span = number(options.seconds(WINDOW))
    found = {
        "generated": growth("generation_tokens", WINDOW, options, labels=RANK),
        "prompts": growth("prompt_tokens", WINDOW, options, labels=RANK),
        "step_tokens": growth("iteration_tokens", WINDOW, options, "sum", RANK),
        "steps": growth("iteration_tokens", WINDOW, options, "count", RANK),
        "prefill_busy": f"({growth('prefill_time', WINDOW, options, 'sum', RANK)}) / {span}",
        "prefill_share": "1 - diagnose:generated / (diagnose:step_tokens > 0)",
    }
    w = options.time(WINDOW)
    spare = f"(avg_over_time(diagnose:kv_held[{w}]) < {number(KV_SPARE)})"
    full = [
        f"(diagnose:prefill_busy >= {busy} and diagnose:prefill_share >= {number(PREFILL_SHARE)})",
        f"(diagnose:prefill_busy >= {busy} and diagnose:prefill_share >= {number(PREFILL_MOST)} and {spare})",
        # Without step counts: nearly all tokens are prompt tokens, and the cache has room.
        f"((diagnose:prompts >= {number(PREFILL_SHARE)} * (diagnose:prompts + diagnose:generated) and {spare})"
        " unless diagnose:steps)",
    ]
    if options.token_budget:
        limit = number(BUDGET_SHARE * options.token_budget)
        full.append(f"(diagnose:step_tokens / (diagnose:steps > 0) >= {limit})")
    found["prefill_bound"] = f"diagnose:backlog and ({' or '.join(full)})"
    return found


def _cap(options: AlertOptions) -> Measures:
    """The cap regime: from a known cap, else from a flat top of running while requests wait."""
    w = options.time(WINDOW)
    if options.cap:
        pinned = f"avg_over_time(diagnose:running_held[{w}]) >= {number(PINNED_MEAN * options.cap)}"
    else:
        seats = f"max_over_time(diagnose:running[{options.time(TOP * WINDOW)}])"
        flat = f"quantile_over_time({number(1 - PLATEAU_SHARE)}, diagnose:running_held[{options.time(LONG * WINDOW)}])"
        pinned = (
            f"avg_over_time(diagnose:running_held[{w}]) >= {number(PINNED_MEAN)} * {seats}"
            f" and ({flat} >= {number(1 - CAP_TOLERANCE)} * {seats} or {flat} >= {seats} - {PREFILL_SEATS})"
        )
    return {
        "at_cap": f"diagnose:backlog and {pinned} unless avg_over_time(diagnose:kv_held[{w}]) >= {number(KV_SPARE)}"
    }


def _latency(options: AlertOptions) -> Measures:
    found = {
        "queue_seconds": mean("queue_time", WINDOW, options),
        "ttft_seconds": mean("ttft", WINDOW, options),
        "gap_seconds": mean("itl", 2 * WINDOW, options),
        "gaps": growth("itl", 2 * WINDOW, options, "count"),
        "gap_p50_seconds": quantile(0.5, "itl", 2 * WINDOW, options),
        "gap_p99_seconds": quantile(0.99, "itl", 2 * WINDOW, options),
    }
    if options.slo:
        found["slo_broken"] = " or ".join(_slo(name, limit, options) for name, limit in options.slo.items())
    return found


def _slo(name: str, limit: float, options: AlertOptions) -> str:
    """A target that is broken, as PromQL."""
    metric, _, stat = name.partition("_")
    signal = {"queue": "queue_time", "ttft": "ttft", "itl": "itl", "e2e": "e2e"}.get(metric)
    if signal is None or (stat not in _QUANTILES and stat not in ("", "mean")):
        raise OptionError(
            f"--slo {name}: write it like ttft_p99=2s, with ttft, itl, e2e or queue, and p50, p90, p99 or mean"
        )
    q = _QUANTILES.get(stat)
    value = mean(signal, WINDOW, options) if q is None else quantile(q, signal, WINDOW, options)
    return f"({value}) > {number(limit)}"


def _speculation(options: AlertOptions) -> Measures:
    span = 2 * WINDOW
    return {
        "drafted": growth("spec_draft_tokens", span, options),
        "accepted": growth("spec_accepted_tokens", span, options),
        "drafts": growth("spec_drafts", span, options),
        "printed_acceptance": now("spec_accept_rate", options, REPLICA),
        "printed_length": now("spec_accept_length", options, REPLICA),
    }


def _targets(options: AlertOptions) -> Measures:
    long = LONG * WINDOW
    found = {
        "began": growth("ttft", long, options, "count"),
        "ended": growth("requests_finished", long, options),
        "aborted": growth("request_aborted", long, options),
    }
    for signal, engines in progress_signals(options).items():
        part = "count" if signal == "iteration_tokens" else ""
        span = engine_stalled.LONG_STEP_SECONDS
        found[f"{signal}_progress"] = growth(signal, span, replace(options, engines=engines), part, RANK)
    return found


def _fleet(options: AlertOptions) -> Measures:
    """What replicas did side by side; those that were down or are new have no part in it."""
    long = LONG * WINDOW
    w = options.time(long)
    start = of_target("process_start_time_seconds", options)
    new = f"unless {on(TARGET)} diagnose:unsteady unless {on(TARGET)} (time() - {start}) < {number(options.seconds(long))}"
    work = f"({growth('prompt_tokens', long, options)}) + ({growth('generation_tokens', long, options)})"
    by_replica = f"sum by ({', '.join(REPLICA)})"
    unsteady = f"avg_over_time({of_target('up', options)}[{w}]) < {number(1 - MAX_DOWN)} or changes({start}[{w}]) > 0"
    return {
        # Targets that were down or restarted: what they did says nothing of routing or of clients.
        "unsteady": unsteady,
        "served": f"({growth('requests_finished', long, options)}) {new}",
        "work": f"({work}) {new}",
        "load": f"{by_replica} (avg_over_time(diagnose:running[{w}])) {new}",
        "queue": f"{by_replica} (avg_over_time(diagnose:waiting[{w}])) {new}",
    }


def progress_signals(options: AlertOptions) -> dict[str, tuple[str, ...]]:
    """Signals that move while a request is under way, as the rule names them, and the engines where they do."""
    found = {}
    for signal in engine_stalled.RULE.needs[1].any_of:
        live = tuple(
            name
            for name in options.engines
            if (engine := registry.engine_named(name)) and signal not in engine.at_finish
        )
        if known(signal, replace(options, engines=live)):
            found[signal] = live
    return found


def engine_targets(options: AlertOptions) -> str:
    """Targets that served a model within the last day; others of the same job do not count."""
    return seen("running", "1d", options)


def expand(expression: str, definitions: Measures, step: float = INTERVAL) -> str:
    """An expression with every recorded name replaced by what defines it.

    A name with a range becomes a subquery. Names with matchers of their own are left as they are.

    Args:
        expression: PromQL.
        definitions: name -> expression of recording rules.
        step: seconds between the points of subqueries.
    """
    if not definitions:
        return expression
    names = "|".join(re.escape(n) for n in sorted(definitions, key=len, reverse=True))
    pattern = re.compile(rf"(?<![\w:])({names})(?![\w:{{])(?:\[(\w+)\])?")
    return pattern.sub(_definition(definitions, step), expression)


def _definition(definitions: Measures, step: float) -> Callable[[re.Match[str]], str]:
    def text(match: re.Match[str]) -> str:
        rest = {name: e for name, e in definitions.items() if name != match[1]}
        inner = expand(definitions[match[1]], rest, step)
        return f"({inner})[{match[2]}:{step:g}s]" if match[2] else f"({inner})"

    return text
