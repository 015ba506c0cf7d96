"""The whole walk on one screen: inputs -> captures -> store -> signals -> regimes -> rules -> report."""

from __future__ import annotations

import time
import zoneinfo
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from diagnostics.compare.comparison import Side, compare_worst
from diagnostics.compare.split import Material, Pair, around, beside, inside, window_of
from diagnostics.engines import registry
from diagnostics.evaluate import preferences
from diagnostics.evaluate.causes import rank
from diagnostics.evaluate.collect import collect_next
from diagnostics.evaluate.registry import all_rules
from diagnostics.evaluate.runner import Results, run_rules
from diagnostics.evaluate.verdict import coverage, since, verdict, worst_regime
from diagnostics.execute.bench import BASELINE, without_requests
from diagnostics.execute.charts import signal_series
from diagnostics.execute.facts import Facts
from diagnostics.execute.facts import Options as FactOptions
from diagnostics.execute.sql import Answers, write_spans
from diagnostics.execute.ttft import time_to_first_token
from diagnostics.model.bench import BenchRun
from diagnostics.model.errors import InputError, OptionError
from diagnostics.model.findings import Finding, Window
from diagnostics.model.moments import written
from diagnostics.model.report import (
    SCHEMA_VERSION,
    DeploymentSummary,
    Diagnosis,
    InputSummary,
    Known,
    NotEvaluated,
    ReplicaRegimes,
    Report,
    ReportWindow,
    Verdict,
)
from diagnostics.model.samples import Capture, InputKind, Provenance, Resolution, Setting
from diagnostics.options import TOOL, Options
from diagnostics.signals import identity, timebase
from diagnostics.signals.build import build_signals, resolution_of
from diagnostics.signals.episodes import Episode, stalls
from diagnostics.signals.regimes import EntityRegimes, decide
from diagnostics.signals.settings import BUDGET_NAMES, CAP_NAMES, by_entity, conflicts, limit
from diagnostics.sources.content import Content
from diagnostics.sources.merge import merge
from diagnostics.sources.recognise import ReadOptions, files_of, read_content
from diagnostics.sources.window import cut
from diagnostics.store.database import open_store
from diagnostics.store.writer import write_capture


class Loaded(Struct):
    """Captures of all inputs, and what became of the inputs that could not be read."""

    captures: list[Capture] = field(default_factory=list)
    modified: list[float | None] = field(default_factory=list)
    failed: list[InputSummary] = field(default_factory=list)

    def add(self, content: Content, options: ReadOptions) -> None:
        """Read one input; a bad one is noted and the rest goes on."""
        try:
            self.captures.append(read_content(content, options))
            self.modified.append(content.modified)
        except InputError as error:
            self.failed.append(
                InputSummary(content.source, InputKind.UNKNOWN, None, None, 0, 0, "not read", (str(error),))
            )


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
    summaries = [_summary(c) for c in loaded.captures] + loaded.failed
    if options.after is not None or options.baseline is not None:
        found = _compared(inputs, data, summaries, options, stdin, charts)
        if found is not None:
            return found
    for capture, is_timed in zip(data.captures, data.timed, strict=True):
        if is_timed:
            cut(capture, options.start, options.end)
    return walk(data, summaries, options, charts)


def walk(data: Material, summaries: list[InputSummary], options: Options, charts: bool = False) -> Diagnosis:
    """Diagnose what was read, over a store of its own.

    Args:
        data: captures with times, and who is who in them.
        summaries: what became of each input, for the report.
        options: as for :func:`diagnose`.
        charts: the same.
    """
    db = open_store(options.store)
    try:
        return _diagnose(db, data, summaries, options, charts)[0]
    finally:
        db.close()


def _compared(
    inputs: Sequence[str], data: Material, summaries: list[InputSummary], options: Options, stdin: bytes | None,
    charts: bool,
) -> Diagnosis | None:  # fmt: skip
    """Walk over both sides, and report the later one with what differs; None where there is nothing to compare."""
    pair = _sides(inputs, data, options, stdin)
    if pair is None:
        return None
    stores = open_store(None), open_store(options.store)
    try:
        plain = replace(options, after=None, baseline=None)
        earlier = _diagnose(stores[0], pair.before, [], plain, charts=False)[1]
        diagnosis, later = _diagnose(stores[1], pair.after, summaries, options, charts)
        sides = [[Side(j.facts, j.results, j.findings) for j in judged] for judged in (earlier, later)]
        found = compare_worst(*sides, asked=pair.asked, same_servers=pair.same_servers)
        return replace(diagnosis, report=replace(diagnosis.report, comparison=found))
    finally:
        for db in stores:
            db.close()


def _sides(inputs: Sequence[str], data: Material, options: Options, stdin: bytes | None) -> Pair | None:
    """The two sides that the options ask for; None where a baseline holds benchmark results only."""
    if options.after is not None:
        before, after = around(options.after, data)
        return Pair(before, after, f"--after {written(options.after)}", same_servers=True)
    named = options.baseline or ""
    window = window_of(named)
    plain = replace(options, baseline=None)
    if window is None:
        loaded = load([named], plain)
        if not loaded.captures:
            reason = loaded.failed[0].warnings[0] if loaded.failed else f"{named}: holds no file"
            raise OptionError(f"--baseline {reason}")
        other = with_times(loaded, options.interval)
        return (
            Pair(other, data, f"--baseline {named}", same_servers=False) if other.has_more_than_runs else None
        )
    asked = (options.start, options.end or time.time()) if options.start is not None else None
    earlier = data
    if any(i.startswith(("http://", "https://")) for i in inputs):
        earlier = with_times(
            load(inputs, replace(plain, start=window[0], end=window[1]), stdin), options.interval
        )
    question = f"--baseline {written(window[0])}..{written(window[1])}"
    return Pair(inside(window, earlier), beside(window, asked, data), question, same_servers=True)


def _split_message(message: str) -> tuple[str, str, str, str]:
    source, _, rest = message.partition(": ")
    return source, "", rest or message, ""


def load(inputs: Sequence[str], options: Options, stdin: bytes | None = None) -> Loaded:
    """Read every input into captures."""
    loaded = Loaded()
    reading = ReadOptions(_zone(options.timezone))
    for source in inputs:
        if source == "-":
            loaded.add(Content("standard input", data=stdin or b""), reading)
        elif source.startswith(("http://", "https://")):
            _load_live(source, options, loaded)
        elif "://" in source:
            raise OptionError(f"{source}: only http and https addresses are read; give a file by its path")
        else:
            _load_path(Path(source), source, reading, loaded)
    return loaded


def _load_path(path: Path, source: str, reading: ReadOptions, loaded: Loaded) -> None:
    if not path.exists():
        loaded.failed.append(
            InputSummary(source, InputKind.UNKNOWN, None, None, 0, 0, "not read", (
                str(InputError(source, "", "does not exist", "check the path")),))
        )  # fmt: skip
        return
    if path.is_dir():
        for file in files_of(path):
            loaded.add(Content(f"{source.rstrip('/')}/{file.relative_to(path)}", path=file), reading)
        return
    loaded.add(Content(source, path=path), reading)


def _load_live(source: str, options: Options, loaded: Loaded) -> None:
    from diagnostics.sources import live  # noqa: PLC0415  the HTTP client is only loaded when it is used

    try:
        captures = live.read_live(source, options)
    except InputError as error:
        loaded.failed.append(
            InputSummary(source, InputKind.PROMETHEUS, None, None, 0, 0, "not read", (str(error),))
        )
        return
    loaded.captures.extend(captures)
    loaded.modified.extend(None for _ in captures)


def _zone(name: str | None) -> zoneinfo.ZoneInfo | None:
    if name is None:
        return None
    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError) as error:
        raise OptionError(f"--timezone {name}: no such zone; write it like Europe/Berlin") from error


def _diagnose(
    db: duckdb.DuckDBPyConnection, data: Material, inputs: list[InputSummary], options: Options, charts: bool
) -> tuple[Diagnosis, list[Judged]]:
    """From captures to a report; also the deployments as they were judged, worst first."""
    captures, timed, identities = data.captures, data.timed, data.identities
    firsts = [_store(db, capture, is_timed) for capture, is_timed in zip(captures, timed, strict=True)]
    build_signals(db, captures, identities, firsts, timed)
    settings = by_entity(captures, identities, _asked(options))
    size = len(identities.entities)
    caps = {e: v for e in range(size) if (v := limit(settings[e], CAP_NAMES)) is not None}
    budgets = {e: v for e in range(size) if (v := limit(settings[e], BUDGET_NAMES)) is not None}
    courses = decide(db, size, caps, budgets)
    episodes = stalls(db, size)
    write_spans(db, courses, episodes)
    answers = Answers(db, size)
    answers.load()
    judged = _worst_first(
        [
            _judge(facts, options)
            for facts in _deployments(db, captures, identities, courses, episodes, settings, answers, options)
        ]
    )
    report = _report(db, inputs, captures, judged)
    series = tuple(signal_series(db, identities.entities)) if charts else ()
    answered = {j.facts.deployment: _answered(j) for j in judged}
    view = None
    facts: tuple[Known, ...] = ()
    if charts and judged:
        from diagnostics.execute.bench_view import bench_view  # noqa: PLC0415  only for whoever draws
        from diagnostics.execute.capacity import known  # noqa: PLC0415

        view, facts = bench_view(judged[0].facts), known(judged[0].facts)
    runs = [r for r in (judged[0].facts.runs if judged else ()) if BASELINE not in r.extra]
    told = tuple(without_requests(run) for run in runs)
    return Diagnosis(report, series, answered, told, view, facts), judged


def with_times(loaded: Loaded, interval: float | None) -> Material:
    """Captures with a time at every sample, whether these are true times, and who is who in them.

    The dumps of one replica become one capture; a log takes the clock of the metrics that it follows.
    """
    identities = identity.resolve(loaded.captures)
    captures: list[Capture] = []
    timed: list[bool] = []
    dumps: dict[tuple[str, ...], list[timebase.Untimed]] = {}
    for i, capture in enumerate(loaded.captures):
        if shift := identities.shifts.get(i, 0.0):
            timebase.move_clock(capture, shift)
        if timebase.has_times(capture):
            captures.append(capture)
            timed.append(True)
            continue
        names = tuple(sorted({name for (c, _), name in identities.replica_of_local.items() if c == i}))
        dumps.setdefault(names, []).append(timebase.Untimed(capture, loaded.modified[i]))
    for members in dumps.values():
        timed.append(timebase.give_times(members, interval))
        ordered = [d.capture for d in timebase.order(members)]
        captures.append(merge(ordered) if len(ordered) > 1 else ordered[0])
    # Merging renumbers captures; where nothing was merged the first answer still holds.
    merged = [a is not b for a, b in zip(captures, loaded.captures, strict=False)]
    return Material(captures, timed, identity.resolve(captures) if any(merged) else identities)


def _store(db: duckdb.DuckDBPyConnection, capture: Capture, timed: bool) -> int:
    """Store a capture and return the number of its first series, 0 where it has none."""
    if capture.runs and not (capture.series or capture.settings or capture.events):
        return 0  # benchmark runs go to the rules as they are; a transaction for each of hundreds would take longest
    number = write_capture(db, capture, timed=timed)
    row = db.execute("SELECT min(series_id) FROM series WHERE input_id = ?", [number]).fetchone()
    return int(row[0]) if row and row[0] is not None else 0


def _asked(options: Options) -> list[Setting]:
    if not options.engine_args:
        return []
    from diagnostics.sources.config.command import read_command  # noqa: PLC0415

    return [
        replace(s, where="asked: --engine-args") for s in read_command(options.engine_args, "asked").settings
    ]


class Judged(Struct):
    """One deployment with its verdict."""

    facts: Facts
    results: Results
    findings: list[Finding]
    verdict: Verdict


def _deployments(
    db: duckdb.DuckDBPyConnection,
    captures: list[Capture],
    identities: identity.Identities,
    courses: list[EntityRegimes],
    episodes: list[Episode],
    settings: list[dict[str, Setting]],
    answers: Answers,
    options: Options,
) -> list[Facts]:
    scrapes = dict(db.execute("SELECT e, n FROM steps").fetchall())
    untimed = dict(
        db.execute("SELECT e, count(DISTINCT t) FROM points WHERE NOT timed GROUP BY e").fetchall()
    )
    start, end = _range(db)
    events = [
        replace(event, labels={**event.labels, "input": capture.source})
        for capture in captures
        for event in capture.events
    ]
    runs = _runs(captures) + _baseline_runs(options)
    result = []
    for name in dict.fromkeys(e.deployment for e in identities.entities):
        members = [e for e in identities.entities if e.deployment == name]
        resolution = [
            max(
                resolution_of(int(scrapes.get(e.number, 0)), True),
                resolution_of(int(untimed.get(e.number, 0)), False),
            )
            for e in members
        ]
        result.append(
            Facts(
                deployment=name, model=members[0].model, engine=members[0].engine,
                version=next((c.engine_version for c in captures if c.engine_version), None),
                entities=members, courses=[courses[e.number] for e in members], resolution=resolution,
                settings=[settings[e.number] for e in members], events=events,
                episodes=[[x for x in episodes if x.entity == e.number] for e in members],
                runs=runs, options=FactOptions(options.slo, options.gpu, options.gpu_hourly), answers=answers,
                observed=Window(start, end, 1.0),
            )
        )  # fmt: skip
    return result


def _runs(captures: list[Capture]) -> list[BenchRun]:
    """Benchmark runs of all inputs; files that are load levels of one run are grouped."""
    found = [run for capture in captures for run in capture.runs]
    if len(found) < 2:
        return found
    from diagnostics.sources.bench.grouping import group_steps  # noqa: PLC0415  only where results are there

    return group_steps(found)


def _baseline_runs(options: Options) -> list[BenchRun]:
    """Benchmark runs of a baseline that is a file or folder, marked: they are compared with and never judged."""
    if options.baseline is None or not Path(options.baseline).exists():
        return []
    loaded = load([options.baseline], replace(options, baseline=None))
    runs = _runs(loaded.captures)
    for run in runs:
        run.extra[BASELINE] = True
    return runs


def _range(db: duckdb.DuckDBPyConnection) -> tuple[float | None, float | None]:
    row = db.execute("SELECT min(first), max(last) FROM steps").fetchone()
    return (row[0], row[1]) if row else (None, None)


def _judge(facts: Facts, options: Options) -> Judged:
    rules = [r for r in all_rules() if not options.only or r.slug in options.only]
    results = run_rules(rules, facts, matchers=options.select, runbook_base=options.runbook_base)
    preferences.apply(results, options.configuration, options.ignore)
    ranked = rank(results.findings)
    return Judged(facts, results, ranked, verdict(facts, ranked))


def _answered(judged: Judged) -> tuple[str, ...]:
    """The rules that could be asked of a deployment."""
    fired = {f.rule for f in judged.findings}
    return tuple(sorted(fired | set(judged.results.passed) | set(judged.results.suppressed)))


_ORDER = {"findings": 0, "insufficient-data": 1, "healthy": 2}


def _worst_first(judged: list[Judged]) -> list[Judged]:
    def key(j: Judged) -> tuple[int, int, float]:
        loudest = min((f.severity.rank for f in j.findings), default=9)
        return (_ORDER[j.verdict.status], loudest, -coverage(j.facts))

    return sorted(judged, key=key)


def _report(
    db: duckdb.DuckDBPyConnection, inputs: list[InputSummary], captures: list[Capture], ordered: list[Judged]
) -> Report:
    first = ordered[0] if ordered else None
    start, end = _range(db)
    step = db.execute("SELECT median(step) FROM steps").fetchone()
    basis = "; ".join(dict.fromkeys(c.time_basis for c in captures if c.series)) or "no times"
    not_evaluated = _merged([n for j in ordered for n in j.results.not_evaluated], ordered)
    return Report(
        schema_version=SCHEMA_VERSION,
        generated_at=time.time(),
        tool=TOOL,
        window=ReportWindow(start, end, step[0] if step else None, basis),
        inputs=tuple(inputs),
        deployments=tuple(
            DeploymentSummary(
                j.facts.deployment, j.facts.model, j.facts.engine, len({e.replica for e in j.facts.entities}),
                j.verdict.status, worst_regime(j.facts), since(j.facts, j.findings),
            )
            for j in ordered
        ),
        verdict=first.verdict if first else _nothing(),
        findings=tuple(f for j in ordered for f in j.findings),
        regimes=tuple(
            ReplicaRegimes(e.label, tuple(c.segments))
            for j in ordered
            for e, c in zip(j.facts.entities, j.facts.courses, strict=True)
        ),
        time_to_first_token=tuple(t for j in ordered for t in time_to_first_token(j.facts)),
        not_evaluated=not_evaluated,
        collect_next=collect_next(first.facts, first.verdict) if first else (),
        suppressed={k: v for j in ordered for k, v in j.results.suppressed.items()},
        passed=tuple(sorted({p for j in ordered for p in j.results.passed})),
    )  # fmt: skip


def _nothing() -> Verdict:
    sentence = "Nothing known was found in the input, so nothing can be said about the server."
    return Verdict("insufficient-data", None, None, "", 0.0, sentence)


def _merged(entries: list[NotEvaluated], judged: list[Judged]) -> tuple[NotEvaluated, ...]:
    """One entry a rule; a rule that was answered on some deployment is not listed."""
    answered = {p for j in judged for p in j.results.passed} | {f.rule for j in judged for f in j.findings}
    return tuple({n.rule: n for n in entries if n.rule not in answered}.values())


def _summary(capture: Capture) -> InputSummary:
    replicas = {identity.replica_key(series.labels)[0] for series in capture.series}
    samples = 0 if capture.values is None else int(np.size(capture.values))
    notes = capture.warnings + (conflicts([capture]) if capture.settings else [])
    return InputSummary(
        capture.source, capture.kind.value, capture.engine, capture.engine_version, len(replicas), samples,
        capture.recognised, tuple(notes),
    )  # fmt: skip


__all__ = ["Judged", "Loaded", "Provenance", "Resolution", "diagnose", "load", "walk", "with_times"]
