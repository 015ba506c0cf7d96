"""The readers, in the order in which they are asked."""

from __future__ import annotations

from typing import Protocol

from diagnostics.model.bench import BenchRun
from diagnostics.sources.bench import (
    aibrix,
    aiperf,
    averages,
    console,
    console_aiperf,
    decode_matrix,
    evalscope,
    genai_bench,
    genai_perf,
    guidellm,
    inference_perf,
    inferencex,
    k6,
    llama_bench,
    llmd_report,
    llmeter,
    llmperf,
    lm_eval,
    lmbenchmark,
    lmdeploy,
    locust,
    mlperf,
    optimum,
    sglang,
    sglang_batch,
    table,
    trtllm,
    vllm_latency,
    vllm_serve,
    vllm_throughput,
)
from diagnostics.sources.bench.content import Content


class Reader(Protocol):
    """What a reader module offers.

    ``HINTS`` are strings that a broken file of this format still contains, all of them.
    """

    FORMAT: str
    HINTS: tuple[str, ...]

    def recognise(self, content: Content) -> bool:
        """Whether the content is of this format."""

    def read(self, source: str, content: Content) -> list[BenchRun]:
        """The runs of a recognised content."""


READERS: tuple[Reader, ...] = (
    vllm_serve,
    vllm_latency,
    vllm_throughput,
    sglang,
    sglang_batch,
    aiperf,
    guidellm,
    inference_perf,
    llmperf,
    optimum,
    trtllm,
    lm_eval,
    mlperf,
    llmd_report,
    inferencex,
    lmdeploy,
    llama_bench,
    lmbenchmark,
    locust,
    aibrix,
    averages,
    console_aiperf,
    console,
    genai_perf,
    decode_matrix,
    evalscope,
    genai_bench,
    k6,
    llmeter,
    table,
)
