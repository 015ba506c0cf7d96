"""The whole walk on one screen: captures -> store -> signals -> regimes -> facts -> rules -> report."""

from __future__ import annotations

from pathlib import Path

import duckdb
from msgspec.structs import replace

from diagnostics.evaluate.judgement import Judged, answered, judge, worst_first
from diagnostics.evaluate.report import Seen, report_of
from diagnostics.execute import bench
from diagnostics.execute.charts import signal_series
from diagnostics.execute.facts import Facts
from diagnostics.execute.facts import Options as FactOptions
from diagnostics.execute.sql import Answers, write_spans
from diagnostics.loading import Material, load
from diagnostics.model.bench import BenchRun
from diagnostics.model.findings import Window
from diagnostics.model.report import Diagnosis, InputSummary, Known
from diagnostics.model.samples import Capture, Setting
from diagnostics.options import Options
from diagnostics.signals import identity
from diagnostics.signals.build import build_signals, resolution_of
from diagnostics.signals.episodes import Episode, stalls
from diagnostics.signals.regimes import EntityRegimes, decide
from diagnostics.signals.settings import BUDGET_NAMES, CAP_NAMES, by_entity, limit
from diagnostics.store.database import open_store
from diagnostics.store.writer import write_capture


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
        return judged_walk(db, data, summaries, options, charts)[0]
    finally:
        db.close()


def judged_walk(
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
    judged = worst_first(
        [
            judge(facts, options)
            for facts in _deployments(db, captures, identities, courses, episodes, settings, answers, options)
        ]
    )
    report = report_of(inputs, captures, judged, _seen(db))
    series = tuple(signal_series(db, identities.entities)) if charts else ()
    by_deployment = {j.facts.deployment: answered(j) for j in judged}
    view = None
    known: tuple[Known, ...] = ()
    if charts and judged:
        from diagnostics.execute import capacity  # noqa: PLC0415  only for whoever draws
        from diagnostics.execute.bench_view import bench_view  # noqa: PLC0415

        view, known = bench_view(judged[0].facts), capacity.known(judged[0].facts)
    runs = [r for r in (judged[0].facts.runs if judged else ()) if bench.BASELINE not in r.extra]
    told = tuple(bench.without_requests(run) for run in runs)
    return Diagnosis(report, series, by_deployment, told, view, known), judged


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
    seen = _seen(db)
    events = [
        replace(event, labels={**event.labels, "input": capture.source})
        for capture in captures
        for event in capture.events
    ]
    runs = grouped_runs(captures) + _baseline_runs(options)
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
                observed=Window(seen.start, seen.end, 1.0),
            )
        )  # fmt: skip
    return result


def grouped_runs(captures: list[Capture]) -> list[BenchRun]:
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
    runs = grouped_runs(loaded.captures)
    for run in runs:
        run.extra[bench.BASELINE] = True
    return runs


def _seen(db: duckdb.DuckDBPyConnection) -> Seen:
    row = db.execute("SELECT min(first), max(last), median(step) FROM steps").fetchone()
    return Seen(*row) if row else Seen(None, None, None)
