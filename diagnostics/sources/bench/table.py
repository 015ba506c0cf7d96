"""Tables by hand, Markdown or CSV: a column is read when its unit is proved, else refused with a reason."""

from __future__ import annotations

import re

from msgspec import Struct, field

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.columns import (
    LOAD_FIELDS,
    RESULT_FIELDS,
    TOOL_FIELDS,
    add_timed,
    apply_run_field,
    apply_share,
    is_percent,
    normalise,
    timed,
    tokens,
    untimed,
)
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.labels import apply_label
from diagnostics.sources.bench.names import apply_name
from diagnostics.sources.bench.values import add_stat, count, derive, number, positive, set_load

FORMAT = "table"
HINTS: tuple[str, ...] = ()
TOLERANCE = 0.05
_MARKDOWN_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_FLAG = re.compile(
    r"^(?:num_scheduler_steps?|max_seq\w*|enable_\w+|disable_\w+|use_\w+|cuda_graph\w*"
    r"|block_size|gpu_mem\w*)$"
)
_ROW_NAMES = frozenset(
    {"filename", "file", "exp_name", "experiment_name", "name", "run", "date", "timestamp", "id", "path"}
)
_SEPARATOR = re.compile(r"^[\s|:\-]+$")
_HEADING = re.compile(r"^([A-Za-z][\w \-]{0,40}):\s+(\S.*)$")
_LENGTHS = {
    "input_len": "input_len_spec",
    "output_len": "output_len_spec",
    "random_input_len": "input_len_spec",
    "random_output_len": "output_len_spec",
    "input_output_length": "input_len_spec",
}
_TOTAL_RATES = ("tokens_per_second", "throughput")
_KV_FORMAT = "setting:kv_cache_dtype"
# Both formats in one cell.
_FORMATS = re.compile(r"^weight\w* = (\w+), kv cache = (\w+)$", re.IGNORECASE)
_TENSOR = ("tp", "tensor", "tensor parallel", "tensor parallelism")
_PARALLELISM = "setting:parallelism_type"
_POWER = "avg_power"
_MAX_EXTRA = 30


class Grid(Struct):
    """One table: the settings above it, its columns, its rows with their line numbers."""

    settings: dict[str, str]
    columns: list[str]
    rows: list[tuple[int, list[str]]] = field(default_factory=list)
    percents: set[str] = field(default_factory=set)
    settings_left: set[str] = field(default_factory=set)

    @property
    def names(self) -> list[str]:
        """Columns in one spelling."""
        return [normalise(column) for column in self.columns]


def _percents(grid: Grid) -> set[str]:
    """Columns of shares that are in percent."""
    cells = zip(*(cells for _, cells in grid.rows), strict=True)
    return {name for name, column in zip(grid.names, cells, strict=True) if is_percent(name, list(column))}


def _left(grid: Grid) -> set[str]:
    """Columns left of the first result: by custom they are settings, like those above the table."""
    names = grid.names
    results = (i for i, name in enumerate(names) if _is_measured(name, grid.columns[i]))
    first = next(results, len(names))
    return {*grid.settings, *names[:first], *(name for name in names if _FLAG.match(name))}


def recognise(content: Content) -> bool:
    """A heading row with at least one column that only a benchmark has."""
    if content.documents:
        return False
    if _MARKDOWN_ROW.search(content.text):
        return any(grid.rows and _is_result(grid) for grid in _markdown(content.text))
    return _is_result(Grid({}, content.header))


def _is_result(grid: Grid) -> bool:
    names = grid.names
    if len(names) < 2:
        return False
    totals = any(name in names for name in _TOTAL_RATES) and bool({"batch_size", "elapsed_time"} & set(names))
    return totals or any(map(_is_result_column, names, grid.columns))


def _is_result_column(name: str, column: str) -> bool:
    return timed(name) is not None or TOOL_FIELDS.get(name, ("",))[0] in RESULT_FIELDS or _is_label(column)


def _is_measured(name: str, column: str) -> bool:
    known = name in TOOL_FIELDS or name in _TOTAL_RATES or untimed(name) is not None
    return known or _is_result_column(name, column)


def _is_label(column: str) -> bool:
    return " " in column and apply_label(BenchRun("", FORMAT, ""), BenchStep(), column, "1")


def read(source: str, content: Content) -> list[BenchRun]:
    """One run a row; the caller merges rows that differ in load only."""
    runs: list[BenchRun] = []
    for grid in _grids(content):
        if grid.rows and _is_result(grid):
            grid.percents, grid.settings_left = _percents(grid), _left(grid)
            runs += [_read_row(source, grid, line, cells) for line, cells in grid.rows]
    return runs


def _grids(content: Content) -> list[Grid]:
    if _MARKDOWN_ROW.search(content.text):
        return _markdown(content.text)
    header = content.header
    return [
        Grid(
            {}, header, [(line, [row.get(column, "") for column in header]) for line, row in content.table()]
        )
    ]


def _markdown(text: str) -> list[Grid]:
    grids: list[Grid] = []
    settings: dict[str, str] = {}
    open_grid: Grid | None = None
    for line_number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped.startswith("|"):
            open_grid = None
            heading = _HEADING.match(stripped.lstrip("#*- "))
            if heading:
                settings[normalise(heading.group(1))] = heading.group(2)
            continue
        if _SEPARATOR.match(stripped):
            continue
        cells = [cell.strip() for cell in stripped.strip("|").split("|")]
        if open_grid is None:
            open_grid = Grid(dict(settings), cells)
            grids.append(open_grid)
        elif len(cells) == len(open_grid.columns):
            open_grid.rows.append((line_number, cells))
    return grids


def _read_row(source: str, grid: Grid, line: int, cells: list[str]) -> BenchRun:
    run = BenchRun(source=source, format=FORMAT, tool="table")
    step = BenchStep(source_path=f"line {line}")
    run.steps.append(step)
    pairs = [*grid.settings.items(), *zip(grid.names, cells, strict=True)]
    row = dict(pairs)
    refused: list[str] = []
    for (name, text), column in zip(pairs, [*grid.settings, *grid.columns], strict=True):
        if not _apply(run, step, name, column, text) and not apply_share(
            step, name, text, name in grid.percents
        ):
            refused.append(name)
    _load(step, row)
    _prove_rates(run, step, row, refused)
    _prove_latencies(run, step, row, refused)
    _prove_power(run, step, row, refused)
    for name in refused[:_MAX_EXTRA]:
        if row.get(name, "").strip() not in ("", "-"):
            _keep(run, step, name, row[name], setting=name in grid.settings_left)
    formats = _FORMATS.search(str(run.extra.get(_KV_FORMAT, "")))
    if formats:
        derive(run, "weight_format", formats.group(1))
        derive(run, "kv_format", formats.group(2))
        del run.extra[_KV_FORMAT]
    if str(run.extra.get(_PARALLELISM, "")).lower() in _TENSOR:
        derive(run, "tp", run.gpus)
    apply_name(run, source)
    return run


def _apply(run: BenchRun, step: BenchStep, name: str, column: str, text: str) -> bool:
    """Whether a column is dealt with; those left are tried against the cross checks."""
    if name in LOAD_FIELDS or text.strip() == "":
        return True
    if name in TOOL_FIELDS:
        field_name, convert = TOOL_FIELDS[name]
        if name == "concurrency" and step.concurrency_mean is None and text.strip().isdigit():
            step.concurrency_cap = count(text)  # a whole number is the level that was asked for
        else:
            setattr(step, field_name, convert(text))
        return True
    if name in _LENGTHS:
        _apply_length(run, name, text)
        return True
    if apply_run_field(run, name, text) or add_timed(step, name, text):
        return True
    return " " in column and apply_label(run, step, column, text)


def _apply_length(run: BenchRun, name: str, text: str) -> None:
    length = tokens(text)
    if length is None:
        return
    setattr(run, _LENGTHS[name], f"fixed {length}")
    if name == "input_output_length":
        run.output_len_spec = f"fixed {length}"


def _load(step: BenchStep, row: dict[str, str]) -> None:
    rate, cap, batch = (
        _first(row, [n for n, k in LOAD_FIELDS.items() if k == kind]) for kind in ("rate", "cap", "batch")
    )
    streamed = step.stat("ttft", "mean") is not None or step.stat("ttft", "p50") is not None
    if batch is not None and streamed:
        step.concurrency_cap, step.load_mode, step.arrival = count(batch), "closed", "none"
        step.origins["concurrency_cap"] = "derived"
        return
    if batch is not None:
        step.batch_size, step.load_mode, step.arrival = count(batch), "offline", "none"
        return
    limit = positive(cap) if cap is not None else step.concurrency_cap
    if rate is not None or limit is not None:
        unlimited = rate is not None and rate.strip().lower() in ("inf", "infinity")
        set_load(step, "inf" if unlimited else number(rate), limit)


def _first(row: dict[str, str], names: list[str]) -> str | None:
    return next((row[name] for name in names if row.get(name, "").strip()), None)


def _lengths(run: BenchRun) -> tuple[float, float] | None:
    found = [
        number((spec or "").removeprefix("fixed ")) for spec in (run.input_len_spec, run.output_len_spec)
    ]
    return (found[0], found[1]) if found[0] and found[1] else None


def _prove_rates(run: BenchRun, step: BenchStep, row: dict[str, str], refused: list[str]) -> None:
    """A bare token rate is total or output: batch, lengths and latency, or token counts, decide."""
    for name in _TOTAL_RATES:
        value = number(row.get(name))
        if value is None or name not in refused:
            continue
        seconds = number(_first(row, ["end_to_end_latency", "latency", "elapsed_time"]))
        requests = step.batch_size or step.completed
        lengths = _lengths(run)
        if not (seconds and requests and lengths):
            continue
        for field_name, length in (("total_tps", sum(lengths)), ("output_tps", lengths[1])):
            if abs(requests * length / seconds / value - 1) < TOLERANCE:
                setattr(step, field_name, value)
                step.origins[field_name] = "derived"
                refused.remove(name)
                step.completed = step.completed or requests
                if field_name == "total_tps":
                    derive(step, "output_tps", requests * lengths[1] / seconds)
                break


def _prove_latencies(run: BenchRun, step: BenchStep, row: dict[str, str], refused: list[str]) -> None:
    """A latency without unit is seconds when a proved rate follows from it, and Little's law else."""
    for name in list(refused):
        known, value = untimed(name), number(row.get(name))
        if known is None or value is None:
            continue
        metric, stat = known
        proved = (
            metric == "e2e" and bool({"output_tps", "total_tps"} & step.origins.keys()) and step.batch_size
        )
        if proved:
            add_stat(step, "e2e", stat, value, population="batches", n=1)
            step.origins["e2e"] = "derived"
            refused.remove(name)


def _prove_power(run: BenchRun, step: BenchStep, row: dict[str, str], refused: list[str]) -> None:
    """Watts or milliwatts: one accelerator draws between 20 W and 2 kW."""
    value = number(row.get(_POWER))
    if value is None or _POWER not in refused:
        return
    for factor in (1.0, 1e-3):
        if 20 <= value * factor / (run.gpus or 1) <= 2000:
            step.power_w = value * factor
            step.origins["power_w"] = "derived"
            refused.remove(_POWER)
            return


def _keep(run: BenchRun, step: BenchStep, name: str, text: str, *, setting: bool) -> None:
    """What has no place or no proof: settings and words tell runs apart, other numbers go to the step."""
    if name in _ROW_NAMES:
        step.extra[name] = text[:200]
        return
    if number(text) is None or (setting and untimed(name) is None and "throughput" not in name):
        run.extra[f"setting:{name}"] = text[:200]
        return
    step.extra[name] = text[:200]
    if untimed(name) is not None or name in _TOTAL_RATES or "throughput" in name or "latency" in name:
        run.warnings.append(f"column '{name}' is refused: its name has no unit and no cross check proves one")
