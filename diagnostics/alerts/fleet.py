"""Alerts that compare replicas of one model, and those about replicas that are gone, stuck or idle."""

from __future__ import annotations

from diagnostics.alerts.alert import Alert
from diagnostics.alerts.measures import engine_targets, progress_signals
from diagnostics.alerts.names import FLEET, REPLICA, TARGET, by, of_target, on, seen
from diagnostics.alerts.options import LONG, WINDOW, AlertOptions, number
from diagnostics.execute.fleet import HAS_ROOM, QUEUES
from diagnostics.model.findings import Role, Severity
from diagnostics.rules import (
    engine_stalled,
    idle_capacity,
    rank_imbalance,
    round_robin_imbalance,
    routing_skew,
)
from diagnostics.signals.regimes import OUTAGE_SECONDS

# s; rules are evaluated every half minute, so that two evaluations see it.
OUTAGE_HOLD = max(60.0, OUTAGE_SECONDS)
# s; a model that vanished altogether is remembered for so long.
GONE_MEMORY, GONE_HOLD = 3600.0, 300.0
IDLE_HOLD = 1800.0
_HERE = "{{ or $labels.pod $labels.instance }}"
_MODEL = "{{ $labels.model_name }}"
_VALUE = '{{ printf "%.3g" $value }}'


def fleet_alerts(options: AlertOptions) -> list[Alert]:
    """Every alert about replicas side by side, or about one that does not work at all."""
    return [
        *_down(options),
        *_stalled(options),
        _round_robin(),
        _skew(),
        _ranks(options),
        _idle(options),
    ]


def _down(options: AlertOptions) -> list[Alert]:
    rule = "replica-down-or-restarting"
    starts = of_target("process_start_time_seconds", options)
    return [
        Alert(
            rule=rule,
            needs=("running",),
            expr=f"({of_target('up', options)} == 0) and {on(TARGET)} ({engine_targets(options)})",
            severity=Severity.CRITICAL,
            hold=OUTAGE_HOLD,
            called="LLMReplicaDown",
            means="A replica that served a model within the last day does not answer its scrapes.",
            summary=f"{_HERE} does not answer",
            now="Take the replica out of the router, and read the end of its log and the reason of its last exit.",
            avoid="Do not restart the remaining replicas: they carry all traffic.",
        ),
        Alert(
            rule=rule,
            needs=("running",),
            expr=f"changes({starts}[{options.time(LONG * WINDOW)}]) > 0 and {on(TARGET)} ({engine_targets(options)})",
            hold=0.0,
            called="LLMReplicaRestarted",
            means="A replica came back as a new process: its requests were lost, and its counters began at zero.",
            summary=f"{_HERE} restarted {_VALUE} time(s) in the last {options.time(LONG * WINDOW)}",
            now="Keep the replica out of the router until it is ready, and read the lines before its start.",
        ),
        _gone(options),
    ]


def _gone(options: AlertOptions) -> Alert:
    remembered = options.time(GONE_MEMORY)
    return Alert(
        rule="replica-down-or-restarting",
        needs=("running",),
        expr=f"({seen('running', remembered, options, FLEET)}) unless {on(FLEET)}"
        f" (group {by(FLEET)} (diagnose:running))",
        severity=Severity.CRITICAL,
        hold=GONE_HOLD,
        called="LLMModelGone",
        whole_fleet=True,
        means="No replica of a model publishes metrics any more: all are down, or none is found to be scraped.",
        summary=f"No replica of {_MODEL} publishes metrics",
        now="Check whether replicas run at all, then whether they are still scraped.",
    )


def _stalled(options: AlertOptions) -> list[Alert]:
    names = [f"diagnose:{signal}_progress" for signal in progress_signals(options)]
    if not names:
        return []
    none = " or ".join(f"({name} == 0)" for name in names)
    some = " or ".join(f"({name} > 0)" for name in names)
    window = options.time(engine_stalled.LONG_STEP_SECONDS)
    alert = Alert(
        rule="engine-stalled",
        needs=("running",),
        expr=f"min_over_time(diagnose:running[{window}]) >= 1 and ({none}) unless ({some})",
        severity=Severity.CRITICAL,
        hold=60.0,
        means="Requests run and the process answers, but no counter of tokens or steps moves.",
        summary=f"{_HERE} makes no tokens with {_VALUE} or more requests running",
        now="Take the replica out of the router, whose health check will not; save stacks and the end of the log.",
        avoid="Do not wait for the liveness probe: it asks the API server, which is well.",
    )
    return [alert]


def _ratio(measure: str, labels: tuple[str, ...] = FLEET) -> str:
    """Largest by smallest over replicas."""
    return f"(max {by(labels)} ({measure}) / min {by(labels)} ({measure}))"


def _round_robin() -> Alert:
    rule = round_robin_imbalance
    return Alert(
        rule="round-robin-imbalance",
        needs=("requests_finished", "prompt_tokens", "generation_tokens", "running"),
        expr=f"{_ratio('diagnose:work')} >= {number(rule.UNEQUAL_WORK)}"
        f" and {_ratio('diagnose:served')} <= {number(rule.EQUAL_REQUESTS)}"
        f" and min {by(FLEET)} (diagnose:served) >= {number(rule.MIN_REQUESTS)}"
        f" and {_ratio('diagnose:load')} >= {number(rule.UNEQUAL_RUNNING)}"
        f" and max {by(FLEET)} (diagnose:load) >= {number(rule.MIN_RUNNING)}",
        whole_fleet=True,
        means="Replicas get equally many requests and very unequal work.",
        summary=f"Replicas of {_MODEL} get equally many requests, but one does {_VALUE} times the tokens of another",
        now="Send new requests to the replica with the fewest in flight (a setting of the router).",
        avoid="Do not add replicas first: the quiet one has room.",
    )


def _skew() -> Alert:
    return Alert(
        rule="routing-skew",
        needs=("requests_finished", "waiting"),
        expr=f"{_ratio('diagnose:served')} >= {number(routing_skew.SKEW)}"
        f" and max {by(FLEET)} (diagnose:queue) >= {number(QUEUES)}"
        f" and min {by(FLEET)} (diagnose:queue) <= {number(HAS_ROOM)}",
        whole_fleet=True,
        means="One replica gets far more requests than another, and queues while the other has room.",
        summary=f"Requests for {_MODEL} are spread unevenly: one replica serves {_VALUE} times those of another and queues",
        now="Route by requests in flight, or lower the weight of prefix affinity or stickiness.",
        avoid="Do not add replicas first: one has room.",
    )


def _ranks(options: AlertOptions) -> Alert:
    w = options.time(WINDOW)
    load = f"avg_over_time(diagnose:running[{w}]) + avg_over_time(diagnose:waiting[{w}])"
    queue = f"avg_over_time(diagnose:waiting[{w}])"
    return Alert(
        rule="rank-imbalance",
        expr=f"{_ratio(load, REPLICA)} >= {number(rank_imbalance.UNEQUAL)}"
        f" and max {by(REPLICA)} ({queue}) >= {number(QUEUES)}"
        f" and min {by(REPLICA)} ({queue}) <= {number(HAS_ROOM)}",
        means="One data-parallel rank of a server queues while another rank of it has room.",
        summary=f"Ranks of {_HERE} are loaded unequally: one holds {_VALUE} times the requests of another and queues",
        now="Lower the load until the full rank has drained, or balance in front of ranks that have addresses.",
        avoid="Do not raise the cap of all ranks: only one is full.",
    )


def _idle(options: AlertOptions) -> Alert:
    span = options.time(idle_capacity.HOURS)
    new = f"(time() - {of_target('process_start_time_seconds', options)}) < {number(options.seconds(idle_capacity.HOURS))}"
    return Alert(
        rule="idle-capacity",
        needs=("running",),
        expr=f"avg_over_time(diagnose:idle[{span}]) >= {number(idle_capacity.IDLE_SHARE)}"
        f" unless {on(TARGET)} {new}",
        severity=Severity.INFO,
        role=Role.ADVICE,
        hold=IDLE_HOLD,
        means="A replica had no request for most of the last hours, and is paid for.",
        summary=f"{_HERE} had no request for {{{{ $value | humanizePercentage }}}} of the last {span}",
        now="Scale to fewer replicas in quiet hours, if a start is fast enough for the next peak.",
        avoid="Do not scale to zero without knowing how long a cold start takes.",
    )
