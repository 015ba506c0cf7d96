"""``diagnose backtest``: when alerts would have fired."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from diagnostics.alerts import AlertOptions, alerting_rules
from diagnostics.alerts.backtest import as_json, as_table, backtest, read_rules
from diagnostics.alerts.options import INTERVAL
from diagnostics.alerts.timeline import Span
from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, Parser, duration
from diagnostics.model.errors import OptionError
from diagnostics.model.moments import moment
from diagnostics.options import Access
from diagnostics.sources.http import open_session, without_credentials

# Points of the whole span from which on the step is longer than the evaluation interval.
MAX_EVALUATIONS = 100_000


def parser() -> Parser:
    """The options of this command."""
    made = Parser(
        prog="diagnose backtest",
        description="When these alerts would have fired, how often and how long. Recorded names are replaced by what "
        "defines them, so nothing needs to have been recorded.",
    )
    add = made.add_argument
    add(
        "rules",
        nargs="?",
        metavar="RULES.yml",
        help="rules file or PrometheusRule (default: those of diagnose alerts)",
    )
    add("--prometheus", required=True, metavar="URL", help="metrics API to ask")
    add("--since", default="30d", help="look back so far (default 30d)")
    add("--from", dest="start", metavar="T", help="ISO 8601 or Unix seconds, instead of --since")
    add("--to", dest="end", metavar="T", help="end of the window (default now)")
    add("--step", help="time between evaluations (default 30s; more for long windows)")
    add("--select", default="", metavar="MATCHERS", help="PromQL matchers of the default alerts")
    add("--header", action="append", default=[], metavar="K=V", help="send with every request; repeat")
    add("--bearer-token-file", metavar="F")
    add("--ca-file", metavar="F", help="certificates to trust")
    add("--client-cert", metavar="F")
    add("--client-key", metavar="F")
    add("--org-id", metavar="ID", help="tenant (X-Scope-OrgID)")
    add("--format", choices=("text", "json"), default="text")
    add("--output", metavar="FILE", help="write there instead of to standard output")
    return made


def parse(argv: Sequence[str]) -> Command:
    """Parse ``backtest [RULES.yml] --prometheus URL``."""
    command = parser().parse_args(list(argv[1:]), Command())
    command.action = run
    return command


def run(command: Command) -> int:
    """Ask and print."""
    groups = (
        read_rules(command.rules) if command.rules else alerting_rules(AlertOptions(select=command.select))
    )
    url, inline = without_credentials(command.prometheus.rstrip("/"))
    span = _span(command)
    with open_session(_access(command), inline) as session:
        histories = backtest(groups, session, url, span)
    text = (as_json if command.format == "json" else as_table)(histories, span)
    if not command.output:
        sys.stdout.write(text)
        return Exit.DONE
    try:
        Path(command.output).write_text(text, "utf-8")
    except OSError as error:
        raise OptionError(f"--output {command.output}: {error.strerror or 'cannot be written'}") from error
    return Exit.DONE


def _span(command: Command) -> Span:
    end = moment(command.end) if command.end else time.time()
    start = moment(command.start) if command.start else end - duration(command.since)
    if start >= end:
        raise OptionError("--from must lie before --to")
    step = (
        duration(command.step) if command.step else max(INTERVAL, float(-(-(end - start) // MAX_EVALUATIONS)))
    )
    return Span(start, end, step)


def _access(command: Command) -> Access:
    headers = {}
    for header in command.header:
        key, equals, value = header.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"--header {key}: write it as NAME=VALUE")
        headers[key.strip()] = value.strip()
    for file in (command.bearer_token_file, command.ca_file, command.client_cert, command.client_key):
        if file and not Path(file).is_file():
            raise OptionError(f"{file}: no such file")
    user, colon, password = os.environ.get("DIAGNOSE_BASIC_AUTH", "").partition(":")
    return Access(
        headers=headers,
        bearer_token_file=command.bearer_token_file,
        basic=(user, password) if colon else None,
        ca_file=command.ca_file,
        client_cert=command.client_cert,
        client_key=command.client_key,
        org_id=command.org_id,
    )
