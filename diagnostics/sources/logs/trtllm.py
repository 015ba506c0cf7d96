"""TensorRT-LLM: the line of every iteration, the pool of its C++ runtime, and Triton around it.

Written from its documentation; not seen in a recording. The step time that a line gives is of the step before.
"""

from __future__ import annotations

import re

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import Rule, as_ready, as_setting, rule
from diagnostics.sources.logs.message import NO_RANK, Body, Line
from diagnostics.sources.logs.times import Clock, Stamp

_HEAD = re.compile(r"^\[(\d\d)/(\d\d)/(\d{4})-(\d\d:\d\d:\d\d)\] ")
_TAG = re.compile(r"^\[TRT-LLM\] (?:\[RANK (\d{1,6})\] )?\[[A-Z]\] |^\[TensorRT-LLM\]\[[A-Z]+\] ")
# Triton logs as glog does: a letter for the level, month and day.
_GLOG = re.compile(r"^[IWEF](\d\d)(\d\d) (\d\d):(\d\d):(\d\d)\.\d{6} +\d+ [\w.]+:\d+\] ")

_COUNT = re.compile(r"\b(num_scheduled_requests|kv_cache_util|iter)(?: = |: )([\d.]+)")
_REQUESTS = re.compile(r"\bcurrank_total_requests = \d+/(\d{1,9})\b")
_STATE = re.compile(r"'(num_ctx_tokens|num_generation_tokens)': (\d{1,12})")
_NAMES = {
    "num_scheduled_requests": "trtllm:log:running",
    "kv_cache_util": "trtllm:log:kv_usage",
    "iter": "trtllm:log:iterations",
}


def _read_iteration(_found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read one step; every rank prints it, and one of them counts."""
    out.serving(body)
    if not out.speaks_for(body):
        out.unused["iteration lines repeated by further ranks"] += 1
        return True
    values = [(_NAMES[name], float(text)) for name, text in _COUNT.findall(body.text)]
    out.samples(values, body)
    if cap := _REQUESTS.search(body.text):
        out.setting("max_batch_size", cap[1], "log line 'currank_total_requests'", body)
    state = {name: float(text) for name, text in _STATE.findall(body.text)}
    if len(state) == 2:
        prompt, generated = state["num_ctx_tokens"], state["num_generation_tokens"]
        out.totals({"trtllm:log:prompt_tokens": prompt, "trtllm:log:generation_tokens": generated}, body)
        out.observed({"trtllm:log:iteration_tokens": prompt + generated}, body)
    return True


def _read_pool(found: re.Match[str], body: Body, out: Collector) -> bool:
    where = "start-up line 'for max tokens in paged KV cache'"
    out.setting("kv_memory_gib", found[1], where, body)
    out.setting("kv_capacity_tokens", found[2], where, body)
    return True


_POOL = r"^\[MemUsageChange\] Allocated ([\d.]+) GiB for max tokens in paged KV cache \((\d+)\)"


class TrtLlmLog:
    """The reader of TensorRT-LLM's log and of Triton's with it inside."""

    name = "tensorrt-llm"
    rules: tuple[Rule, ...] = (
        rule("iter = ", r"^iter = \d+, .*num_scheduled_requests", _read_iteration, "statistics", alone=False),
        rule("in paged KV cache", _POOL, _read_pool, "start-up"),
        rule(
            "tokens per block",
            r"^Number of tokens per block: (\d+)\.",
            as_setting("tokens_per_block", "Number of tokens per block"),
            "start-up",
        ),
        rule("successfully loaded", r"^\"?successfully loaded 'tensorrt_llm", as_ready, "start-up"),
    )

    def body(self, line: Line, clock: Clock) -> Body:
        """Take time, tag and rank off."""
        text, stamp, rank = line.text, line.stamp, NO_RANK
        if (head := _HEAD.match(text)) is not None:
            stamp = stamp or clock.iso(f"{head[3]}-{head[1]}-{head[2]} {head[4]}")
            text = text[head.end() :]
        elif (head := _GLOG.match(text)) is not None:
            stamp = stamp or _glog_stamp(head, clock)
            text = text[head.end() :]
        if (tag := _TAG.match(text)) is not None:
            rank = int(tag[1]) if tag[1] else NO_RANK
            text = text[tag.end() :]
        return Body(text, stamp, line, {}, rank)

    def telling_head(self, line: Line) -> bool:
        """Tell whether the tag of this engine stands in front."""
        head = _HEAD.match(line.text)
        return _TAG.match(line.text[head.end() if head else 0 :]) is not None


def _glog_stamp(head: re.Match[str], clock: Clock) -> Stamp | None:
    month, day, hour, minute, second = (int(part) for part in head.groups())
    return clock.yearless(month, day, hour, minute, second)
