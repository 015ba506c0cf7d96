"""llama.cpp's server: slots that begin and end, and the timings of each finished request.

Written from its documentation; not seen in a recording. Its clock counts from the start, so only a carrier's time is one.
"""

from __future__ import annotations

import re

from diagnostics.sources.logs.collector import Collector
from diagnostics.sources.logs.engine import Rule, as_http_error, as_ready, rule
from diagnostics.sources.logs.message import Body, Line
from diagnostics.sources.logs.times import Clock

_HEAD = re.compile(r"^(?:\d+\.\d\d\.\d{3}\.\d{3} )?(?:[IWED] )?")
_TIMING = r"= +([\d.]+) ms / +(\d+) tokens"
_RUNNING = "llamacpp:log:running"
_BUSY = "busy slots"


def _read_slot(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Follow which slots work: there is no line that says how many."""
    known = out.noted(body, _BUSY)
    busy = known if isinstance(known, set) else set()
    if found["idle"]:
        busy.clear()
    elif found["begin"]:
        busy.add(found["begin"])
    else:
        busy.discard(found["end"])
    out.serving(body)
    out.note(body, _BUSY, busy)
    out.sample(_RUNNING, float(len(busy)), body)
    return True


def _read_prompt(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the prefill of a request; tokens found in a slot's cache are not among these."""
    out.observed({"llamacpp:log:prefill_time": float(found[1]) / 1000}, body)
    out.totals({"llamacpp:log:prompt_tokens": float(found[2])}, body)
    return True


def _read_answer(found: re.Match[str], body: Body, out: Collector) -> bool:
    seconds, tokens = float(found[1]) / 1000, float(found[2])
    out.observed({"llamacpp:log:decode_time": seconds}, body)
    if tokens:
        out.observed({"llamacpp:log:tpot": seconds / tokens}, body)
    out.totals({"llamacpp:log:generation_tokens": tokens}, body)
    return True


def _read_total(found: re.Match[str], body: Body, out: Collector) -> bool:
    out.observed({"llamacpp:log:inference_time": float(found[1]) / 1000}, body)
    out.totals({"llamacpp:log:requests_finished": 1.0}, body)
    return True


def _read_drafts(found: re.Match[str], body: Body, out: Collector) -> bool:
    accepted, drafted = float(found[1]), float(found[2])
    out.totals(
        {"llamacpp:log:spec_accepted_tokens": accepted, "llamacpp:log:spec_draft_tokens": drafted}, body
    )
    return True


def _read_cache(found: re.Match[str], body: Body, out: Collector) -> bool:
    """Read the pool: cells of each stream, sequences by streams. A model with sliding windows has a second, smaller one."""
    where = "start-up line 'llama_kv_cache: size'"
    cells = int(found["cells"]) * int(found["streams"] or 1)
    if cells > int(out.known("kv_capacity_tokens", body) or 0):
        out.setting("kv_capacity_tokens", str(cells), where, body)
        out.setting("kv_memory_gib", f"{float(found['size']) / 1024:g}", where, body)
    if found["slots"]:
        out.setting("total_slots", found["slots"], where, body)
    return True


_SLOT = (
    r"^(?:slot +launch_slot_: id +(?P<begin>\d+) .*processing task|slot +release: id +(?P<end>\d+) .*stop processing"
    r"|srv +update_slots: (?P<idle>all slots are idle))"
)
_CACHE = (
    r"^llama_kv_cache\w*: size = +(?P<size>[\d.]+) MiB \( *(?P<cells>\d{1,12}) cells, +\d+ layers"
    r"(?:, +(?P<slots>\d{1,6})/ *(?P<streams>\d{1,6}) seqs)?"
)
_DRAFTS = r"^draft acceptance rate = [\d.]+ \( *(\d+) accepted / +(\d+) generated\)"
_REQUEST = r"log_server_r: request: \S+ \S+ \S+ (?P<status>[45]\d\d)\b"


class LlamaCppLog:
    """The reader of the log of llama.cpp's server."""

    name = "llama.cpp"
    rules: tuple[Rule, ...] = (
        rule("launch_slot_: ", _SLOT, _read_slot, "statistics", alone=False),
        rule("stop processing", _SLOT, _read_slot, "statistics", alone=False),
        rule("all slots are idle", _SLOT, _read_slot, "statistics", alone=False),
        rule("prompt eval time", rf"^prompt eval time {_TIMING}", _read_prompt, "statistics", alone=False),
        rule("       eval time", rf"^ +eval time {_TIMING}", _read_answer, "statistics", alone=False),
        rule("      total time", rf"^ +total time {_TIMING}", _read_total, "statistics", alone=False),
        rule("draft acceptance rate = ", _DRAFTS, _read_drafts, "statistics", alone=False),
        rule("llama_kv_cache", _CACHE, _read_cache, "start-up"),
        rule("server is listening", r"^main: server is listening on ", as_ready, "start-up"),
        rule("log_server_r", _REQUEST, as_http_error(), "warning"),
    )

    def body(self, line: Line, clock: Clock) -> Body:
        """Take the time since the start and the level off."""
        return Body(_HEAD.sub("", line.text, count=1), line.stamp, line, {})

    def telling_head(self, line: Line) -> bool:
        """Tell that no head speaks for this engine."""
        return False
