"""Alerts: the rules that PromQL can express, as Prometheus alerting and recording rules."""

from diagnostics.alerts.options import AlertOptions
from diagnostics.alerts.render import alerts_table, as_manifest, as_rules, as_unit_tests
from diagnostics.alerts.rules import alerting_rules, covered, not_covered

__all__ = [
    "AlertOptions",
    "alerting_rules",
    "alerts_table",
    "as_manifest",
    "as_rules",
    "as_unit_tests",
    "covered",
    "not_covered",
]
