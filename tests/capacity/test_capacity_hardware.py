"""The table of accelerators, and finding one by name."""

import csv
from pathlib import Path

import pytest

from diagnostics.capacity import hardware
from diagnostics.capacity.checks import CapacityError, UnknownFigureError
from diagnostics.capacity.hardware import find_gpu, load_gpus, match_gpus


def test_every_row_is_loaded_with_its_source():
    with (Path(hardware.__file__).with_name("hardware.csv")).open(encoding="utf-8", newline="") as lines:
        names = [row["gpu"] for row in csv.DictReader(lines)]
    assert [gpu.name for gpu in load_gpus()] == names
    assert all(gpu.source for gpu in load_gpus())


@pytest.mark.parametrize("gpu", load_gpus(), ids=lambda gpu: gpu.name)
def test_every_row_is_found_by_its_own_name(gpu):
    assert find_gpu(gpu.name) is gpu
    assert find_gpu(gpu.name.lower()) is gpu


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("nvidia-h100-80gb-hbm3", "H100 SXM"),
        ("H100-SXM5-80GB", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA H100 NVL", "H100 NVL"),
        ("NVIDIA H200", "H200 SXM"),
        ("8x H200 SXM", "H200 SXM"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB SXM"),
        ("NVIDIA A100-SXM4-40GB", "A100 40GB SXM"),
        ("NVIDIA A100 80GB PCIe", "A100 80GB PCIe"),
        ("NVIDIA-A100-PCIE-40GB", "A100 40GB PCIe"),
        ("NVIDIA A10G", "A10G"),
        ("A10", "A10"),
        ("Tesla T4", "T4"),
        ("NVIDIA L40S", "L40S"),
        ("l40s 48 GB", "L40S"),
        ("NVIDIA L4", "L4"),
        ("Tesla V100-SXM2-32GB", "V100 SXM2 32GB"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("rtx4090", "RTX 4090"),
        ("4090", "RTX 4090"),
        ("NVIDIA RTX 6000 Ada Generation", "RTX 6000 Ada"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000 Blackwell Server"),
        ("NVIDIA GH200 480GB", "GH200 96GB"),
        ("NVIDIA B200", "B200"),
        ("NVIDIA GB200", "GB200 (per GPU)"),
        ("NVIDIA GB10", "GB10 (DGX Spark)"),
        ("AMD Instinct MI300X", "MI300X"),
        ("v5e", "TPU v5e"),
        ("Gaudi3", "Gaudi3"),
    ],
)
def test_names_that_tools_and_people_write_are_found(asked, name):
    assert find_gpu(asked).name == name


@pytest.mark.parametrize(
    "asked",
    [
        "",
        "unknown",
        "RTX A6000",
        "RTX 3090 Ti",
        "NVIDIA GeForce RTX 4090 Laptop GPU",
        "RTX 4090 D",
        "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
        "Tesla V100-SXM2-16GB",
        "H20 141GB",
        "A100X",
    ],
)
def test_a_part_with_other_figures_is_not_taken_for_one_in_the_table(asked):
    assert match_gpus(asked) == ()
    with pytest.raises(CapacityError, match="not in the table"):
        find_gpu(asked)


def test_a_name_that_leaves_the_variant_open_lists_the_candidates():
    with pytest.raises(CapacityError, match="H100 SXM, H100 PCIe, H100 NVL"):
        find_gpu("H100")
    assert [gpu.name for gpu in match_gpus("A100 80GB")] == ["A100 80GB SXM", "A100 80GB PCIe"]


def test_figures_are_in_base_units():
    gpu = find_gpu("H100 SXM")
    assert (gpu.memory_gib, gpu.bandwidth) == (80, 3.35e12)
    assert (gpu.dense_flops("bf16"), gpu.dense_flops("fp8")) == (989e12, 1979e12)
    assert (gpu.compute_capability, gpu.price_range) == ("9.0", (1.99, 5.00))
    assert gpu.interconnect_rate == 900e9


def test_absent_and_unknown_rates_are_told_apart():
    a100, gb10 = find_gpu("A100 80GB SXM"), find_gpu("GB10")
    assert (a100.supports("fp8"), gb10.supports("fp8"), find_gpu("L4").supports("fp8")) == (False, None, True)
    with pytest.raises(CapacityError, match="no fp8 units"):
        a100.dense_flops("fp8")
    with pytest.raises(UnknownFigureError, match="not known"):
        gb10.dense_flops("fp8")


@pytest.mark.parametrize(("name", "rate"), [("V100 SXM2 32GB", 125e12), ("T4", 65e12)])
def test_parts_without_bf16_compute_in_fp16(name, rate):
    gpu = find_gpu(name)
    assert gpu.supports("bf16") is False
    assert gpu.dense_flops("16-bit") == rate


def test_memory_that_software_sees_comes_before_the_data_sheet():
    assert (find_gpu("L4").usable_gib, find_gpu("T4").usable_gib) == (22.5, 15)
    assert find_gpu("H200 SXM").usable_gib == 139
    assert find_gpu("L40S").usable_gib == 48


def test_an_unknown_price_is_none():
    assert find_gpu("L4").price_range is None


@pytest.mark.parametrize(
    ("name", "domain"),
    [("H100 SXM", 8), ("A40", 2), ("H200 NVL", 4), ("GB200", 72), ("L40S", 1), ("GB10", 1), ("MI300X", 8)],
)
def test_the_fast_domain_follows_from_the_link(name, domain):
    assert find_gpu(name).fast_domain == domain


def test_links_are_one_direction_and_fall_back_to_pcie():
    assert find_gpu("H100 SXM").link_rate(4) == 450e9
    assert find_gpu("A100 80GB PCIe").link_rate(2) == 300e9
    assert find_gpu("A100 80GB PCIe").link_rate(4) == pytest.approx(25e9)
    assert find_gpu("A2").link_rate(2) == pytest.approx(12.5e9)  # eight lanes
    with pytest.raises(UnknownFigureError):
        find_gpu("GB10").link_rate(2)
    with pytest.raises(CapacityError):
        find_gpu("L4").link_rate(1)
