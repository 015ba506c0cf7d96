"""Unit tests for ``promtool test rules``: for each alert series that make it fire, and series that just do not."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from diagnostics.alerts import fixtures
from diagnostics.alerts.fixtures import Replica, healthy
from diagnostics.alerts.options import AlertOptions, duration
from diagnostics.alerts.rules import alerts
from diagnostics.model.errors import OptionError


class Case(Struct, frozen=True):
    """Replicas under which an alert fires at a severity, or stays silent."""

    name: str
    alert: str
    severity: str
    fires: bool
    replicas: tuple[Replica, ...]
    minutes: int = 30


def unit_tests(rules_file: str, options: AlertOptions) -> dict[str, Any]:
    """The content of a test file.

    Args:
        rules_file: where the rules file lies, as seen from the test file.
        options: what the rules file was written with; without matchers, for vLLM.

    Raises:
        OptionError: the series of the tests cannot meet these options.
    """
    if options.select or "vllm" not in options.engines:
        raise OptionError("--format tests: the series of the tests are vLLM's, without --select")
    known = {(a.name, a.severity.value) for a in alerts(options)}
    chosen = [c for c in cases() if (c.alert, c.severity) in known]
    lengths = sorted({c.minutes for c in chosen})
    return {
        "rule_files": [rules_file],
        "evaluation_interval": duration(options.seconds(fixtures.STEP)),
        "tests": [_test([c for c in chosen if c.minutes == n], n, options) for n in lengths],
    }


def _test(chosen: list[Case], minutes: int, options: AlertOptions) -> dict[str, Any]:
    """Cases of one length in one run, each a job of its own: no alert looks across jobs."""
    steps = int(minutes * 60 / fixtures.STEP)
    fires: list[dict[str, Any]] = [{"labels": "{}", "value": 1}]
    return {
        "name": f"{minutes} minutes",
        "interval": duration(options.seconds(fixtures.STEP)),
        "input_series": [line for c in chosen for r in c.replicas for line in r.lines(steps, c.name)],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{c.alert}",alertstate="firing",severity="{c.severity}",job="{c.name}"}})',
                "eval_time": duration(options.seconds(minutes * 60)),
                "exp_samples": fires if c.fires else [],
            }
            for c in chosen
        ],
    }


def cases() -> list[Case]:
    """Every case, in the order of the alerts."""
    return [*_limits(), *_latencies(), *_others(), *_down(), *_fleet()]


def _pair(
    alert: str, fires: Replica | tuple[Replica, ...], silent: Replica | tuple[Replica, ...], severity: str = "warning",
    minutes: int = 30,
) -> list[Case]:  # fmt: skip
    one, none = (r if isinstance(r, tuple) else (r,) for r in (fires, silent))
    return [
        Case(f"{alert}-{severity}-fires", alert, severity, True, one, minutes),
        Case(f"{alert}-{severity}-silent", alert, severity, False, none, minutes),
    ]


def _limits() -> list[Case]:
    queue = healthy(waiting="12+0", kv_usage="0.3+0", running="16+0")
    grows = healthy(waiting="5+1", kv_usage="0.3+0", running="16+0")
    full = healthy(waiting="12+0", kv_usage="0.95+0", running="7+0")
    prefill = healthy(waiting="12+0", running=fixtures.UNEVEN, prefill_sum="0+56", step_sum="0+5000")
    return [
        *_pair("LLMCapThrottled", queue, full),
        *_pair("LLMCapThrottled", grows, queue, "critical"),
        *_pair("LLMMemoryBound", full, healthy(kv_usage="0.95+0")),
        *_pair("LLMMemoryBound", healthy(waiting="5+1", kv_usage="0.95+0", running="7+0"), full, "critical"),
        *_pair("LLMTokenBudgetBound", prefill, healthy(waiting="12+0", running=fixtures.UNEVEN)),
        *_pair(
            "LLMTokenBudgetBound",
            healthy(waiting="5+1", running=fixtures.UNEVEN, prefill_sum="0+56", step_sum="0+5000"),
            prefill,
            "critical",
        ),
        *_pair(
            "LLMPreemptionStorm",
            healthy(preemptions="0+4", finished="0+2", kv_usage="0.95+0", waiting="5+0"),
            healthy(preemptions="0+0.05", kv_usage="0.95+0"),
            "critical",
        ),
    ]


def _latencies() -> list[Case]:
    tail = {"gap_10ms": "0+200", "gap_sum": "0+15", "gap_1s": "0+292"}
    return [
        *_pair(
            "LLMPastSaturationKnee",
            healthy(waiting="12+0", running="16+0", queue_sum="0+9", ttft_sum="0+12"),
            healthy(waiting="12+0", running="16+0"),
        ),
        *_pair("LLMPrefillStallsDecode", healthy(**tail), healthy(preemptions="0+1", **tail)),
    ]


def _others() -> list[Case]:
    drafts = {"drafts": "0+20", "drafted": "0+80"}
    return [
        *_pair("LLMLowAcceptance", healthy(accepted="0+2", **drafts), healthy(accepted="0+60", **drafts)),
        *_pair(
            "LLMAdapterThrash",
            healthy(waiting="3+0", deferred="3+0", lora="1+0"),
            healthy(waiting="3+0", deferred="0+0", lora="1+0"),
        ),
        *_pair("LLMClientDisconnects", healthy(first_tokens="0+10", finished="0+5"), healthy()),
        *_pair("LLMIdleCapacity", healthy(running="0+0"), healthy(running="1+0"), "info", 155),
        *_pair("LLMEngineStalled", healthy(running="5+0", **fixtures.FLAT), healthy(running="0+0", **fixtures.FLAT),
               "critical"),
    ]  # fmt: skip


def _down() -> list[Case]:
    late = healthy().over(up="1+0x20 0 1+0x200")
    return [
        *_pair("LLMReplicaDown", healthy().ends(20, up="1+0x20 0+0x200"), late, "critical"),
        *_pair("LLMReplicaRestarted", healthy().over(start="-90000+0x25 1500+0x200"), healthy()),
        *_pair("LLMModelGone", healthy().ends(20), healthy(), "critical"),
    ]


def _fleet() -> list[Case]:
    first, second = "vllm-0:8000", "vllm-1:8000"
    long = healthy(first, generated="0+1500", running="8+0")
    short = healthy(second, generated="0+100", prompts="0+100", running="1+0")
    queues = healthy(first, finished="0+6", first_tokens="0+6", waiting="6+0", running="16+0")
    room = healthy(second, finished="0+2", first_tokens="0+2", running="3+0")
    ranks = tuple(
        healthy(first, rank, waiting=w, running=r)
        for rank, w, r in (("0", "6+0", "16+0"), ("1", "0+0", "3+0"))
    )
    both = tuple(healthy(first, rank, waiting="6+0", running="16+0") for rank in ("0", "1"))
    return [
        *_pair("LLMRoundRobinImbalance", (long, short), (healthy(first), healthy(second))),
        *_pair("LLMRoutingSkew", (queues, room), (queues, healthy(second, finished="0+5"))),
        *_pair("LLMRankImbalance", ranks, both),
    ]
