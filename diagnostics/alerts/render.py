"""Groups of rules as text: a rules file, a manifest, unit tests, a table for the documentation."""

from __future__ import annotations

from typing import Any

import yaml

from diagnostics.alerts.options import AlertOptions
from diagnostics.alerts.rules import alerting_rules, alerts
from diagnostics.alerts.unit_tests import unit_tests
from diagnostics.evaluate.runner import runbook_link


def as_rules(options: AlertOptions | None = None) -> str:
    """A file for ``rule_files`` of Prometheus."""
    return _yaml({"groups": alerting_rules(options)})


def as_manifest(options: AlertOptions | None = None) -> str:
    """A ``PrometheusRule`` for the Prometheus operator."""
    options = options or AlertOptions()
    labels = {"app.kubernetes.io/name": options.name, **options.labels}
    return _yaml(
        {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {"name": options.name, "labels": labels},
            "spec": {"groups": alerting_rules(options)},
        }
    )


def as_unit_tests(rules_file: str, options: AlertOptions | None = None) -> str:
    """A file for ``promtool test rules`` that makes each alert fire and stay silent.

    Args:
        rules_file: where the rules file of the same options lies, as seen from this one.
        options: of the rules file.
    """
    return _yaml(unit_tests(rules_file, options or AlertOptions()))


def alerts_table(options: AlertOptions | None = None) -> str:
    """A Markdown table of the alerts."""
    options = options or AlertOptions()
    lines = ["| alert | severity | for | what it means | runbook |", "| --- | --- | --- | --- | --- |"]
    for a in alerts(options):
        hold = options.time(a.hold) if a.hold else "0s"
        link = runbook_link(a.rule, options.runbook_base)
        runbook = f"[{a.rule}]({link})" if options.runbook_base else f"`{link}`"
        lines.append(f"| `{a.name}` | {a.severity.value} | {hold} | {a.means} | {runbook} |")
    return "\n".join(lines) + "\n"


class _Dumper(yaml.SafeDumper):
    """Long texts as blocks, and no references between equal parts."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _yaml(content: Any) -> str:
    text: str = yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=100, allow_unicode=True)
    return text
