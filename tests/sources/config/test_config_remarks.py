from __future__ import annotations

import pytest

from diagnostics.model.samples import Provenance
from diagnostics.sources.config.hardware import gpu_candidates, gpu_mentions, match_gpu
from diagnostics.sources.config.remarks import is_remark, read_remark


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "# price: 2.836 USD per hour for 2x NVIDIA A10G, tp=2",
            {
                "gpu": "A10G",
                "gpu_count": "2",
                "price_hourly": "2.836",
                "gpu_hourly": "1.418",
                "tensor_parallel_size": "2",
            },
        ),
        (
            "# 8x A100-40G, client: 1000 concurrent threads",
            {"gpu": "A100 40GB SXM", "gpu_count": "8", "client_concurrency": "1000"},
        ),
        ("# load: 40 users, A10G", {"client_concurrency": "40", "gpu": "A10G"}),
        ("# live traffic: about 900 prompt tokens per turn", {"prompt_tokens_per_request": "900"}),
        (
            "# /metrics while one request with a 2.4k-token prompt decodes alone",
            {"prompt_tokens_per_request": "2400"},
        ),
        ("# /metrics after the soak, MAX_NUM_SEQS=4", {"max_num_seqs": "4"}),
        ("# GPU 0: NVIDIA A10", {"gpu": "A10"}),
        ("# $4.20 per GPU-hour", {"gpu_hourly": "4.2"}),
        ("# ISL 1024, OSL 128", {"prompt_tokens_per_request": "1024", "output_tokens_per_request": "128"}),
        (
            "# dataset: 1 distinct prompt repeated 1000 times, prefix caching on (default)",
            {"distinct_prompts": "1", "enable_prefix_caching": "True"},
        ),
        ('# every request carries the same prompt ("hi" repeated)', {"distinct_prompts": "1"}),
        ("# TP 4, max_concurrency: 64", {"tensor_parallel_size": "4", "client_concurrency": "64"}),
    ],
)
def test_what_people_say(line: str, expected: dict[str, str]) -> None:
    found = read_remark(line)
    assert {setting.name: setting.value for setting in found} == expected
    assert {setting.provenance for setting in found} == {Provenance.ASSUMED}


@pytest.mark.parametrize(
    "line",
    [
        "# HELP vllm:num_requests_running Number of 40 users on A10G",
        "# TYPE vllm:num_requests_running gauge",
        "# UNIT x seconds",
        "# EOF",
        "# nvidia-smi GPU-Util: below 50 % on every GPU",
        "# result: 12 requests/s",
        "# prompt_tokens cold_s warm_s hit_tokens",
        '# POST /v1/load_lora_adapter {"lora_name":"l","load_inplace":true}',
        "# probe, same prompt sent twice:",
        "# A10G versus H100",
        "# first 40 users, then 80 users",
        "# see table A2 and T4",
        "# 300 prompt tokens/s",
        "# 10-40 users",
        "vllm 40 users",
        "#" * 5000,
        "# " + "40 " * 2000,
    ],
)
def test_in_doubt_nothing(line: str) -> None:
    assert read_remark(line) == []


def test_metadata_is_no_remark() -> None:
    assert is_remark("# a word")
    assert not is_remark("# HELP x y")
    assert not is_remark("metric 1")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("NVIDIA-A100-PCIE-40GB", "A100 40GB PCIe"),
        ("nvidia-tesla-a100", "A100 40GB SXM"),
        ("A100", None),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("nvidia-h100-mega-80gb", "H100 SXM"),
        ("H100", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA H200", "H200 SXM"),
        ("NVIDIA GH200 480GB", "GH200 96GB"),
        ("GB200", "GB200 (per GPU)"),
        ("NVIDIA L40S", "L40S"),
        ("8xL4", "L4"),
        ("Tesla T4", "T4"),
        ("Tesla V100-SXM2-16GB", None),
        ("V100", None),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("RTX 3090 Ti", None),
        ("NVIDIA RTX A6000", None),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "RTX PRO 6000 Blackwell Workstation"),
        ("AMD Instinct MI300X", "MI300X"),
        ("NVIDIA H20-3e", None),
        ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", None),
        ("p5.48xlarge", "H100 SXM"),
        ("a2-ultragpu-4g", "A100 80GB SXM"),
        ("A10G and H100", None),
        ("", None),
    ],
)
def test_names_of_gpus(text: str, name: str | None) -> None:
    assert match_gpu(text) == name


def test_counts_and_candidates() -> None:
    assert [(mention.name, mention.count) for mention in gpu_mentions("8xH100 or 4 x L4")] == [
        ("H100 SXM", 8),
        ("L4", 4),
    ]
    assert gpu_mentions("H100x8")[0].count == 8
    assert set(gpu_candidates("A100")) == {
        "A100 40GB SXM",
        "A100 40GB PCIe",
        "A100 80GB SXM",
        "A100 80GB PCIe",
    }
