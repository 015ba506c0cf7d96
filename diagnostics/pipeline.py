"""``diagnose``: the one call behind the command, the page and the watcher."""

from __future__ import annotations

from collections.abc import Sequence

from diagnostics.engines import registry
from diagnostics.loading import load, summary, with_times
from diagnostics.model.errors import InputError
from diagnostics.model.report import Diagnosis
from diagnostics.options import Options
from diagnostics.sources.window import cut
from diagnostics.walk import walk


def diagnose(
    inputs: Sequence[str], options: Options | None = None, *, stdin: bytes | None = None, charts: bool = False
) -> Diagnosis:
    """Read inputs, run every rule, report.

    Args:
        inputs: addresses, files, folders, or ``-`` for ``stdin``.
        options: everything else a user can say.
        stdin: the bytes of standard input, when ``-`` is among the inputs.
        charts: whether to return the points of the signals too, for whoever draws.

    Raises:
        InputError: nothing could be read.
        OptionError: an option is wrong.
    """
    options = options or Options()
    registry.name_signals(options.configuration.names)
    loaded = load(inputs, options, stdin)
    if not loaded.captures:
        first = loaded.failed[0].warnings[0] if loaded.failed else "no input given"
        raise InputError(*_split_message(first))
    data = with_times(loaded, options.interval)
    summaries = [summary(c) for c in loaded.captures] + loaded.failed
    if options.after is not None or options.baseline is not None:
        from diagnostics.compare.sides import compared  # noqa: PLC0415  only where it is asked for

        found = compared(inputs, data, summaries, options, stdin, charts)
        if found is not None:
            return found
    for capture, is_timed in zip(data.captures, data.timed, strict=True):
        if is_timed:
            cut(capture, options.start, options.end)
    return walk(data, summaries, options, charts)


def _split_message(message: str) -> tuple[str, str, str, str]:
    source, _, rest = message.partition(": ")
    return source, "", rest or message, ""
