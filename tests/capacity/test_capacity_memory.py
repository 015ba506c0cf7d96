"""Memory budget and KV cache, against the worked numbers."""

import pytest
from capacity_models import (
    DEEPSEEK_V3,
    GPT_OSS_20B,
    LLAMA2_7B,
    LLAMA_8B,
    LLAMA_70B,
    QWEN25_7B,
    QWEN25_72B,
    TINY,
)

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.hardware import GIB, find_gpu
from diagnostics.capacity.memory import (
    MemoryBudget,
    activation_bytes,
    kv_bytes_of_sequence,
    kv_bytes_per_token,
    kv_bytes_per_token_per_gpu,
    model_weight_bytes,
    weight_bytes,
)
from diagnostics.capacity.model import ModelShape, shape_from_config
from diagnostics.capacity.pool import (
    blocks_held,
    high_total_length,
    mean_concurrency,
    mean_occupancy,
    pool_tokens,
    printed_concurrency,
    safe_concurrency,
    slot_reservation,
)
from diagnostics.capacity.precision import kv_value_bytes, precision, weight_only
from diagnostics.capacity.sizing import EngineSettings, group_memory

BF16 = precision("bf16")


@pytest.mark.parametrize(
    ("config", "bytes_a_token"),
    [
        (LLAMA_8B, 131_072),
        (LLAMA_70B, 327_680),
        (QWEN25_72B, 327_680),
        (QWEN25_7B, 57_344),
        (LLAMA2_7B, 524_288),
        (DEEPSEEK_V3, 70_272),
        (TINY, 12_288),
    ],
)
def test_kv_bytes_of_a_token_in_sixteen_bits(config, bytes_a_token):
    assert kv_bytes_per_token(shape_from_config(config), "bfloat16") == bytes_a_token


def test_a_gibibyte_holds_3276_tokens_of_a_70b():
    assert pool_tokens(GIB, 327_680, 1) == 3_276


def test_a_gibibyte_holds_87360_tokens_of_the_tiny_model_in_blocks_of_32():
    assert pool_tokens(GIB, 12_288, 32) == 87_360


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("bf16", 2, 2),
        ("fp16", 2, 2),
        ("fp8", 1, 1),
        ("int8", 1, 1),
        ("awq", 0.53, 0.56),
        ("gptq", 0.53, 0.56),
    ],
)
def test_bytes_of_a_parameter(name, low, high):
    assert low <= precision(name).bytes_per_parameter <= high


def test_smaller_groups_cost_more_scales():
    assert weight_only(4, 64).bytes_per_parameter == 0.5625
    assert weight_only(8, None).bytes_per_parameter == 1


def test_a_70b_in_bf16_weighs_131_gib():
    assert weight_bytes(70.55e9, BF16) / GIB == pytest.approx(131.4, abs=0.05)
    assert 2 * 80 * 0.90 - weight_bytes(70.55e9, BF16) / GIB == pytest.approx(12.6, abs=0.05)


def test_a_70b_on_two_80_gib_cards_keeps_13_to_26_thousand_tokens():
    settings = EngineSettings(
        stored=BF16,
        kv_dtype="bfloat16",
        utilisation=0.90,
        block_size=16,
        batched_tokens=8192,
        max_sequences=256,
    )
    memory = group_memory(shape_from_config(LLAMA_70B), find_gpu("H100 SXM"), 2, settings)
    assert 4 <= 2 * memory.budget.kv / GIB <= 8
    assert 13_000 <= memory.tokens <= 26_500
    assert safe_concurrency(memory.tokens, 8192, 16) == 2


def test_eight_gib_of_a_70b_hold_three_sequences_of_8k():
    assert pool_tokens(4 * GIB, 327_680, 16) == 13_104
    assert pool_tokens(8 * GIB, 327_680, 16) == 26_208
    assert safe_concurrency(26_208, 8192, 16) == 3


def test_embeddings_of_a_quantized_checkpoint_stay_in_sixteen_bits():
    shape = shape_from_config(LLAMA_8B)
    # 6.98e9 at 0.531 and 1.05e9 at 2 bytes: published 4-bit checkpoints of this model have 5.7 to 5.8 GB
    assert model_weight_bytes(shape, precision("awq")) / 1e9 == pytest.approx(5.8, abs=0.05)
    assert model_weight_bytes(shape, precision("fp8")) / 1e9 == pytest.approx(9.08, abs=0.05)
    assert model_weight_bytes(shape, BF16) == pytest.approx(2 * shape.parameters)


def test_an_mxfp4_checkpoint_is_small_in_its_experts_only():
    shape = shape_from_config(GPT_OSS_20B)
    assert model_weight_bytes(shape, shape.quantization) / 1e9 == pytest.approx(13.7, abs=0.3)


def test_weights_are_shared_by_a_tensor_parallel_group():
    assert weight_bytes(8e9, BF16, tp=4) == 4e9


@pytest.mark.parametrize(("tp", "heads"), [(1, 8), (2, 4), (8, 1), (16, 1), (32, 1)])
def test_kv_memory_stops_shrinking_beyond_the_kv_heads(tp, heads):
    shape = shape_from_config(LLAMA_70B)
    assert kv_bytes_per_token_per_gpu(shape, "bf16", tp) == 2 * 80 * heads * 128 * 2


def test_the_latent_cache_is_held_in_full_by_every_rank():
    assert kv_bytes_per_token_per_gpu(shape_from_config(DEEPSEEK_V3), "bf16", 8) == 70_272


def test_a_tp_that_does_not_fit_the_kv_heads_is_refused():
    with pytest.raises(CapacityError, match="neither divides the 8 KV heads"):
        kv_bytes_per_token_per_gpu(shape_from_config(LLAMA_70B), "bf16", 3)


def test_eight_bit_kv_halves_the_bytes():
    shape = shape_from_config(LLAMA_8B)
    assert kv_bytes_per_token(shape, "fp8_e4m3") * 2 == kv_bytes_per_token(shape, "bfloat16")


@pytest.mark.parametrize("dtype", ["auto", "", "q4"])
def test_an_unknown_cache_format_is_refused(dtype):
    with pytest.raises(CapacityError, match="KV cache format"):
        kv_value_bytes(dtype)


def test_an_unknown_weight_format_is_refused():
    with pytest.raises(CapacityError, match="not known"):
        precision("q5_k_m")


def test_windowed_layers_hold_at_most_their_window():
    shape = ModelShape(parameters=1e9, layers=4, kv_heads=1, head_size=64, window=100, window_layers=3)
    layer = 2 * 64 * 2
    assert kv_bytes_of_sequence(shape, "bf16", 50) == 4 * layer * 50
    assert kv_bytes_of_sequence(shape, "bf16", 1000) == layer * (1000 + 3 * 100)


def test_layers_without_a_cache_do_not_count():
    shape = ModelShape(parameters=1e9, layers=4, kv_heads=1, head_size=64, stateless_layers=3)
    assert kv_bytes_per_token(shape, "bf16") == 2 * 64 * 2


def budget(**change):
    terms = {
        "memory": 24.0,
        "utilisation": 0.5,
        "weights": 8.0,
        "activations": 1.0,
        "graphs": 0.5,
        "context": 1.0,
    }
    return MemoryBudget(**{**terms, **change})


def test_the_four_terms_add_up():
    assert budget().left == pytest.approx(12 - 8 - 1 - 0.5 - 1)
    assert budget().fits


def test_a_model_that_does_not_fit_has_a_deficit_and_no_cache():
    short = budget(weights=12.0)
    assert short.left == pytest.approx(-2.5)
    assert (short.kv, short.fits) == (0, False)


@pytest.mark.parametrize(
    "change",
    [{"memory": 0.0}, {"utilisation": 0.0}, {"utilisation": 1.2}, {"weights": 0.0}, {"graphs": -1.0}],
)
def test_impossible_budgets_are_refused(change):
    with pytest.raises(CapacityError):
        budget(**change)


@pytest.mark.parametrize(("tokens", "blocks"), [(0, 0), (1, 1), (16, 1), (17, 2)])
def test_a_sequence_holds_whole_blocks(tokens, blocks):
    assert blocks_held(tokens, 16) == blocks


def test_concurrency_has_three_readings():
    tokens = 32_000
    assert printed_concurrency(tokens, 8_000) == 4
    assert mean_occupancy(900, 200) == 1000
    assert mean_concurrency(tokens, 900, 200, 16) == pytest.approx(32_000 / 1008)
    assert safe_concurrency(tokens, 2_001, 16) == 2_000 // 126


def test_one_sequence_longer_than_the_pool_does_not_fit():
    assert safe_concurrency(1_000, 1_001, 16) == 0


def test_a_pool_smaller_than_a_block_is_empty():
    assert pool_tokens(100, 10, 16) == 0


@pytest.mark.parametrize(("percentile", "length"), [(0.5, 50), (0.95, 95), (1.0, 100)])
def test_the_high_length_is_an_observed_one(percentile, length):
    assert high_total_length(range(1, 101), percentile) == length


def test_no_observed_lengths_is_an_error():
    with pytest.raises(CapacityError, match="no observed lengths"):
        high_total_length([])


def test_contiguous_slots_reserve_the_longest_sequence_each():
    slots = slot_reservation(16, 4096, 512)
    assert (slots.reserved, slots.held, slots.used_share) == (65_536, 8_192, 0.125)


def test_a_slot_cannot_hold_more_than_it_reserves():
    with pytest.raises(CapacityError):
        slot_reservation(1, 100, 101)


def test_activations_are_unknown_without_the_layer_sizes():
    shape = ModelShape(parameters=8e9, layers=32, kv_heads=8, head_size=128)
    assert activation_bytes(shape, tp=1, batched_tokens=8192, sequences=256) is None


@pytest.mark.parametrize(
    "call",
    [
        lambda: weight_bytes(0, BF16),
        lambda: weight_bytes(1e9, BF16, tp=0),
        lambda: weight_bytes(1e9, BF16, kept_16bit=2e9),
        lambda: pool_tokens(-1, 10, 16),
        lambda: pool_tokens(100, 0, 16),
        lambda: pool_tokens(100, 10, 0),
        lambda: printed_concurrency(100, 0),
        lambda: mean_occupancy(0, 0),
        lambda: mean_occupancy(float("nan"), 1),
        lambda: safe_concurrency(100, 0, 16),
        lambda: weight_only(1),
    ],
)
def test_impossible_figures_are_refused(call):
    with pytest.raises(CapacityError):
        call()
