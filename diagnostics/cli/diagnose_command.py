"""``diagnose INPUT ...``: the main job."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from diagnostics.cli.main import Exit
from diagnostics.cli.options import Command, to_options, wants_colour
from diagnostics.model.errors import OptionError
from diagnostics.model.findings import Severity
from diagnostics.model.report import Diagnosis, Report
from diagnostics.pipeline import diagnose


def run(command: Command) -> int:
    """Diagnose the inputs and print the report."""
    stdin = sys.stdin.buffer.read() if "-" in command.inputs else None
    diagnosis = diagnose(
        command.inputs, to_options(command), stdin=stdin, charts=command.format in ("html", "pdf")
    )
    if command.redact:
        from diagnostics.reports.redact import redact  # noqa: PLC0415  only when asked for

        diagnosis = redact(diagnosis)
    if command.export_bench:
        from diagnostics.sources.bench.export import export  # noqa: PLC0415  only when asked for

        _save("--export-bench", command.export_bench, export(diagnosis.runs).encode())
    _write(command, _render(diagnosis, command))
    if command.verbose:
        for entry in diagnosis.report.inputs:
            print(f"{entry.source}: {entry.kind}; {entry.recognised}", file=sys.stderr)
    return _status(diagnosis.report, command.fail_on)


def _render(diagnosis: Diagnosis, command: Command) -> str | bytes:
    """The report in the format asked for; only that format's module is loaded."""
    if command.format == "text":
        from diagnostics.reports import text  # noqa: PLC0415

        return text.render(diagnosis.report, colour=command.output is None and wants_colour())
    module = import_module(f"diagnostics.reports.{command.format}")
    content: str | bytes = module.render(diagnosis if command.format in ("html", "pdf") else diagnosis.report)
    return content + "\n" if isinstance(content, str) and not content.endswith("\n") else content


def _write(command: Command, content: str | bytes) -> None:
    if command.output is None:
        _print(content)
        return
    _save("--output", command.output, content.encode() if isinstance(content, str) else content)


def _save(option: str, file: str, data: bytes) -> None:
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise OptionError(f"{option} {file}: cannot be written: {error.strerror}") from error


def _print(content: str | bytes) -> None:
    if isinstance(content, bytes) and sys.stdout.isatty():
        raise OptionError("--format pdf: give --output FILE, a terminal cannot show it")
    try:
        if isinstance(content, bytes):
            sys.stdout.buffer.write(content)
        else:
            sys.stdout.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OptionError(
            f"standard output: cannot be written: {(error.strerror or str(error)).lower()}"
        ) from error


def _status(report: Report, fail_on: str) -> int:
    if report.verdict.status == "insufficient-data":
        return Exit.INSUFFICIENT_DATA
    if fail_on != "never":
        limit = Severity(fail_on).rank
        if any(f.severity.rank <= limit for f in report.findings):
            return Exit.FINDING_AT_LIMIT
    return Exit.DONE
