"""Roofline, communication and parallel degrees, against the worked numbers."""

import pytest
from capacity_models import DEEPSEEK_V3, LLAMA_8B, LLAMA_70B, QWEN25_7B

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.communication import (
    all_reduce_link_bytes,
    pipeline_parallel_traffic,
    pipeline_step_seconds,
    tensor_parallel_traffic,
)
from diagnostics.capacity.hardware import find_gpu
from diagnostics.capacity.model import ModelShape, shape_from_config
from diagnostics.capacity.parallelism import check_tp, kv_replication, largest_tp, tp_obstacles, tp_options
from diagnostics.capacity.precision import precision
from diagnostics.capacity.roofline import (
    compute_rate,
    crossing_batch,
    decode_floor,
    decode_flop,
    efficiency,
    step_floor,
)

BF16 = precision("bf16")
MIB = 2**20


@pytest.mark.parametrize(
    ("name", "sixteen_bit", "four_bit"),
    [
        ("H100 SXM", 295, 74),
        ("H200 SXM", 206, 52),
        ("A100 80GB SXM", 153, 38),
        ("L4", 403, 101),
        ("L40S", 419, 105),
    ],
)
def test_the_batch_where_compute_overtakes_reading(name, sixteen_bit, four_bit):
    gpu = find_gpu(name)
    rate = gpu.dense_flops("bf16")
    assert crossing_batch(rate, gpu.bandwidth, 2) == pytest.approx(sixteen_bit, abs=0.5)
    assert crossing_batch(rate, gpu.bandwidth, 0.5) == pytest.approx(four_bit, abs=0.5)


@pytest.mark.parametrize(
    ("config", "name", "tp", "milliseconds", "tolerance"),
    [
        (LLAMA_8B, "H100 SXM", 1, 4.8, 0.05),
        (LLAMA_8B, "L4", 1, 54, 0.5),
        (LLAMA_70B, "H100 SXM", 4, 10.5, 0.05),
    ],
)
def test_the_floor_of_one_step(config, name, tp, milliseconds, tolerance):
    floor = decode_floor(
        shape_from_config(config), find_gpu(name), BF16, tp=tp, batch=1, held_tokens=0, kv_dtype="bf16"
    )
    assert floor.seconds * 1e3 == pytest.approx(milliseconds, abs=tolerance)
    assert floor.bound == "bandwidth"


def test_the_kv_of_every_running_sequence_is_read_once():
    shape, gpu = shape_from_config(LLAMA_8B), find_gpu("H100 SXM")
    floor = decode_floor(shape, gpu, BF16, tp=1, batch=64, held_tokens=1000, kv_dtype="bf16")
    assert floor.read_seconds == pytest.approx((2 * shape.parameters + 64 * 1000 * 131_072) / 3.35e12)


def test_a_large_batch_is_bound_by_compute():
    floor = step_floor(read_bytes=16e9, flop=decode_flop(8e9, 512), bandwidth=3.35e12, flops=989e12)
    assert floor.bound == "compute"
    assert floor.seconds == pytest.approx(2 * 8e9 * 512 / 989e12)


def test_efficiencies_stretch_each_side():
    floor = step_floor(read_bytes=1e9, flop=1e9, bandwidth=1e12, flops=1e12, bandwidth_efficiency=0.5)
    assert (floor.read_seconds, floor.compute_seconds) == (pytest.approx(2e-3), pytest.approx(1e-3))


def test_an_unknown_rate_leaves_the_floor_of_reading():
    floor = step_floor(read_bytes=1e9, flop=1e12, bandwidth=1e12, flops=None)
    assert (floor.seconds, floor.compute_seconds, floor.bound) == (1e-3, None, "bandwidth")


def test_fp8_weights_on_hardware_without_fp8_are_multiplied_in_sixteen_bits():
    assert compute_rate(find_gpu("A100 80GB SXM"), precision("fp8")) == 312e12
    assert compute_rate(find_gpu("H100 SXM"), precision("fp8")) == 1979e12
    assert compute_rate(find_gpu("H100 SXM"), precision("awq")) == 989e12
    assert compute_rate(find_gpu("H100 SXM"), precision("int8")) is None
    assert compute_rate(find_gpu("GB10"), BF16) is None


def test_efficiency_is_floor_over_measured():
    assert efficiency(4.8e-3, 6.4e-3) == pytest.approx(0.75)


@pytest.mark.parametrize(
    "call",
    [
        lambda: step_floor(read_bytes=1e9, flop=1e9, bandwidth=0, flops=1e12),
        lambda: step_floor(read_bytes=1e9, flop=1e9, bandwidth=1e12, flops=0),
        lambda: step_floor(read_bytes=0, flop=1e9, bandwidth=1e12, flops=None),
        lambda: step_floor(read_bytes=1, flop=1, bandwidth=1, flops=1, bandwidth_efficiency=0),
        lambda: step_floor(read_bytes=1, flop=1, bandwidth=1, flops=1, compute_efficiency=1.1),
        lambda: crossing_batch(1e12, 0, 2),
        lambda: crossing_batch(0, 1e12, 2),
        lambda: decode_flop(0, 1),
        lambda: efficiency(1, 0),
        lambda: tensor_parallel_traffic(layers=0, hidden=8, batch=1, tp=2),
        lambda: tensor_parallel_traffic(layers=1, hidden=8, batch=1, tp=0),
        lambda: tensor_parallel_traffic(layers=1, hidden=8, batch=1, tp=2).seconds(0),
        lambda: tensor_parallel_traffic(layers=1, hidden=8, batch=1, tp=2).seconds(1, latency=-1),
        lambda: pipeline_step_seconds([], 0),
    ],
)
def test_impossible_figures_are_refused(call):
    with pytest.raises(CapacityError):
        call()


def test_all_reduces_of_a_70b_step():
    traffic = tensor_parallel_traffic(layers=80, hidden=8192, batch=64, tp=4)
    assert (traffic.messages, traffic.message_bytes, traffic.link_bytes) == (160, MIB, 240 * MIB)
    assert traffic.seconds(450e9) * 1e3 == pytest.approx(0.56, abs=0.005)
    assert traffic.seconds(25e9) * 1e3 == pytest.approx(10, abs=0.1)


def test_the_table_gives_the_same_links():
    assert find_gpu("H100 SXM").link_rate(4) == 450e9
    assert find_gpu("L40S").link_rate(4) == pytest.approx(25e9)


def test_latency_is_paid_for_every_message():
    traffic = tensor_parallel_traffic(layers=80, hidden=8192, batch=64, tp=4)
    assert traffic.seconds(450e9, latency=10e-6) - traffic.seconds(450e9) == pytest.approx(1.6e-3)


def test_one_gpu_sends_nothing():
    traffic = tensor_parallel_traffic(layers=80, hidden=8192, batch=64, tp=1)
    assert (traffic.messages, traffic.link_bytes) == (0, 0)


@pytest.mark.parametrize(("gpus", "times"), [(1, 0), (2, 1), (4, 1.5), (8, 1.75)])
def test_a_ring_moves_the_message_almost_twice(gpus, times):
    assert all_reduce_link_bytes(100, gpus) == times * 100


def test_a_pipeline_sends_once_a_boundary_but_its_stages_add_up():
    traffic = pipeline_parallel_traffic(hidden=8192, batch=64, stages=4)
    assert (traffic.messages, traffic.link_bytes) == (3, 3 * MIB)
    assert pipeline_step_seconds([0.01] * 4, 0.001) == pytest.approx(0.043)


@pytest.mark.parametrize(
    ("config", "tp", "words"),
    [
        (QWEN25_7B, 8, "28 attention heads are no multiple of 8"),
        (LLAMA_70B, 3, "64 attention heads are no multiple of 3"),
        (LLAMA_70B, 3, "neither divides the 8 KV heads"),
    ],
)
def test_a_degree_that_does_not_divide_is_refused_with_the_reason(config, tp, words):
    with pytest.raises(CapacityError, match=words):
        check_tp(shape_from_config(config), tp)


def test_a_shard_holds_whole_quantization_groups():
    shape = shape_from_config(QWEN25_7B)  # MLP 18944 = 148 groups of 128
    assert tp_obstacles(shape, 4, precision("awq")) == ()
    assert (
        "quantization group 128"
        in tp_obstacles(shape_from_config({**QWEN25_7B, "intermediate_size": 18688}), 4, precision("awq"))[0]
    )


def test_an_fp8_block_of_experts_limits_the_degree():
    reasons = tp_obstacles(shape_from_config(DEEPSEEK_V3), 32)
    assert reasons == (
        "MLP size 18432 / 32 = 576 is no multiple of the quantization group 128",
        "expert MLP size 2048 / 32 = 64 is no multiple of the quantization group 128",
    )
    assert tp_obstacles(shape_from_config(DEEPSEEK_V3), 16) == ()


def test_options_say_what_replicates_and_what_crosses_pcie():
    options = {
        option.degree: option for option in tp_options(shape_from_config(QWEN25_7B), 8, gpu=find_gpu("L4"))
    }
    assert [option.degree for option in options.values()] == [1, 2, 4, 8]
    assert not options[8].valid
    assert options[8].kv_heads_per_gpu is None
    assert (options[4].kv_heads_per_gpu, options[4].replication, options[4].within_fast_link) == (1, 1, False)
    assert any("fast link" in words for words in options[2].reasons)


def test_replication_begins_beyond_the_kv_heads():
    shape = shape_from_config(LLAMA_70B)
    assert [kv_replication(shape, tp) for tp in (1, 8, 16)] == [1, 1, 2]
    option = tp_options(shape, 16)[-1]
    assert (option.valid, option.replication) == (True, 2)
    assert "stops shrinking at TP 8" in option.reasons[0]


def test_latent_attention_is_replicated_on_every_rank():
    assert kv_replication(shape_from_config(DEEPSEEK_V3), 8) == 8


def test_the_largest_degree_skips_what_the_heads_forbid():
    assert largest_tp(shape_from_config(QWEN25_7B), 8) == 4
    assert largest_tp(shape_from_config(LLAMA_70B), 8) == 8


def test_unknown_structure_is_not_checked():
    shape = ModelShape(parameters=8e9, layers=32, kv_heads=8, head_size=128)
    assert tp_obstacles(shape, 16) == ()
