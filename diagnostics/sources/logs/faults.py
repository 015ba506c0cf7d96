"""Lines that no one engine owns: memory, drivers, collectives, numeric formats, failing requests."""

from __future__ import annotations

from collections.abc import Sequence

from diagnostics.sources.logs.engine import EngineLog, Rule, as_event, rule
from diagnostics.sources.logs.message import Body, Line
from diagnostics.sources.logs.times import Clock

_GPU_MEMORY = (
    r"(?:CUDA|HIP|XPU|NPU) out of memory\. Tried to allocate (?P<requested>[\d.]+ [KMGT]iB)"
    r"(?:\. GPU (?P<gpu>\d+))?(?: has a total capacity of (?P<total>[\d.]+ [KMGT]iB))?"
)
_KILLED = r"[Oo]ut of memory: Killed process \d+ \((?P<process>[^)]*)\)"
_DIVISIBLE = (
    r"(?:heads|size|dim)\w* \((?P<heads>\d+)\) must be divisible by "
    r"(?:the )?tensor.parallel(?:ism)? size \((?P<tp>\d+)\)"
)
_SHARDS = r"`num_heads` must be divisible by `num_shards` \(got `num_heads`: (?P<heads>\d+) and `num_shards`: (?P<tp>\d+)\)"
_REMAINDER = r"AssertionError: (?P<heads>\d+) is not divisible by (?P<tp>\d+)"
_TILE = r"Weight (?:in|out)put_size_per_partition = (?P<part>\d+) is not divisible by +min_thread_[kn] = (?P<tile>\d+)"
_PCIE = r"[Cc]ustom allreduce is disabled because it's not supported on more than two PCIe-only GPUs"

_RULES: tuple[Rule, ...] = (
    rule("out of memory", _GPU_MEMORY, as_event("out-of-memory", scope="gpu"), "warning", telling=False),
    rule("ut of memory: Killed", _KILLED, as_event("out-of-memory", scope="host"), "warning", telling=False),
    rule(
        "NVRM: Xid", r"NVRM: Xid \((?P<pci>[^)]+)\): (?P<xid>\d+)", as_event("xid"), "warning", telling=False
    ),
    rule("NCCL", r"NCCL error|NCCL WARN", as_event("nccl-error"), "warning", telling=False),
    rule(
        "collective operation timeout",
        r"Watchdog caught collective operation timeout",
        as_event("nccl-error", reason="timeout"),
        "warning",
        telling=False,
    ),
    rule("must be divisible by", _DIVISIBLE, as_event("tp-indivisible"), "warning", telling=False),
    rule("by `num_shards`", _SHARDS, as_event("tp-indivisible"), "warning", telling=False),
    rule("is not divisible by", _REMAINDER, as_event("tp-indivisible"), "warning", telling=False),
    rule("_size_per_partition = ", _TILE, as_event("tp-indivisible"), "warning", telling=False),
    rule("llreduce is disabled", _PCIE, as_event("pcie-allreduce-disabled"), "warning", telling=False),
    rule(
        "does not have native support for FP8",
        r"does not have native support for FP8",
        as_event("no-native-fp8"),
        "warning",
        telling=False,
    ),
    rule(
        "leveraging the Marlin kernel",
        r"^(?!.*native support for FP8).*Weight-only (?P<format>\S+) .*leveraging the Marlin kernel",
        as_event("marlin-fallback"),
        "warning",
        telling=False,
    ),
)


class FaultLog:
    """Applies to the lines of every engine; takes the head off with whichever engine knows it."""

    name = ""
    rules = _RULES

    def __init__(self, engines: Sequence[EngineLog]) -> None:
        self._engines = engines

    def body(self, line: Line, clock: Clock) -> Body:
        """Take an engine's head off, if there is one."""
        for engine in self._engines:
            body = engine.body(line, clock)
            if len(body.text) < len(line.text):
                return body
        return Body(line.text, line.stamp, line, {})

    def telling_head(self, _line: Line) -> bool:
        """Tell that no head speaks for an engine here."""
        return False
