"""MLPerf LoadGen summaries: nanoseconds, and a headline that depends on the scenario."""

from __future__ import annotations

import re

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.content import Content
from diagnostics.sources.bench.values import NANO, add_stat, count, number, positive, stat_name

FORMAT = "mlperf-loadgen"
HINTS: tuple[str, ...] = ()
_TITLE = "MLPerf Results Summary"
_ACCURACY = "No warnings encountered during test."
_LINE = re.compile(r"^\s*([\w. ()]+?)\s*:\s*(.+?)\s*$")
_PERCENTILE = re.compile(
    r"^(\d{1,2}(?:\.\d+)?) percentile "
    r"(latency|first token latency|time to output token|time per output token)"
)
_MEANS = re.compile(
    r"^(Min|Max|Mean) (First Token latency|Time to Output Token|Time per Output Token|latency)", re.I
)
_METRICS = {
    "latency": "e2e",
    "first token latency": "ttft",
    "time to output token": "tpot",
    "time per output token": "tpot",
}
_MODES = {
    "offline": ("offline", "none"),
    "server": ("open", "poisson"),
    "singlestream": ("single-stream", "none"),
    "multistream": ("closed", "none"),
    "interactive": ("open", "poisson"),
}


def recognise(content: Content) -> bool:
    """The title of a performance summary, or the bare notes of an accuracy run."""
    if content.documents:
        return False
    return _TITLE in content.text or (_ACCURACY in content.text and len(content.text) < 2000)


def read(source: str, content: Content) -> list[BenchRun]:
    """One run; an accuracy run has no numbers and says so."""
    run = BenchRun(source=source, format=FORMAT, tool="mlperf loadgen")
    step = BenchStep()
    run.steps.append(step)
    if _TITLE not in content.text:
        step.valid, step.invalid_reason = False, "accuracy mode: no performance was measured"
        run.warnings.append("an accuracy-mode summary holds no performance numbers")
        return [run]
    fields = {m.group(1): m.group(2) for m in map(_LINE.match, content.text.splitlines()) if m}
    scenario = fields.get("Scenario", "").replace(" ", "").lower()
    step.load_mode, step.arrival = _MODES.get(scenario, ("unknown", "unknown"))
    run.extra |= {"scenario": fields.get("Scenario"), "result": fields.get("Result is")}
    _fill_rates(step, fields, scenario)
    if fields.get("Result is") == "VALID":
        step.completed = step.requested  # a run that lost queries is INVALID
    for key, text in fields.items():
        _fill_latency(step, key, text)
    if fields.get("Mode", "PerformanceOnly") != "PerformanceOnly":
        step.valid, step.invalid_reason = False, f"mode {fields['Mode']}"
    if fields.get("Result is") == "INVALID":
        run.warnings.append("the tool itself calls this result INVALID")
    for key in ("ttft_latency (ns)", "tpot_latency (ns)"):
        limit = positive(fields.get(key))
        if limit is not None and scenario in ("server", "interactive"):
            step.extra[f"slo_{key.split('_', maxsplit=1)[0]}_s"] = limit * NANO
    return [run]


def _fill_rates(step: BenchStep, fields: dict[str, str], scenario: str) -> None:
    step.rps = number(fields.get("Completed samples per second", fields.get("Samples per second")))
    step.output_tps = number(fields.get("Completed tokens per second", fields.get("Tokens per second")))
    if scenario in ("server", "interactive"):
        step.requested_rps = positive(fields.get("target_qps"))
    samples = count(fields.get("samples_per_query"))
    if scenario == "offline" and samples:
        step.requested = samples
        if step.rps and samples:
            step.duration_s = samples / step.rps
            step.origins["duration_s"] = "derived"


def _fill_latency(step: BenchStep, key: str, text: str) -> None:
    if "(ns)" not in key:
        return
    percentile, moment = _PERCENTILE.match(key.lower()), _MEANS.match(key)
    if percentile:
        share = (
            percentile.group(1).rstrip("0").rstrip(".") if "." in percentile.group(1) else percentile.group(1)
        )
        add_stat(step, _METRICS[percentile.group(2)], stat_name(f"p{share}"), text, NANO)
    elif moment:
        add_stat(step, _METRICS[moment.group(2).lower()], stat_name(moment.group(1)), text, NANO)
