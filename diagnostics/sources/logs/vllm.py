"""vLLM: the periodic lines of both engine generations, and how its lines begin."""

from __future__ import annotations

import re

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import Rule, rule
from diagnostics.sources.logs.message import NO_RANK, Body, Line
from diagnostics.sources.logs.times import Clock
from diagnostics.sources.logs.vllm_startup import STARTUP_RULES

# What may stand before the level is not ours: a configured prefix, or a progress bar without a line end.
_HEAD = re.compile(
    r"\b(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,]\d+)? "
    r"(?:\[?[\w./<>-]+:\d+\] ?)?"
)
# The rest of a head whose begin was cut off.
_CUT_HEAD = re.compile(r"^[^\[\]]{0,60}\[?[\w/-]+\.py:\d+\] ")
_RANK = re.compile(r"(?:^|_)DP(\d{1,6})")
_TP_RANK = re.compile(r"(?:_TP|rank=)(\d{1,6})")
_PROCESSES = re.compile(
    r"(?:APIServer|ApiServer|EngineCore|VllmWorker|Worker(?:_|$)|DPCoordinator|CoreEngine)"
)

_STATS = (
    r"^(?:Engine (\d{1,6}): |(\d+) Engines Aggregated: )?"
    r"(?=(?:Avg (?:prompt|generation) throughput|Running|Waiting|\w+ KV cache usage): )"
)
_FIELDS = {
    "Avg prompt throughput": ("vllm:log:prompt_throughput", " tokens/s"),
    "Avg generation throughput": ("vllm:log:generation_throughput", " tokens/s"),
    "Running": ("vllm:log:running", " reqs"),
    "Waiting": ("vllm:log:waiting", " reqs"),
    "Pending": ("vllm:log:waiting", " reqs"),
    "Deferred": ("vllm:log:deferred", " reqs"),
    "Swapped": ("vllm:log:swapped", " reqs"),
    "Preemptions": ("vllm:log:preemptions", ""),
    "Prefix cache hit rate": ("vllm:log:prefix_hit_rate", "%"),
}
_KV_USAGE = " KV cache usage"

_PER_POSITION = re.compile(r"Per-position acceptance rate: ((?:\d\.\d{3}(?:, |$))+)")
_SPEC_FIELDS = {
    "Mean acceptance length": ("vllm:log:spec_accept_length", ""),
    "Accepted": ("vllm:log:spec_accepted", " tokens"),
    "Drafted": ("vllm:log:spec_drafted", " tokens"),
    "Draft acceptance rate": ("vllm:log:spec_accept_rate", "%"),
    "Avg Draft acceptance rate": ("vllm:log:spec_accept_rate", "%"),
}
_OLD_SPEC = (
    r"^Speculative metrics: Draft acceptance rate: ([\d.]+),.*Number of accepted tokens: (\d+), "
    r"Number of draft tokens: (\d+),"
)
_OLD_HIT_RATE = r"^Prefix cache hit rate: GPU: ([\d.]+)%(?:, CPU: ([\d.]+)%)?"
_OLD_PREEMPTION = r" is preempted by .*total_num_cumulative_preemption=(\d+)"
# Statistics of one interval are printed one after the other; more than this apart, they are not of one.
_SAME_INTERVAL_SECONDS = 1.0


def _number(text: str, unit: str) -> float | None:
    """Read a value that has its unit; without it, the line was cut inside the number."""
    if not text.endswith(unit):
        return None
    try:
        value = float(text[: len(text) - len(unit)] if unit else text)
    except ValueError:
        return None
    return value if value == value else None  # noqa: PLR0124 - idle intervals print "nan"


def _read_stats(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the statistics line; the order and presence of its fields vary from release to release."""
    labels = {}
    if found[1] is not None:
        labels = {"engine": str(int(found[1]))}
    elif found[2] is not None:
        labels = {"engine": "aggregated"}
    values: list[tuple[str, float]] = []
    usage: dict[str, float] = {}
    unknown: list[str] = []
    items = body.text[found.end() :].rstrip(",. ").split(", ")
    for number, item in enumerate(items):
        key, _, text = item.partition(": ")
        if key.endswith(_KV_USAGE):
            percent = _number(text, "%")
            if percent is not None:
                usage[key.removesuffix(_KV_USAGE)] = percent
            continue
        name, unit = _FIELDS.get(key, ("", ""))
        if not name:
            unknown.append(key)
        elif unit or number < len(items) - 1:
            value = _number(text, unit)
            if value is not None:
                values.append((name, value))
    values += _kv_usage(usage, old="Swapped: " in body.text)
    if len(values) < 2:
        return False
    out.samples(values, body.labelled(labels))
    for key in unknown[:20]:
        if key.replace(" ", "").isalpha():
            out.unused[f"field '{key[:40]}' of statistics lines"] += 1
    out.serving(body)
    out.note(body, "interval", (labels, body.stamp))
    return True


def _kv_usage(usage: dict[str, float], *, old: bool) -> list[tuple[str, float]]:
    """Name the pools: the CPU's is the swap space of the first generation, or the cache of a CPU build."""
    named = [("vllm:log:kv_usage", value) for device, value in usage.items() if device != "CPU"][:1]
    if "CPU" in usage:
        beside = bool(named) or old
        named.append(("vllm:log:cpu_kv_usage" if beside else "vllm:log:kv_usage", usage["CPU"]))
    return named


def _interval_labels(body: Body, out: Collector) -> dict[str, str]:
    """Return the rank of the statistics line just before: the lines that follow it name none."""
    noted = out.noted(body, "interval")
    if isinstance(noted, tuple):
        labels, stamp = noted
        if stamp is None or body.stamp is None:
            return dict(labels)
        if 0.0 <= body.stamp.seconds - stamp.seconds <= _SAME_INTERVAL_SECONDS:
            return dict(labels)
    return {}


def _read_spec(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the speculative decoding line of the second generation."""
    ranked = body.labelled(_interval_labels(body, out))
    text = body.text[found.end() :]
    read = False
    positions = _PER_POSITION.search(text)
    if positions is not None:
        text = text[: positions.start()] + text[positions.end() :]
        for position, value in enumerate(positions[1].rstrip(", ").split(", ")):
            at_position = ranked.labelled({"position": str(position)})
            out.sample("vllm:log:spec_accepted_per_pos", float(value), at_position)
            read = True
    items = text.split(", ")
    for number, item in enumerate(items):
        key, _, words = item.partition(": ")
        name, unit = _SPEC_FIELDS.get(key, ("", ""))
        if name and (unit or number < len(items) - 1):
            value_or_none = _number(words, unit)
            if value_or_none is not None:
                out.sample(name, value_or_none, ranked)
                read = True
    return read


def _read_old_spec(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the speculative line of the first generation: ratios, and counts since the start."""
    named = (
        ("vllm:log:spec_accept_rate", float(found[1]) * 100.0),
        ("vllm:log:spec_accepted_total", float(found[2])),
        ("vllm:log:spec_drafted_total", float(found[3])),
    )
    for name, value in named:
        out.sample(name, value, body)
    return True


def _read_old_hit_rate(found: re.Match[str], body: Body, out: Collector) -> bool:
    out.sample("vllm:log:prefix_hit_rate", float(found[1]), body)
    if found[2] is not None:
        out.sample("vllm:log:cpu_prefix_hit_rate", float(found[2]), body)
    return True


def _read_old_preemption(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the warning of every 50th preemption; the number at its end is the count since the start."""
    out.sample("vllm:log:preemptions_total", float(found[1]), body)
    out.event("preemption", body, {"total": found[1]})
    return True


def _read_abort(_found: re.Match[str], body: Body, out: Collector) -> bool:
    out.count("http-disconnect", {}, body)
    return True


class VllmLog:
    """The reader of vLLM's log."""

    name = "vllm"
    rules: tuple[Rule, ...] = (
        rule("throughput: ", _STATS, _read_stats, "statistics"),
        rule("Running: ", _STATS, _read_stats, "statistics"),
        rule("SpecDecoding metrics: ", r"^SpecDecoding metrics: ", _read_spec, "statistics"),
        rule("Speculative metrics: ", _OLD_SPEC, _read_old_spec, "statistics"),
        rule("Prefix cache hit rate: GPU: ", _OLD_HIT_RATE, _read_old_hit_rate, "statistics"),
        rule("is preempted by ", _OLD_PREEMPTION, _read_old_preemption, "warning"),
        rule("borted", r"^(?:Aborted request|Request \S+ aborted)", _read_abort, "warning", telling=False),
        *STARTUP_RULES,
    )

    def body(self, line: Line, clock: Clock) -> Body:
        """Take level, time and source line off."""
        text, stamp = line.text, line.stamp
        head = _HEAD.search(text)
        if head is not None:
            if stamp is None:
                month, day, hour, minute, second = (int(part) for part in head.groups())
                stamp = clock.yearless(month, day, hour, minute, second)
            text = text[head.end() :]
        elif (head := _CUT_HEAD.match(text)) is not None:
            text = text[head.end() :]
        rank = _RANK.search(line.process)
        labels = {"engine": str(int(rank[1]))} if rank else {}
        tensor = _TP_RANK.search(line.process)
        return Body(text, stamp, line, labels, int(tensor[1]) if tensor else NO_RANK)

    def telling_head(self, line: Line) -> bool:
        """Tell whether one of vLLM's own processes decorated the line."""
        return bool(_PROCESSES.match(line.process))
