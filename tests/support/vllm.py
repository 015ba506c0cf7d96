"""A vLLM server in facts: what it exports while nothing is wrong, and what a test wants otherwise."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from support.series import START, Recording, Value

Course = str | float | Sequence[Value]

MODEL = "/models/llama"


def course(values: Course, n: int) -> list[Value]:
    """A constant, a list, or the notation, as n values."""
    if isinstance(values, str):
        from support.series import expand

        return expand(values)
    return [float(values)] * n if isinstance(values, int | float) else list(values)


def counter(per_scrape: Course, n: int, start: float = 0.0) -> list[Value]:
    """A counter that grows by these amounts from scrape to scrape."""
    grown = [float(v or 0) for v in course(per_scrape, n)][: n - 1]
    return list(itertools.accumulate(grown, initial=start))


def start_of(instance: str) -> float:
    """When the process behind an address started: an hour before the recording, each at a moment of its own."""
    return START - 3600 - 7.25 * sum(instance.encode())


def add_vllm(
    recording: Recording,
    n: int = 61,
    *,
    instance: str = "vllm-0:8000",
    engine: str = "0",
    model: str = MODEL,
    running: Course = 3,
    waiting: Course = 0,
    kv: Course = 0.2,
    preempted: Course = 0,
    prompts: Course = 500,
    generated: Course = 300,
    finished: Course = 5,
    began: Course | None = None,
    queue_seconds: float = 0.01,
    ttft_seconds: float = 0.1,
    prefill_seconds: float = 0.05,
    engine_steps: Course = 100,
    step_tokens: Course | None = None,
    prefix_queries: Course | None = None,
    prefix_hits: Course | None = None,
    itl: dict[str, float] | None = None,
    itl_sum: float = 3.0,
    up: Course = 1,
    process_start: Course | None = None,
) -> Recording:
    """Add one scheduler of a vLLM server.

    Counters are given as growth from scrape to scrape; times are means a request; ``itl`` maps a bucket's upper
    edge to the gaps of one scrape at or below it, and ``itl_sum`` is their sum in seconds.
    """
    labels = {"instance": instance, "job": "vllm", "model_name": model, "engine": engine}
    target = {"instance": instance, "job": "vllm"}
    first = began if began is not None else finished

    def gauge(name: str, values: Course) -> None:
        recording.add(f"vllm:{name}", course(values, n), **labels)

    def total(name: str, values: Course, **more: str) -> None:
        recording.add(f"vllm:{name}", counter(values, n), **labels, **more)

    gauge("num_requests_running", running)
    gauge("num_requests_waiting", waiting)
    gauge("kv_cache_usage_perc", kv)
    total("num_preemptions_total", preempted)
    total("prompt_tokens_total", prompts)
    total("generation_tokens_total", generated)
    total("request_success_total", finished, finished_reason="stop")
    total("request_success_total", 0, finished_reason="abort")
    total("prefix_cache_queries_total", prompts if prefix_queries is None else prefix_queries)
    hits = [0.4 * float(v or 0) for v in course(prompts, n)] if prefix_hits is None else prefix_hits
    total("prefix_cache_hits_total", hits)
    for name, count, mean in (
        ("time_to_first_token_seconds", first, ttft_seconds),
        ("request_queue_time_seconds", finished, queue_seconds),
        ("request_prefill_time_seconds", finished, prefill_seconds),
    ):
        total(f"{name}_count", count)
        total(f"{name}_sum", [mean * float(v or 0) for v in course(count, n)])
    both = [
        float(a or 0) + float(b or 0) for a, b in zip(course(prompts, n), course(generated, n), strict=True)
    ]
    total("iteration_tokens_total_count", engine_steps)
    total("iteration_tokens_total_sum", both if step_tokens is None else step_tokens)
    for le, count in (itl or {"0.025": 200, "0.05": 295, "0.1": 300, "+Inf": 300}).items():
        total("inter_token_latency_seconds_bucket", count, le=le)
    total("inter_token_latency_seconds_count", list((itl or {"+Inf": 300}).values())[-1])
    total("inter_token_latency_seconds_sum", itl_sum)
    if engine == "0":
        recording.add("up", course(up, n), **target)
        recording.add(
            "process_start_time_seconds",
            course(start_of(instance) if process_start is None else process_start, n),
            **target,
        )
    return recording


def vllm(n: int = 61, *, step: float = 5.0, command: str = "", **signals: object) -> Recording:
    """A recording of one vLLM server; see :func:`add_vllm`."""
    return add_vllm(Recording(step=step, command=command), n, **signals)  # type: ignore[arg-type]
