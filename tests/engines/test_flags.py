from __future__ import annotations

import pytest

from diagnostics.engines.flags import default_of, flag_for, options_for, parse_version, renamed, since, until

PURPOSES = [
    "concurrency-cap",
    "token-budget",
    "kv-memory-fraction",
    "kv-dtype",
    "prefix-caching",
    "chunked-prefill",
    "speculative-config",
    "max-model-len",
    "max-loras",
    "queue-limit",
    "tensor-parallel",
    "cuda-graph-sizes",
    "data-parallel",
]


@pytest.mark.parametrize(
    ("version", "gpu", "cap", "budget"),
    [
        ("0.8.0", "H100 SXM", "1024", "8192"),
        ("0.8.4", "A100 80GB SXM", "1024", "2048"),
        ("0.8.4", "L4", "1024", "2048"),
        ("0.8.5.post1", "A100 80GB SXM", "1024", "8192"),
        ("v0.8.5", "L4", "256", "2048"),
        ("0.9.2", "A100 80GB SXM", "256", "2048"),
        ("0.9.2", "A100 80GB PCIe", "256", "2048"),
        ("0.10.1", "H100 SXM", "1024", "8192"),
        ("0.27.1", "B200", "1024", "8192"),
        ("0.28.0", "MI300X", "1024", "16384"),
        ("0.33.0", "H200 SXM", "1024", "8192"),
        ("0.33.0", "A10G", "256", "2048"),
        ("0.33.0", "GB10 (DGX Spark)", "256", "2048"),
        (None, "L40S", "256", "2048"),
    ],
)
def test_vllm_limits(version: str | None, gpu: str, cap: str, budget: str) -> None:
    found = [
        default_of("vllm", version, gpu, option) for option in ("max_num_seqs", "max_num_batched_tokens")
    ]
    assert [value and value.value for value in found] == [cap, budget]


def test_what_the_facts_do_not_settle_has_no_default() -> None:
    assert default_of("vllm", "0.10.0", None, "max_num_seqs") is None
    assert default_of("vllm", "0.10.0", "TPU v6e", "max_num_seqs") is None
    assert default_of("vllm", "0.6.0", "L4", "max_num_batched_tokens") is None
    assert default_of("sglang", "0.5.10", "L4", "chunked_prefill_size") is None
    assert default_of("sglang", "0.4.0", "L4", "chunked_prefill_size") is None
    assert default_of("sglang", "0.5.0", "H100 SXM", "max_running_requests") is None
    assert default_of("nobody", "1", None, "x") is None


def test_a_cap_that_holds_for_every_gpu_needs_no_gpu() -> None:
    old, first = (
        default_of("vllm", "0.6.3", None, "max_num_seqs"),
        default_of("vllm", "0.8.2", None, "max_num_seqs"),
    )
    assert old and first
    assert (old.value, first.value) == ("256", "1024")


@pytest.mark.parametrize(
    ("engine", "version", "option", "value"),
    [
        ("vllm", "0.19.1", "gpu_memory_utilization", "0.9"),
        ("vllm", "0.20.0", "gpu_memory_utilization", "0.92"),
        ("vllm", "0.7.3", "enable_prefix_caching", "False"),
        ("vllm", "0.8.0", "enable_prefix_caching", "True"),
        ("vllm", "0.7.3", "enable_chunked_prefill", "False"),
        ("vllm", "0.8.0", "enable_chunked_prefill", "True"),
        ("sglang", "0.5.3", "disable_radix_cache", "False"),
        ("tgi", "3.3.7", "max_concurrent_requests", "128"),
        ("tensorrt-llm", None, "enable_chunked_prefill", "False"),
    ],
)
def test_other_defaults(engine: str, version: str | None, option: str, value: str) -> None:
    found = default_of(engine, version, None, option)
    assert found is not None
    assert found.value == value
    assert found.because


@pytest.mark.parametrize(
    ("version", "gpu", "chunk"),
    [
        ("0.4.10", "L4", "2048"),
        ("0.4.10", "L40S", "8192"),
        ("0.5.6", "L40S", "4096"),
        ("0.5.23", "L4", "4096"),
        ("0.5.23", "T4", "2048"),
        ("0.5.23", "H100 SXM", "8192"),
        ("0.5.23", "B200", "16384"),
        ("0.5.10", "H100 SXM", "8192"),
    ],
)
def test_sglang_chunks(version: str, gpu: str, chunk: str) -> None:
    found = default_of("sglang", version, gpu, "chunked_prefill_size")
    assert found is not None
    assert found.value == chunk


@pytest.mark.parametrize(
    ("engine", "version", "purpose", "flag"),
    [
        ("vllm", "0.8.2", "speculative-config", "--speculative-model"),
        ("vllm", "0.8.3", "speculative-config", "--speculative-config"),
        ("vllm", "0.3.0", "speculative-config", None),
        ("vllm", "0.28.0", "queue-limit", None),
        ("vllm", "0.29.0", "queue-limit", "--max-num-queued-reqs"),
        ("vllm", None, "queue-limit", "--max-num-queued-reqs"),
        ("vllm", "0.10.0", "cuda-graph-sizes", "--compilation-config"),
        ("vllm", "0.12.0", "cuda-graph-sizes", "--cudagraph-capture-sizes"),
        ("vllm", "0.8.2", "data-parallel", None),
        ("sglang", "0.5.3", "concurrency-cap", "--max-running-requests"),
        ("sglang", "0.4.8", "queue-limit", None),
        ("tgi", "3.3.7", "queue-limit", "--max-concurrent-requests"),
        ("tgi", "3.3.7", "data-parallel", None),
        ("llama.cpp", "b6000", "concurrency-cap", "--parallel"),
    ],
)
def test_remedies_name_flags_that_exist(
    engine: str, version: str | None, purpose: str, flag: str | None
) -> None:
    assert flag_for(engine, version, purpose) == flag


def test_current_vllm_and_sglang_serve_every_purpose() -> None:
    assert all(flag_for(engine, None, purpose) for engine in ("vllm", "sglang") for purpose in PURPOSES)


def test_history_of_options() -> None:
    assert (since("vllm", "speculative_config"), until("vllm", "speculative_model")) == ("0.8.3", "0.8.2")
    assert (since("vllm", "unheard_of"), until("vllm", "max_num_seqs")) == (None, None)
    assert options_for("vllm", "speculative-config") == ("speculative_config", "speculative_model")


def test_renamed() -> None:
    gone = renamed("vllm", "0.9.0", "speculative_model")
    assert gone is not None
    assert "last in 0.8.2" in gone
    assert "--speculative-config" in gone
    assert renamed("vllm", "0.17.3", "swap_space") is None
    assert renamed("vllm", "0.18.0", "swap_space") is not None
    assert renamed("vllm", "0.12.0", "num_lookahead_slots") is not None
    assert renamed("vllm", "0.8.0", "speculative_config") == (
        "vllm 0.8.0 does not have --speculative-config yet (first in 0.8.3)"
    )
    assert renamed("vllm", None, "num_scheduler_steps") is not None
    assert renamed("vllm", "0.12.0", "compilation_config") is None
    assert renamed("vllm", "0.12.0", "max_num_seqs") is None


def test_versions() -> None:
    assert parse_version("v0.8.5.post1") == (0, 8, 5)
    assert parse_version("0.11.1rc2.dev4+gabc") == (0, 11, 1)
    assert parse_version("latest") is None
    assert parse_version(None) is None
