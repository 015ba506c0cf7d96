"""Series of one replica, as ``promtool test rules`` reads them, a healthy vLLM unless something is changed."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

# s between two values of a series.
STEP = 60
# Running below any cap: never flat for long.
UNEVEN = "2 5 1 3 6 2 4 1"
# No progress at all.
FLAT = {"generated": "9000+0", "prompts": "9000+0", "step_sum": "9000+0", "step_count": "500+0"}
_GAPS = "vllm:inter_token_latency_seconds"

# What is changed in a case -> (metric, further labels, value with its growth a step).
_SERIES: dict[str, tuple[str, str, str]] = {
    "running": ("vllm:num_requests_running", "", "3+0"),
    "waiting": ("vllm:num_requests_waiting", "", "0+0"),
    "deferred": ("vllm:num_requests_waiting_by_reason", 'reason="deferred"', "0+0"),
    "kv_usage": ("vllm:kv_cache_usage_perc", "", "0.2+0"),
    "preemptions": ("vllm:num_preemptions_total", "", "0+0"),
    "prompts": ("vllm:prompt_tokens_total", "", "0+200"),
    "generated": ("vllm:generation_tokens_total", "", "0+300"),
    "finished": ("vllm:request_success_total", 'finished_reason="stop"', "0+3"),
    "aborted": ("vllm:request_success_total", 'finished_reason="abort"', "0+0"),
    "first_tokens": ("vllm:time_to_first_token_seconds_count", "", "0+3"),
    "ttft_sum": ("vllm:time_to_first_token_seconds_sum", "", "0+0.6"),
    "queue_sum": ("vllm:request_queue_time_seconds_sum", "", "0+0.03"),
    "queue_count": ("vllm:request_queue_time_seconds_count", "", "0+3"),
    "prefill_sum": ("vllm:request_prefill_time_seconds_sum", "", "0+0.5"),
    "step_sum": ("vllm:iteration_tokens_total_sum", "", "0+500"),
    "step_count": ("vllm:iteration_tokens_total_count", "", "0+100"),
    "gap_sum": (f"{_GAPS}_sum", "", "0+6"),
    "gap_count": (f"{_GAPS}_count", "", "0+300"),
    "gap_10ms": (f"{_GAPS}_bucket", 'le="0.01"', "0+10"),
    "gap_50ms": (f"{_GAPS}_bucket", 'le="0.05"', "0+290"),
    "gap_1s": (f"{_GAPS}_bucket", 'le="1.0"', "0+300"),
    "gap_3s": (f"{_GAPS}_bucket", 'le="2.5"', "0+300"),
    "gap_more": (f"{_GAPS}_bucket", 'le="+Inf"', "0+300"),
    "drafts": ("vllm:spec_decode_num_drafts_total", "", ""),
    "drafted": ("vllm:spec_decode_num_draft_tokens_total", "", ""),
    "accepted": ("vllm:spec_decode_num_accepted_tokens_total", "", ""),
    "lora": ("vllm:lora_requests_info", 'max_lora="1"', ""),
}
_TARGET = {"up": "1+0", "start": "-90000+0"}
_TARGET_NAMES = {"up": "up", "start": "process_start_time_seconds"}


class Replica(Struct, frozen=True):
    """One replica, or one rank of it.

    Attributes:
        values: what is changed -> a value with its growth, or several values that repeat.
        written: of the target's own series, the whole notation.
        length: steps after which the engine's series end; None for all.
    """

    instance: str
    rank: str
    values: dict[str, str]
    written: dict[str, str]
    length: int | None = None

    def over(self, **written: str) -> Replica:
        """The same with a series of the target written out: ``up`` or ``start``."""
        return replace(self, written={**self.written, **written})

    def ends(self, steps: int, **written: str) -> Replica:
        """The same, with the engine's series ending; those of the target too unless written out."""
        target = {name: f"{value}x{steps} stale" for name, value in _TARGET.items()}
        return replace(self, length=steps, written={**target, **written})

    def lines(self, steps: int, job: str) -> list[dict[str, str]]:
        """Input series.

        Args:
            steps: how many values each has after its first.
            job: its job.
        """
        target = f'namespace="prod",job="{job}",instance="{self.instance}"'
        found = []
        if self.rank == "0":
            for name, value in _TARGET.items():
                text = self.written.get(name, f"{value}x{steps}")
                found.append({"series": f"{_TARGET_NAMES[name]}{{{target}}}", "values": text})
        for name, (metric, more, usual) in _SERIES.items():
            value = self.values.get(name, usual)
            if value:
                # That metric has no label of the model.
                model = "" if name == "lora" else f'model_name="llama",engine="{self.rank}"'
                labels = ",".join(p for p in (target, model, more) if p)
                found.append({"series": f"{metric}{{{labels}}}", "values": self._text(value, steps)})
        return found

    def _text(self, value: str, steps: int) -> str:
        count = steps if self.length is None else self.length
        if "+" in value:
            text = f"{value}x{count}"
        else:
            cycle = value.split()
            text = " ".join(cycle[i % len(cycle)] for i in range(count + 1))
        return text if self.length is None else f"{text} stale"


def healthy(instance: str = "vllm-0:8000", rank: str = "0", **changes: str) -> Replica:
    """A replica at moderate load, with changes.

    Args:
        instance: its address.
        rank: its data-parallel rank.
        changes: keys of this module's table of series -> value with its growth a step.
    """
    unknown = changes.keys() - _SERIES.keys()
    if unknown:
        raise KeyError(f"no such series: {', '.join(sorted(unknown))}")
    return Replica(instance, rank, dict(changes), {})
