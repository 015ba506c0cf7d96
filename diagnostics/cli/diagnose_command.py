"""``diagnose INPUT ...``: the main job."""

from __future__ import annotations

import sys
from pathlib import Path

from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, to_options, wants_colour
from diagnostics.model.errors import OptionError
from diagnostics.model.findings import Severity
from diagnostics.model.report import Report
from diagnostics.pipeline import diagnose


def run(command: Command) -> int:
    """Diagnose the inputs and print the report."""
    stdin = sys.stdin.buffer.read() if "-" in command.inputs else None
    diagnosis = diagnose(command.inputs, to_options(command), stdin=stdin)
    _write(command, _render(diagnosis.report, command))
    if command.verbose:
        for entry in diagnosis.report.inputs:
            print(f"{entry.source}: {entry.kind}; {entry.recognised}", file=sys.stderr)
    return _status(diagnosis.report, command.fail_on)


def _render(report: Report, command: Command) -> str:
    if command.format == "json":
        from diagnostics.reports import json  # noqa: PLC0415  only the format that is asked for

        return json.render(report) + "\n"
    if command.format == "markdown":
        from diagnostics.reports import markdown  # noqa: PLC0415

        return markdown.render(report)
    from diagnostics.reports import text  # noqa: PLC0415

    return text.render(report, colour=command.output is None and wants_colour())


def _write(command: Command, content: str) -> None:
    if command.output is None:
        sys.stdout.write(content)
        return
    try:
        Path(command.output).write_text(content, "utf-8")
    except OSError as error:
        raise OptionError(f"--output {command.output}: cannot be written: {error.strerror}") from error


def _status(report: Report, fail_on: str) -> int:
    if report.verdict.status == "insufficient-data":
        return Exit.INSUFFICIENT_DATA
    if fail_on != "never":
        limit = Severity(fail_on).rank
        if any(f.severity.rank <= limit for f in report.findings):
            return Exit.FINDING_AT_LIMIT
    return Exit.DONE
