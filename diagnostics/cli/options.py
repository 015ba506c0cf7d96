"""The options of the command line, and what they mean to the library."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path

from diagnostics.model.configuration import Configuration
from diagnostics.model.errors import OptionError
from diagnostics.model.moments import moment
from diagnostics.options import TOOL, Access, Options

SUBCOMMANDS = ("rules", "explain", "plan", "dashboard", "alerts", "backtest", "watch")
SLO_NAMES = (
    *(
        f"{signal}_{stat}"
        for signal in ("ttft", "itl", "tpot", "e2e")
        for stat in ("mean", "p50", "p90", "p99")
    ),
    "queue_mean",
)
EXECUTIONS = ("auto", "local", "pushdown")
FORMATS = ("text", "json", "markdown", "html", "pdf", "junit")
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0, "ms": 0.001}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")


class Command(argparse.Namespace):
    """A parsed command line."""

    action: Callable[[Command], int]
    inputs: list[str]
    format: str
    output: str | None
    export_bench: str | None
    quiet: bool
    verbose: bool
    fail_on: str
    configuration: Configuration = Configuration()


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes are one line, like every other bad input."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Raise instead of printing the usage."""
        raise OptionError(f"{message}; see diagnose --help")


def duration(text: str) -> float:
    """Seconds of ``30m``, ``1h30m``, ``15s`` or a plain number.

    Raises:
        OptionError: not a duration.
    """
    parts = _DURATION.findall(text)
    if parts and "".join(n + u for n, u in parts) == text and any(float(n) for n, _ in parts):
        return sum(float(n) * _UNITS[u] for n, u in parts)
    try:
        value = float(text)
    except ValueError as error:
        raise OptionError(f"{text!r} is no duration; write it like 30s, 15m or 2h") from error
    if not 0 < value < float("inf"):
        raise OptionError(f"{text!r} is no duration; write it like 30s, 15m or 2h")
    return value


def _pairs(values: Sequence[str], name: str) -> dict[str, str]:
    found = {}
    for value in values:
        key, equals, rest = value.partition("=")
        if not equals or not key.strip():
            # What was given may be a secret, so it is not repeated.
            raise OptionError(f"{name}: write it as NAME=VALUE")
        found[key.strip()] = rest.strip()
    return found


def main_parser() -> Parser:
    """The parser of the main command; the dashboard takes the same options."""
    parser = Parser(
        prog="diagnose",
        description="Find out why an LLM server is slow: the cause, the proof, and the exact change.",
        epilog="Also: diagnose rules | explain CODE-OR-SLUG | plan | alerts | backtest | watch | "
        "dashboard. Exit status: 0 done, 1 a finding at or above "
        "--fail-on, 2 nothing could be read or an option is wrong, 3 insufficient data.",
    )
    add = parser.add_argument
    add(
        "inputs",
        nargs="*",
        metavar="INPUT",
        help="address of a metrics API or /metrics page, file, folder, or -",
    )
    window = parser.add_argument_group("window of live sources")
    window.add_argument("--since", default="30m", help="look back so far (default 30m)")
    window.add_argument(
        "--from", dest="start", metavar="T", help="ISO 8601 or Unix seconds, instead of --since"
    )
    window.add_argument("--to", dest="end", metavar="T", help="end of the window (default now)")
    window.add_argument("--step", help="seconds between points (default chosen from the window)")
    window.add_argument(
        "--select", default="", metavar="MATCHERS", help="PromQL matchers, like 'job=\"vllm\"'"
    )
    window.add_argument(
        "--execution",
        choices=EXECUTIONS,
        default="auto",
        help="where statistics are computed (default auto: here)",
    )
    compare = parser.add_argument_group("comparison")
    compare.add_argument("--after", metavar="T", help="did the change at this time help?")
    compare.add_argument(
        "--baseline",
        metavar="FROM..TO|PATH",
        help="a window, or other inputs, to compare with (run A of an A/B)",
    )
    facts = parser.add_argument_group("facts that no input carries")
    facts.add_argument("--interval", help="time between dumps that carry no time")
    facts.add_argument("--timezone", metavar="Z", help="zone of logs that carry none (default UTC)")
    facts.add_argument("--engine-args", metavar="'vllm serve ...'", help="the launch command")
    facts.add_argument("--gpu", help="like 'H100 SXM'")
    facts.add_argument("--gpu-hourly", type=float, metavar="PRICE", help="price of one GPU for an hour")
    facts.add_argument("--slo", action="append", default=[], metavar="ttft_p99=2s", help="target; repeat")
    access = parser.add_argument_group(
        "access to a metrics engine (basic auth: DIAGNOSE_BASIC_AUTH=user:password)"
    )
    access.add_argument(
        "--header", action="append", default=[], metavar="K=V", help="send with every request; repeat"
    )
    access.add_argument("--bearer-token-file", metavar="F")
    access.add_argument("--ca-file", metavar="F", help="certificates to trust")
    access.add_argument("--client-cert", metavar="F")
    access.add_argument("--client-key", metavar="F")
    access.add_argument("--org-id", metavar="ID", help="tenant (X-Scope-OrgID)")
    rules = parser.add_argument_group("rules")
    rules.add_argument(
        "--config", metavar="FILE", help="TOML: any option by name, severities, ignores, links, names"
    )
    rules.add_argument("--rule", action="append", default=[], metavar="SLUG", help="only this one; repeat")
    rules.add_argument(
        "--ignore", action="append", default=[], metavar="SLUG", help="suppress it, counted; repeat"
    )
    out = parser.add_argument_group("output")
    out.add_argument("--format", choices=FORMATS, default="text")
    out.add_argument("--output", metavar="FILE", help="write there instead of to standard output")
    out.add_argument("--export-bench", metavar="FILE", help="benchmark runs as llm-d benchmark report 0.2")
    out.add_argument("--store", metavar="FILE", help="keep the data in this DuckDB file")
    out.add_argument("--runbook-base", metavar="URL", help="where runbook links point")
    out.add_argument("--dashboard-base", metavar="URL", help="where dashboard links point")
    out.add_argument("--fail-on", choices=("critical", "warning", "info", "never"), default="never")
    out.add_argument("--redact", action="store_true", help="remove hosts, paths, users, prompts and tokens")
    out.add_argument("--quiet", action="store_true", help="no progress")
    out.add_argument("--verbose", action="store_true", help="also what was recognised and what was not used")
    out.add_argument("--version", action="version", version=f"diagnose {TOOL.version}")
    return parser


def help_text(width: int = 110) -> str:
    """The help of the main command, as the documentation shows it."""
    parser = main_parser()
    parser.formatter_class = lambda prog: argparse.HelpFormatter(prog, width=width)
    return parser.format_help()


def parse(argv: Sequence[str]) -> Command:
    """Parse a command line.

    Raises:
        OptionError: an option is wrong.
    """
    if argv and argv[0] in SUBCOMMANDS:
        return _subcommand(argv)
    from diagnostics.cli import diagnose_command  # noqa: PLC0415  only what the command needs

    command = parse_with_defaults(main_parser(), argv)
    if not command.inputs:
        raise OptionError(
            "no input given: name an address, a file, a folder, or - for standard input; see diagnose --help"
        )
    command.action = diagnose_command.run
    return command


def _subcommand(argv: Sequence[str]) -> Command:
    """Parse a command line whose first word is a subcommand."""
    modules = {"rules": "rules_command", "explain": "rules_command"}
    module = import_module(f"diagnostics.cli.{modules.get(argv[0], argv[0] + '_command')}")
    command: Command = module.parse(argv)
    return command


_OFF = ("0", "false", "no", "off")
# What makes no sense to set once for all runs.
_NOT_STORED = frozenset({"help", "version", "config"})


def parse_with_defaults(parser: Parser, argv: Sequence[str]) -> Command:
    """Parse a command line on top of the environment, and that on top of the configuration file.

    Raises:
        OptionError: an option, a variable or a key of the file is wrong.
    """
    actions = {
        text.removeprefix("--"): action
        for action in parser._actions
        for text in action.option_strings
        if text.startswith("--") and text.removeprefix("--") not in _NOT_STORED
    }
    named = Parser(add_help=False)
    named.add_argument("--config", default=os.environ.get("DIAGNOSE_CONFIG"))
    path = named.parse_known_args([a for a in argv if a not in ("-h", "--help")])[0].config
    configuration = Configuration()
    if path:
        from diagnostics.configuration import read_configuration  # noqa: PLC0415  only when a file is given
        from diagnostics.evaluate.registry import all_rules  # noqa: PLC0415

        configuration = read_configuration(path, actions, [rule.slug for rule in all_rules()])
    found: list[str] = []
    for name, value in configuration.options.items():
        found += _as_arguments(name, value)
    for name, action in actions.items():
        said = os.environ.get("DIAGNOSE_" + name.upper().replace("-", "_"))
        if said:
            if action.nargs != 0:
                found.append(f"--{name}={said}")
            elif said.lower() not in _OFF:
                found.append(f"--{name}")
    command = parser.parse_args(found + list(argv), Command())
    command.configuration = configuration
    return command


def _as_arguments(name: str, value: list[str] | bool) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    return [f"--{name}={v}" for v in value]


def to_options(command: Command) -> Options:
    """What the command line says, in the library's words.

    Raises:
        OptionError: a value is wrong.
    """
    configuration = command.configuration
    basic = os.environ.get("DIAGNOSE_BASIC_AUTH", "")
    user, colon, password = basic.partition(":")
    for file in (command.bearer_token_file, command.ca_file, command.client_cert, command.client_key):
        if file and not Path(file).is_file():
            raise OptionError(f"{file}: no such file")
    if command.execution == "pushdown":
        raise OptionError(
            "--execution pushdown: statistics are computed here, from range queries; leave it out or say local"
        )
    _check_slugs([*command.rule, *command.ignore])
    start = moment(command.start) if command.start else None
    end = moment(command.end) if command.end else None
    if start is not None and (end or datetime.now(UTC).timestamp()) <= start:
        raise OptionError("--from must lie before --to")
    return Options(
        since=duration(command.since),
        start=start,
        end=end,
        step=duration(command.step) if command.step else None,
        select=_matchers(command.select),
        interval=duration(command.interval) if command.interval else None,
        timezone=command.timezone,
        engine_args=command.engine_args,
        gpu=command.gpu,
        gpu_hourly=command.gpu_hourly,
        slo=_targets([*(f"{k}={v}" for k, v in configuration.slo.items()), *command.slo]),
        access=Access(
            headers=_pairs(command.header, "--header"),
            bearer_token_file=command.bearer_token_file,
            basic=(user, password) if colon else None,
            ca_file=command.ca_file,
            client_cert=command.client_cert,
            client_key=command.client_key,
            org_id=command.org_id,
        ),
        store=command.store,
        only=tuple(command.rule),
        ignore=tuple(command.ignore),
        runbook_base=command.runbook_base,
        dashboard_base=command.dashboard_base,
        baseline=command.baseline,
        after=moment(command.after) if command.after else None,
        configuration=configuration,
    )


def _targets(values: Sequence[str]) -> dict[str, float]:
    """Targets by name; a name that nothing is measured for is refused, not passed over."""
    found = {name: duration(value) for name, value in _pairs(values, "--slo").items()}
    for name in found:
        if name not in SLO_NAMES:
            raise OptionError(f"--slo {name}: no such target; there are {', '.join(SLO_NAMES)}")
    return found


def _matchers(text: str) -> str:
    """Matchers without braces."""
    inner = text.strip()
    return inner[1:-1].strip() if inner.startswith("{") and inner.endswith("}") else inner


def _check_slugs(slugs: list[str]) -> None:
    from diagnostics.evaluate.registry import all_rules  # noqa: PLC0415  only when slugs are given

    if not slugs:
        return
    known = {r.slug for r in all_rules()}
    for slug in slugs:
        if slug not in known:
            raise OptionError(f"{slug}: no such rule; see diagnose rules")


def wants_colour() -> bool:
    """Whether standard output is a terminal that may show colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
