"""The groups of rules that Prometheus loads."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from diagnostics.alerts.alert import Alert
from diagnostics.alerts.fleet import fleet_alerts
from diagnostics.alerts.measures import PREFIX, Measures, measures
from diagnostics.alerts.names import known
from diagnostics.alerts.options import INTERVAL, AlertOptions, duration, number
from diagnostics.alerts.replica import replica_alerts
from diagnostics.evaluate.registry import all_rules, rule_named
from diagnostics.execute.rule import Rule
from diagnostics.model.errors import OptionError

# s of the past that a dashboard link opens, ending at the alert's own time.
LINK_SECONDS = 3600.0
_NAME = re.compile(rf"{PREFIX}\w+")

Group = dict[str, Any]


def alerts(options: AlertOptions) -> list[Alert]:
    """The alerts chosen, in the order of the rules' codes.

    Raises:
        OptionError: a slug is no rule, or has no alert.
    """
    every = [*replica_alerts(options), *fleet_alerts(options)]
    made = [a for a in every if all(known(signal, options) for signal in a.needs)]
    have = {a.rule for a in made}
    for slug in (*options.only, *options.ignore):
        if rule_named(slug) is None:
            raise OptionError(f"{slug}: no such rule; see diagnose rules")
        if slug in options.only and slug not in have:
            raise OptionError(
                f"{slug}: no alert of these engines expresses this rule; there are alerts for {', '.join(sorted(have))}"
            )
    chosen = [
        a for a in made if (not options.only or a.rule in options.only) and a.rule not in options.ignore
    ]
    return sorted(chosen, key=lambda a: (rule_of(a).code, a.name, a.severity.value))


def rule_of(alert: Alert) -> Rule:
    """The rule that an alert stands for."""
    rule = rule_named(alert.rule)
    assert rule is not None  # noqa: S101  a test holds every alert to a rule
    return rule


def covered() -> list[str]:
    """Slugs of the rules that have alerts."""
    return sorted({a.rule for a in alerts(AlertOptions())})


def not_covered() -> list[str]:
    """Slugs of the rules that have none: they need logs, settings, benchmarks, or more than a window."""
    have = set(covered())
    return sorted(r.slug for r in all_rules() if r.slug not in have)


def alerting_rules(options: AlertOptions | None = None) -> list[Group]:
    """Recording and alerting rules as groups, in Prometheus' own form.

    Args:
        options: which alerts, for which engines, with which links; the defaults without.

    Returns:
        A group of recordings, one of alerts; the recordings hold only what these alerts read.

    Raises:
        OptionError: an option is wrong.
    """
    options = options or AlertOptions()
    chosen = alerts(options)
    written = [_alert(a, options) for a in chosen]
    used = _used([a.expr for a in chosen], measures(options))
    interval = duration(max(1.0, round(INTERVAL * options.scale)))
    recordings = [{"record": name, "expr": expression} for name, expression in used.items()]
    return [
        {"name": f"{options.name}-measures", "interval": interval, "rules": recordings},
        {"name": f"{options.name}-alerts", "interval": interval, "rules": written},
    ]


def _used(expressions: list[str], defined: Measures) -> Measures:
    """Recordings that are read, directly or by others, in the order of their definition."""
    wanted: set[str] = set()
    open_ends = list(expressions)
    while open_ends:
        fresh = set(_NAME.findall(open_ends.pop())) - wanted
        wanted |= fresh
        open_ends += [defined[name] for name in fresh]
    return {name: expression for name, expression in defined.items() if name in wanted}


def _alert(alert: Alert, options: AlertOptions) -> dict[str, Any]:
    rule = rule_of(alert)
    notes = {"summary": alert.summary, "description": _description(alert)}
    if options.runbook_base:
        notes["runbook_url"] = f"{options.runbook_base.rstrip('/')}/{alert.rule}"
    else:
        notes["runbook"] = f"diagnose explain {alert.rule}"
    if options.dashboard_base:
        notes["dashboard_url"] = _link(alert, options.dashboard_base)
        if options.incidents:
            notes["incident_url"] = _incident(alert, options.dashboard_base)
    found: dict[str, Any] = {"alert": alert.name, "expr": alert.expr}
    if alert.hold:
        found["for"] = options.time(alert.hold)
        if options.keep:
            found["keep_firing_for"] = options.time(options.keep)
    found["labels"] = {
        "severity": alert.severity.value,
        "rule": alert.rule,
        "code": rule.code,
        "role": alert.role.value,
    }
    found["annotations"] = notes
    return found


def _description(alert: Alert) -> str:
    parts = [alert.means, f"Now: {alert.now}", alert.avoid]
    return " ".join(p for p in parts if p)


def _link(alert: Alert, base: str) -> str:
    """The dashboard at the alert's labels and time."""
    at = '{{{{ query "{}" | first | value | printf "%.0f" }}}}'
    select = quote('job="') + "{{ $labels.job | urlquery }}" + quote('"')
    if alert.whole_fleet:
        select += quote(',model_name="') + "{{ $labels.model_name | urlquery }}" + quote('"')
        replica = ""
    else:
        replica = "&replica={{ or $labels.pod $labels.instance | urlquery }}"
    start, end = at.format(f"time() - {number(LINK_SECONDS)}"), at.format("time()")
    return f"{base.rstrip('/')}/?select={select}{replica}&from={start}&to={end}"


def _incident(alert: Alert, base: str) -> str:
    """The page that holds the diagnosis of this alert, found by its labels."""
    names = ("job", "model_name") if alert.whole_fleet else ("job", "instance")
    labels = "".join(f"&{name}={{{{ $labels.{name} | urlquery }}}}" for name in names)
    return f"{base.rstrip('/')}/incidents?alertname={alert.name}&severity={alert.severity.value}{labels}"
