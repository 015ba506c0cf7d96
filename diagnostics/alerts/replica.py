"""Alerts about one replica: which limit binds, what stalls, what is thrown away."""

from __future__ import annotations

from msgspec.structs import replace

from diagnostics.alerts.alert import Alert
from diagnostics.alerts.names import REPLICA, TARGET, on, seen
from diagnostics.alerts.options import LONG, WINDOW, AlertOptions, number
from diagnostics.execute.speculation import MIN_DRAFTED
from diagnostics.model.findings import Role, Severity
from diagnostics.rules import (
    adapter_thrash,
    client_disconnects,
    low_acceptance,
    past_saturation_knee,
    prefill_stalls_decode,
)
from diagnostics.signals.regimes import KV_FULL, KV_SPARE

_HERE = "{{ or $labels.pod $labels.instance }}"
_REPLICA = on(REPLICA)
_VALUE = '{{ printf "%.3g" $value }}'


def replica_alerts(options: AlertOptions) -> list[Alert]:
    """Every alert that one replica raises by itself."""
    limits = (_cap(options), _memory(options), _budget(options))
    return [
        *(alert for limit in limits for alert in _by_severity(limit, options)),
        _storm(),
        _knee(),
        _stalls(),
        _acceptance(options),
        _adapters(options),
        _disconnects(options),
    ]


def _by_severity(alert: Alert, options: AlertOptions) -> list[Alert]:
    """A limit warns; it is critical where the queue keeps growing or a target is broken."""
    worse = f"({alert.expr}) and diagnose:queue_growth"
    if options.slo:
        worse += f" or ({alert.expr}) and {_REPLICA} diagnose:slo_broken"
    critical = replace(
        alert,
        expr=worse,
        severity=Severity.CRITICAL,
        means=f"{alert.means} The queue keeps growing{' or a latency target is broken' if options.slo else ''}.",
        summary=f"{alert.summary}, and the queue keeps growing"
        if not options.slo
        else f"{alert.summary}; the queue grows or a latency target is broken",
    )
    return [alert, critical]


def _cap(options: AlertOptions) -> Alert:
    return Alert(
        rule="cap-throttled",
        expr=f"diagnose:at_cap unless {_REPLICA} diagnose:storm",
        means="Running stays at one number, the concurrency cap, while requests wait and the KV cache is spare.",
        summary=f"{_HERE} is pinned at its concurrency cap: {_VALUE} requests wait while the KV cache has room",
        now="Send part of the traffic to replicas with free seats, or lower what clients keep open.",
        avoid="Do not free or buy KV memory: it is spare.",
    )


def _memory(options: AlertOptions) -> Alert:
    return Alert(
        rule="memory-bound",
        needs=("kv_usage", "waiting"),
        expr=f"avg_over_time(diagnose:kv_held[{options.time(WINDOW)}]) >= {number(KV_FULL)} and diagnose:backlog"
        f" unless diagnose:at_cap unless diagnose:prefill_bound unless {_REPLICA} diagnose:storm",
        means="The KV cache is full while requests wait, although seats are free.",
        summary=f"The KV cache of {_HERE} is full ({{{{ $value | humanizePercentage }}}} while requests wait)",
        now="Route long requests to other replicas or admit fewer at once at the gateway.",
        avoid="Do not raise the concurrency cap: admitted requests would be preempted.",
    )


def _budget(options: AlertOptions) -> Alert:
    return Alert(
        rule="token-budget-bound",
        needs=("prompt_tokens", "waiting"),
        expr=f"diagnose:prefill_bound unless diagnose:at_cap unless {_REPLICA} diagnose:storm",
        means="Steps are full of prompt tokens while requests wait, with seats and KV cache free.",
        summary=f"Steps of {_HERE} are full of prefill: {_VALUE} requests wait with seats and KV cache free",
        now="Route long prompts to other replicas, or admit fewer of them at the gateway.",
        avoid="Do not raise the concurrency cap: it is not reached.",
    )


def _storm() -> Alert:
    return Alert(
        rule="preemption-storm",
        needs=("preemptions", "requests_finished"),
        expr="diagnose:storm",
        severity=Severity.CRITICAL,
        means="Running requests lose their KV cache and are computed again, over and over.",
        summary=f"{_HERE} preempts {_VALUE} running requests for each one it finishes",
        now="Admit fewer requests at once on this replica, at the router or the gateway.",
        avoid="Do not raise the concurrency cap: more requests would fight for the same memory.",
    )


def _knee() -> Alert:
    least, share = past_saturation_knee.MIN_QUEUE_SECONDS, past_saturation_knee.QUEUE_SHARE
    return Alert(
        rule="past-saturation-knee",
        needs=("queue_time", "ttft", "waiting"),
        expr=f"diagnose:queue_seconds >= {number(least)}"
        f" and diagnose:queue_seconds >= {number(share)} * diagnose:ttft_seconds"
        f" and {_REPLICA} diagnose:backlog",
        role=Role.SYMPTOM,
        means="Added load only waits: the queue makes up most of the time to first token.",
        summary=f"Requests wait {{{{ $value | humanizeDuration }}}} for their first schedule on {_HERE}",
        now="Shed or route away load until the queue is gone; the cause has an alert of its own.",
        avoid="Do not add client concurrency or retries: both only lengthen the queue.",
    )


def _stalls() -> Alert:
    rule = prefill_stalls_decode
    median = "diagnose:gap_p50_seconds"
    return Alert(
        rule="prefill-stalls-decode",
        needs=("itl",),
        expr=f"diagnose:gap_p99_seconds >= {number(rule.MIN_STALL_SECONDS)}"
        f" and diagnose:gap_p99_seconds >= {number(rule.STALL_TAIL)} * {median}"
        f" and diagnose:gap_seconds >= {number(rule.STALL_MEAN)} * {median}"
        f" and diagnose:gaps >= {number(rule.MIN_GAPS)}"
        f" unless diagnose:preempted > {number(rule.MAX_PREEMPTED)} * clamp_min(diagnose:finished, 1)"
        f" unless {_REPLICA} diagnose:backlog unless {on(TARGET)} diagnose:unsteady",
        means="Single gaps between tokens last very long while the median is short: whole prompts are computed in "
        "one step, and every running answer waits.",
        summary=f"Long prefills stall running answers on {_HERE}: one gap in a hundred lasts "
        "{{ $value | humanizeDuration }}",
        now="Route long prompts to a replica of their own.",
        avoid="Do not lower the concurrency cap: fewer requests wait for the same prompts.",
    )


def _acceptance(options: AlertOptions) -> Alert:
    rate, length = number(low_acceptance.LOW_RATE), number(low_acceptance.LOW_LENGTH)
    w = options.time(WINDOW)
    printed = "diagnose:printed_"
    return Alert(
        rule="low-acceptance",
        needs=("spec_accept_rate",),
        expr=f"(diagnose:accepted / (diagnose:drafted >= {number(MIN_DRAFTED)}) < {rate}"
        f" unless 1 + diagnose:accepted / diagnose:drafts >= {length})"
        f" or (avg_over_time({printed}acceptance[{w}]) < {rate}"
        # Without speculation the printed length is 0.
        f" and avg_over_time({printed}length[{w}]) < {length} and min_over_time({printed}length[{w}]) >= 1)",
        means="Nearly all drafted tokens of speculative decoding are rejected; the answers themselves are right.",
        summary=f"Speculation drafts in vain on {_HERE}: {{{{ $value | humanizePercentage }}}} of drafted tokens are "
        "accepted",
        now="Send traffic whose answers copy their prompts here, other traffic to replicas without speculation.",
        avoid="Do not switch speculation off to restore quality: it is lossless.",
    )


def _adapters(options: AlertOptions) -> Alert:
    w = options.time(WINDOW)
    deferred = f"avg_over_time(diagnose:waiting_deferred[{w}])"
    kv = f"quantile_over_time(0.9, diagnose:kv_usage[{w}])"
    return Alert(
        rule="adapter-thrash",
        needs=("waiting_deferred", "lora_running"),
        expr=f"{deferred} >= {number(adapter_thrash.HELD_MEAN)}"
        f" and {deferred} >= {number(adapter_thrash.HELD_SHARE)} * avg_over_time(diagnose:waiting[{w}])"
        f" and {on(TARGET)} ({seen('lora_running', w, options)})"
        f" unless {kv} >= {number(KV_SPARE)}",
        means="Requests wait for their LoRA adapter while seats and KV cache are free.",
        summary=f"{_VALUE} requests on average are held back for their LoRA adapter on {_HERE}",
        now="Route by adapter, so that requests for one adapter share batches.",
        avoid="Do not raise the concurrency cap: seats are empty.",
    )


def _disconnects(options: AlertOptions) -> Alert:
    rule = client_disconnects
    by_replica = f"sum by ({', '.join(REPLICA)})"
    # A request that was preempted waits again though its first token came.
    back = f"{by_replica} (diagnose:waiting) * {_REPLICA} (diagnose:preempted > bool 0)"
    lost = (
        "(diagnose:began - ((diagnose:ended - diagnose:aborted) or diagnose:ended)"
        f" - {_REPLICA} {by_replica} (diagnose:running)"
        f" - {_REPLICA} (({back}) or diagnose:began * 0))"
    )
    return Alert(
        rule="client-disconnects",
        needs=("ttft", "requests_finished", "running"),
        expr=f"{lost} >= {number(rule.MIN_LOST)} and {lost} >= {number(rule.LOST_SHARE)} * diagnose:began"
        f" and diagnose:began >= {number(rule.MIN_FIRST_TOKENS)}"
        f" unless {on(TARGET)} diagnose:unsteady",
        means="Answers begin and neither finish nor are in flight: clients hang up, which engines often do not count.",
        summary=f"{_VALUE} answers that began on {_HERE} in the last {options.time(LONG * WINDOW)} never finished",
        now="Find who hangs up in the gateway's log, and raise a timeout that is shorter than an answer takes.",
        avoid="Do not trust the abort counter: it stays 0 when clients close the connection.",
    )
