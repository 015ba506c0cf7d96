"""``diagnose alerts``: Prometheus rules for what can be alerted on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from diagnostics.alerts import AlertOptions, alerts_table, as_manifest, as_rules, as_unit_tests
from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, Parser, duration
from diagnostics.engines import registry
from diagnostics.model.errors import OptionError

FORMATS = ("rules", "manifest", "tests", "markdown")


def parser() -> Parser:
    """The options of this command."""
    made = Parser(
        prog="diagnose alerts",
        description="Alerting and recording rules for Prometheus, from the thresholds of the rules themselves.",
    )
    add = made.add_argument
    add("--rule", action="append", default=[], metavar="SLUG", help="only alerts of this rule; repeat")
    add("--ignore", action="append", default=[], metavar="SLUG", help="no alerts of this rule; repeat")
    add(
        "--engine",
        action="append",
        default=[],
        metavar="NAME",
        help="engines to read (default vllm and sglang); repeat",
    )
    add(
        "--select",
        default="",
        metavar="MATCHERS",
        help="PromQL matchers for every selector, like 'job=\"vllm\"'",
    )
    add(
        "--cap",
        type=float,
        metavar="N",
        help="concurrency cap, where all replicas have this one (else inferred)",
    )
    add(
        "--token-budget",
        type=float,
        metavar="N",
        help="token budget of a step, where all replicas have this one",
    )
    add(
        "--slo",
        action="append",
        default=[],
        metavar="ttft_p99=2s",
        help="target; breaking it is critical; repeat",
    )
    _add_output(made)
    return made


def _add_output(made: Parser) -> None:
    add = made.add_argument
    add("--runbook-base", metavar="URL", help="where runbook_url points")
    add("--dashboard-base", metavar="URL", help="where dashboard_url points")
    add("--incidents", action="store_true",
        help="also link the page that the dashboard keeps of each alert it receives from Alertmanager")  # fmt: skip
    add("--scale", type=float, default=1.0, metavar="K", help="multiply every range, for and interval")
    add("--stretch", type=float, default=1.0, metavar="K",
        help="for recordings refilled with times stretched K-fold: divides limits on seconds per second")  # fmt: skip
    add("--keep-firing-for", default="5m", metavar="T", help="against flapping; 0 for Prometheus before 2.42")
    add("--name", default="llm-serving", help="name of the groups and of the manifest")
    add(
        "--label",
        action="append",
        default=[],
        metavar="K=V",
        help="label of the manifest, like release=prometheus; repeat",
    )
    add("--format", choices=FORMATS, default="rules", help="tests: for promtool test rules")
    add("--output", metavar="FILE", help="write there instead of to standard output")


def parse(argv: Sequence[str]) -> Command:
    """Parse ``alerts [options]``."""
    command = parser().parse_args(list(argv[1:]), Command())
    command.action = run
    return command


def to_options(command: Command) -> AlertOptions:
    """What the command line says.

    Raises:
        OptionError: a value is wrong.
    """
    known = [e.name for e in registry.ENGINES if e.serves]
    for name in command.engine:
        if name not in known:
            raise OptionError(f"--engine {name}: no such engine; there are {', '.join(known)}")
    for name in ("scale", "stretch", "cap", "token_budget"):
        value = getattr(command, name)
        if value is not None and not 0 < value < float("inf"):
            raise OptionError(f"--{name.replace('_', '-')} {value:g}: must be above 0")
    if command.incidents and not command.dashboard_base:
        raise OptionError("--incidents: give --dashboard-base too, so that the links have somewhere to point")
    select = command.select.strip()
    if select.startswith("{") and select.endswith("}"):
        select = select[1:-1].strip()
    slo = {name: duration(value) for name, value in _pairs(command.slo, "--slo").items()}
    return AlertOptions(
        only=tuple(command.rule),
        ignore=tuple(command.ignore),
        engines=tuple(command.engine) or AlertOptions().engines,
        select=select,
        runbook_base=command.runbook_base,
        dashboard_base=command.dashboard_base,
        incidents=command.incidents,
        scale=command.scale,
        stretch=command.stretch,
        cap=command.cap,
        token_budget=command.token_budget,
        slo=slo,
        keep=0.0 if command.keep_firing_for == "0" else duration(command.keep_firing_for),
        name=command.name,
        labels=_pairs(command.label, "--label"),
    )


def _pairs(values: Sequence[str], name: str) -> dict[str, str]:
    found = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"{name} {value}: write it as NAME=VALUE")
        found[key.strip()] = rest.strip()
    return found


def run(command: Command) -> int:
    """Write the rules."""
    options = to_options(command)
    if command.format == "tests":
        text = as_unit_tests("rules.yml", options)
    else:
        text = {"rules": as_rules, "manifest": as_manifest, "markdown": alerts_table}[command.format](options)
    if not command.output:
        sys.stdout.write(text)
        return Exit.DONE
    try:
        Path(command.output).write_text(text, "utf-8")
    except OSError as error:
        raise OptionError(f"--output {command.output}: {error.strerror or 'cannot be written'}") from error
    return Exit.DONE
