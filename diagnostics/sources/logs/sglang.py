"""SGLang: batch lines of every scheduler rank, retractions, and what it prints while it starts."""

from __future__ import annotations

import re

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import Rule, as_event, as_ready, as_start, rule
from diagnostics.sources.logs.literals import pairs
from diagnostics.sources.logs.message import NO_RANK, Body, Line
from diagnostics.sources.logs.times import Clock, Stamp

_HEAD = re.compile(r"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?)((?: [A-Za-z_]+\d*)*)\] ?")
# The rest of a head whose begin was cut off.
_CUT_HEAD = re.compile(r"^[\d:. -]{0,30}((?: ?(?:DP|PP|TP|EP|CP)\d+)*)\] ?")
_RANK = re.compile(r"\b([A-Z]+)(\d{1,6})")
_PIPELINE_STRIDE = 100_000

_BATCH = r"^(?:Decode|Prefill) batch(?: \[\d+\])?[.,] "
_NUMBERS = {
    "#running-req": "sglang:log:running",
    "#queue-req": "sglang:log:waiting",
    "token usage": "sglang:log:kv_usage",
    "full token usage": "sglang:log:kv_usage",
    "swa token usage": "sglang:log:kv_usage_swa",
    "mamba usage": "sglang:log:kv_usage_mamba",
    "gen throughput (token/s)": "sglang:log:generation_throughput",
    "input throughput (token/s)": "sglang:log:prompt_throughput",
    "#new-token": "sglang:log:new_tokens",
    "#cached-token": "sglang:log:cached_tokens",
    "accept len": "sglang:log:spec_accept_length",
    "accept rate": "sglang:log:spec_accept_rate",
}
_SETTING_NAMES = {"max_total_num_tokens": "kv_capacity_tokens"}
_WHERE_CAPACITY = "start-up line with max_total_num_tokens"
_NUMBER_OF = {"True": 1.0, "False": 0.0}


def _read_batch(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read a decode or prefill line; every tensor-parallel rank may print it, and one of them counts."""
    out.serving(body)
    if not out.speaks_for(body):
        out.unused["batch lines repeated by further tensor-parallel ranks"] += 1
        return True
    items = body.text[found.end() :].rstrip(", ").split(", ")
    if body.line.cut:
        # The last number may lack digits.
        items.pop()
    values: list[tuple[str, float]] = []
    for item in items:
        key, _, text = item.partition(": ")
        name = _NUMBERS.get(key)
        try:
            if name is not None:
                values.append((name, float(text)))
            elif key.endswith(" graph") and text in _NUMBER_OF:
                values.append(("sglang:log:cuda_graph", _NUMBER_OF[text]))
        except ValueError:
            continue
    out.samples(values, body)
    return True


def _read_retraction(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read that a full pool threw requests out; every tensor-parallel rank tells of the same ones."""
    if not out.speaks_for(body):
        return True
    out.sample("sglang:log:retracted", float(found[1]), body)
    out.event("retraction", body, {"count": found[1]})
    return True


def _read_arguments(found: re.Match[str], body: Body, out: Collector) -> bool:
    as_start("args")(found, body, out)
    for name, value in pairs(found[1], closed=True):
        if value != "None":
            out.setting(name, value, "start-up line 'server_args'", body)
    return True


def _read_capacity(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the line that gives cap, budget and pool as the scheduler has them."""
    for name, value in pairs(found[1], closed=False):
        out.setting(_SETTING_NAMES.get(name, name), value, _WHERE_CAPACITY, body)
    return True


def _read_pool(found: re.Match[str], body: Body, out: Collector) -> bool:
    where = "start-up line 'KV Cache is allocated'"
    out.setting("kv_capacity_tokens", found[1], where, body)
    sizes = [float(size) for size in re.findall(r"\b(?:K|V|KV) size: ([\d.]+) GB", body.text)]
    if sizes:
        out.setting("kv_memory_gib", f"{sum(sizes):g}", where, body)
    return True


def _read_load_begin(_found: re.Match[str], body: Body, out: Collector) -> bool:
    out.note(body, f"load begin {body.rank} {body.labels}", body.stamp)
    return True


def _read_load_end(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the end of weight loading; older releases leave the duration to the two times."""
    begin = out.noted(body, f"load begin {body.rank} {body.labels}")
    if found[1]:
        out.stage("load-weights", float(found[1]), body)
    elif isinstance(begin, Stamp) and body.stamp is not None:
        seconds = body.stamp.seconds - begin.seconds
        out.stage("load-weights", seconds, body)
    weights = re.search(r"mem usage=([\d.]+) GB", body.text)
    if weights is not None:
        out.setting("weights_gib", weights[1], "start-up line 'Load weight end'", body)
    return True


def _read_graphs(found: re.Match[str], body: Body, out: Collector) -> bool:
    out.stage("graph-capture", float(found[1]), body)
    memory = re.search(r"mem usage=([\d.]+) GB", body.text)
    if memory is not None:
        where = "start-up line 'Capture cuda graph end'"
        out.setting("graph_memory_gib", memory[1], where, body)
    return True


_RETRACT = (
    r"^(?:KV cache pool is full\. Retract requests|Decode out of memory happened)\..*#retracted_reqs: (\d+),"
)
_CAPACITY = r"^((?:\w+=[^,=]*, )*(?:max_total_num_tokens|max_running_requests)=\d+(?:, .*)?)$"
_DEAD = r"Scheduler hit an exception|[Ww]atchdog timeout|Capture cuda graph failed"
_GRAPHS = r"^Capture .*(?:cuda|CUDA) graph end\. (?:Time elapsed: |elapsed=)([\d.]+) s"


class SglangLog:
    """The reader of SGLang's log."""

    name = "sglang"
    rules: tuple[Rule, ...] = (
        rule(" batch", _BATCH, _read_batch, "statistics"),
        rule("#retracted_reqs: ", _RETRACT, _read_retraction, "warning"),
        rule("server_args=", r"^server_args=(?:ServerArgs\(|\{)(.*)", _read_arguments, "start-up"),
        rule("max_total_num_tokens=", _CAPACITY, _read_capacity, "start-up"),
        rule("max_running_requests=", _CAPACITY, _read_capacity, "start-up"),
        rule("Cache is allocated", r"^KV Cache is allocated\..*#tokens: (\d+),", _read_pool, "start-up"),
        rule("Load weight begin", r"^Load weight begin\.", _read_load_begin, "start-up"),
        rule("Load weight end", r"^Load weight end\.(?: elapsed=([\d.]+) s,)?", _read_load_end, "start-up"),
        rule(" graph end", _GRAPHS, _read_graphs, "start-up"),
        rule("fired up", r"^The server is fired up and ready to roll!", as_ready, "start-up"),
        rule("mem-fraction-static", r"Not enough memory\. Please try", as_event("kv-refused"), "warning"),
        rule("Scheduler hit", _DEAD, as_event("engine-dead"), "warning"),
        rule("atchdog timeout", _DEAD, as_event("engine-dead"), "warning"),
        rule("Capture cuda graph failed", _DEAD, as_event("engine-dead"), "warning"),
    )

    def body(self, line: Line, clock: Clock) -> Body:
        """Take time and ranks off."""
        text, stamp, ranks = line.text, line.stamp, ""
        head = _HEAD.match(text)
        if head is not None:
            stamp = stamp or clock.iso(head[1])
            ranks = head[2]
            text = text[head.end() :]
        elif (head := _CUT_HEAD.match(text)) is not None:
            ranks = head[1]
            text = text[head.end() :]
        if not ranks:
            return Body(text, stamp, line, {})
        named = {kind: int(number) for kind, number in _RANK.findall(ranks)}
        labels = {"engine": str(named["DP"])} if "DP" in named else {}
        rank = NO_RANK
        if "TP" in named or "PP" in named:
            rank = named.get("PP", 0) * _PIPELINE_STRIDE + named.get("TP", 0)
        return Body(text, stamp, line, labels, rank)

    def telling_head(self, line: Line) -> bool:
        """Tell whether a tensor-parallel scheduler rank stands beside the time."""
        head = _HEAD.match(line.text)
        return head is not None and " TP" in head[2]
