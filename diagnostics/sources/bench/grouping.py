"""One-step files become a sweep: same deployment, same workload, another load."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.names import variant_of

IDENTITY = (
    "evidence_kind",
    "tool",
    "client_protocol",
    "engine",
    "engine_version",
    "engine_args",
    "model",
    "weight_format",
    "kv_format",
    "gpu_model",
    "gpus",
    "tp",
    "pp",
    "dp",
    "ep",
    "replicas",
    "prefill_gpus",
    "decode_gpus",
    "routing",
    "spec_method",
    "spec_draft_tokens",
    "draft_model",
    "max_num_seqs",
    "max_batched_tokens",
    "max_model_len",
    "prefix_caching",
    "chunked_prefill",
    "kv_offload",
    "dataset",
    "input_len_spec",
    "output_len_spec",
    "multi_turn",
    "ignore_eos",
)
FIXED_LENGTH_RATIO = 1.05
MIXED_LENGTH_RATIO = 2.0
MAX_AGE_SPREAD_S = 24 * 3600
# Ends of names of files that hold the same result, the fuller one second.
_TWINS = (
    (".csv", ".json"),
    ("/summary.json", "/run=0.json"),
    ("/summary.json", "/stats.json"),
    ("_console.txt", "_aiperf.json"),
    ("_console.txt", "_aiperf.csv"),
    ("_console.txt", "_genai_perf.json"),
    ("short_report.csv", "full_report.csv"),
)
_DATES = ("%Y%m%d-%H%M%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f")


def group_steps(runs: list[BenchRun]) -> list[BenchRun]:
    """Merge runs that differ only in rate, concurrency or batch size; others are handed back as they are.

    Steps are ordered by load and repeats of one load level are numbered. A pooled summary is no load level
    and stays a run of its own.
    """
    groups: dict[tuple[object, ...], list[BenchRun]] = {}
    for run in _without_twins(runs):
        groups.setdefault(_identity(run), []).append(run)
    merged: list[BenchRun] = []
    for members in groups.values():
        merged += [_merge(cluster) for cluster in _by_length(members)]
    return merged


def _without_twins(runs: list[BenchRun]) -> list[BenchRun]:
    """Without what a tool writes twice, where the fuller file is there."""
    told = {(run.tool, run.source) for run in runs}
    return [
        run
        for run in runs
        if not any(
            run.source.endswith(end) and (run.tool, run.source.removesuffix(end) + fuller) in told
            for end, fuller in _TWINS
        )
    ]


def _identity(run: BenchRun) -> tuple[object, ...]:
    modes = {_family(step) for step in run.steps}
    settings = tuple(sorted((k, str(v)) for k, v in run.extra.items() if k.startswith("setting:")))
    pooled = run.source if any(step.pooled for step in run.steps) else ""
    return (
        *(getattr(run, name) for name in IDENTITY),
        tuple(sorted(modes)),
        settings,
        pooled,
        variant_of(run.source),
    )


def _family(step: BenchStep) -> str:
    """Rate-driven steps and 'everything at once' belong to one sweep; a closed loop does not."""
    return "open" if step.load_mode in ("open", "open-capped", "burst", "unknown") else step.load_mode


def _by_length(runs: list[BenchRun]) -> list[list[BenchRun]]:
    """Split runs whose unstated lengths are too far apart to be one workload."""
    clusters: list[list[BenchRun]] = []
    for run in runs:
        for cluster in clusters:
            if _same_lengths(cluster[0], run):
                cluster.append(run)
                break
        else:
            clusters.append([run])
    return clusters


def _same_lengths(a: BenchRun, b: BenchRun) -> bool:
    if a.multi_turn and b.multi_turn:
        return True  # a session's prompts grow with every answer, and faster steps see fewer of them
    for metric in ("input_len", "output_len"):
        one, other = _mean_length(a, metric), _mean_length(b, metric)
        if not one or not other:
            continue
        constant = metric == "input_len" and one.is_integer() and other.is_integer()
        if max(one, other) / min(one, other) > (FIXED_LENGTH_RATIO if constant else MIXED_LENGTH_RATIO):
            return False
    return True


def _mean_length(run: BenchRun, metric: str) -> float | None:
    found = [value for value in (step.stat(metric, "mean") for step in run.steps) if value]
    return sum(found) / len(found) if found else None


def _merge(runs: list[BenchRun]) -> BenchRun:
    if len(runs) == 1:
        return runs[0]
    first = runs[0]
    several_files = len({run.source for run in runs}) > 1
    steps: list[BenchStep] = []
    for run in runs:
        for step in run.steps:
            step.source_path = _place(run, step) if several_files else step.source_path
            steps.append(step)
    _number(steps)
    merged = replace(first, steps=steps, warnings=_shared_warnings(runs, several_files))
    merged.source = _common(runs)
    if first.model is None or first.gpu_model is None:
        merged.extra = {**first.extra, "identity_incomplete": True}
    spread = _age_spread(runs)
    if spread is not None and spread > MAX_AGE_SPREAD_S:
        merged.warnings.append(
            f"the steps were taken {spread / 86400:.1f} days apart: the deployment may have changed"
        )
    return merged


def _shared_warnings(runs: list[BenchRun], several_files: bool) -> list[str]:
    """A sentence that holds for several files stands once, with their number."""
    owners: dict[str, list[str]] = {}
    for run in runs:
        for text in run.warnings:
            owners.setdefault(text, []).append(run.source)
    if not several_files:
        return list(owners)
    return [f"{s[0] if len(s) == 1 else f'{len(s)} files'}: {text}" for text, s in owners.items()]


def _place(run: BenchRun, step: BenchStep) -> str:
    return f"{run.source} {step.source_path}".strip()


def _common(runs: list[BenchRun]) -> str:
    sources = list(dict.fromkeys(run.source for run in runs))
    return sources[0] if len(sources) == 1 else f"{sources[0]} and {len(sources) - 1} more"


def load_of(step: BenchStep) -> tuple[float, ...]:
    """The sort key of a load level: rate, then concurrency, then batch size, then size of a burst."""
    rate = step.requested_rps if step.requested_rps is not None else float("inf")
    lengths = (
        (step.stat("input_len", "mean") or 0.0) if step.load_mode in ("single-stream", "offline") else 0.0
    )
    level = step.concurrency_cap or step.batch_size or (step.requested or step.completed or 0)
    if step.load_mode in ("open", "open-capped"):
        level = step.concurrency_cap or 0
    shape = (float(step.extra.get(key) or 0) for key in ("n_prompt", "n_gen", "n_depth"))
    return (rate, float(level), lengths, *shape)


def _number(steps: list[BenchStep]) -> None:
    steps.sort(key=load_of)
    seen: dict[tuple[float, ...], int] = {}
    for ordinal, step in enumerate(steps):
        level = load_of(step)
        step.ordinal, step.repeat = ordinal, seen.get(level, 0)
        seen[level] = step.repeat + 1


def _age_spread(runs: list[BenchRun]) -> float | None:
    times = [time for time in map(taken_at, runs) if time is not None]
    return max(times) - min(times) if len(times) > 1 else None


def taken_at(run: BenchRun) -> float | None:
    """When a run was taken, in seconds that are comparable within one tool, even where the zone is unknown."""
    if run.started_at is not None:
        return run.started_at
    for layout in _DATES:
        try:
            return datetime.strptime(run.started_local or "", layout).timestamp()
        except ValueError:
            continue
    return None
