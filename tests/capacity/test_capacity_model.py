"""Reading model configurations."""

import pytest
from capacity_models import (
    DEEPSEEK_V3,
    GPT_OSS_20B,
    LLAMA2_7B,
    LLAMA_1B,
    LLAMA_8B,
    LLAMA_70B,
    MIXTRAL_8X7B,
    QWEN3_30B_A3B,
    QWEN25_7B,
    QWEN25_72B,
    TINY,
)

from diagnostics.capacity.checks import CapacityError, UnknownFigureError
from diagnostics.capacity.model import ModelShape, shape_from_config


@pytest.mark.parametrize(
    ("config", "billions", "active"),
    [
        (LLAMA_8B, 8.03, 8.03),
        (LLAMA_70B, 70.55, 70.55),
        (LLAMA_1B, 1.24, 1.24),
        (LLAMA2_7B, 6.74, 6.74),
        (QWEN25_7B, 7.62, 7.62),
        (QWEN25_72B, 72.7, 72.7),
        (DEEPSEEK_V3, 671.0, 37.5),
        (MIXTRAL_8X7B, 46.7, 12.9),
        (QWEN3_30B_A3B, 30.5, 3.35),
        (GPT_OSS_20B, 20.9, 4.2),
        (TINY, 0.0235, 0.0235),
    ],
    ids=lambda value: value.get("model_type") if isinstance(value, dict) else None,
)
def test_counted_parameters_agree_with_the_model_card(config, billions, active):
    # Active parameters include input embeddings here; cards that leave them out (gpt-oss: 3.6) say less.
    shape = shape_from_config(config)
    assert shape.parameters / 1e9 == pytest.approx(billions, rel=0.005)
    assert shape.active / 1e9 == pytest.approx(active, rel=0.02)


def test_head_size_is_derived_only_where_it_is_not_given():
    assert shape_from_config(LLAMA_8B).head_size == 128
    assert shape_from_config(QWEN3_30B_A3B).head_size == 128  # hidden / heads would be 64


def test_missing_kv_heads_mean_one_for_each_head_and_are_listed_as_assumed():
    shape = shape_from_config(LLAMA2_7B)
    assert shape.kv_heads == 32
    assert any("KV head" in words for words in shape.assumptions)


def test_silent_tying_is_an_assumption_and_a_written_one_is_not():
    assert any("tie_word_embeddings" in words for words in shape_from_config(LLAMA2_7B).assumptions)
    assert not any("tie_word_embeddings" in words for words in shape_from_config(LLAMA_8B).assumptions)


def test_a_window_that_is_switched_off_does_not_count():
    assert shape_from_config(QWEN25_7B).window is None


def test_a_window_without_a_list_of_layers_holds_for_all_of_them():
    shape = shape_from_config({**LLAMA_8B, "model_type": "mistral", "sliding_window": 4096})
    assert (shape.window, shape.window_layers, shape.full_layers) == (4096, 32, 0)


@pytest.mark.parametrize(
    ("extra", "window_layers", "stateless"),
    [
        ({"layer_types": ["sliding_attention", "full_attention"] * 16, "sliding_window": 128}, 16, 0),
        ({"sliding_window": 1024, "sliding_window_pattern": 6}, 27, 0),
        ({"sliding_window": 4096, "model_type": "gemma2"}, 16, 0),
        ({"sliding_window": 4096, "use_sliding_window": True, "max_window_layers": 28}, 4, 0),
        ({"layer_types": ["linear_attention"] * 24 + ["full_attention"] * 8}, 0, 24),
        ({"full_attention_interval": 4}, 0, 24),
        ({"hybrid_override_pattern": "M-M*" * 8}, 0, 24),
        ({"layers_block_type": ["mamba"] * 28 + ["attention"] * 4}, 0, 28),
        ({"attn_layer_period": 8, "attn_layer_offset": 4}, 0, 28),
    ],
)
def test_layer_kinds_are_read_from_every_spelling(extra, window_layers, stateless):
    shape = shape_from_config({**LLAMA_8B, **extra}, parameters=8e9)
    assert (shape.window_layers, shape.stateless_layers) == (window_layers, stateless)


def test_state_space_layers_need_the_parameters_from_outside():
    config = {**LLAMA_8B, "full_attention_interval": 4}
    with pytest.raises(UnknownFigureError, match="give the number of parameters"):
        shape_from_config(config)


def test_the_text_part_of_a_multimodal_model_is_found():
    shape = shape_from_config({"architectures": ["X"], "text_config": LLAMA_8B, "vision_config": {}})
    assert shape.layers == 32
    assert any("image" in words for words in shape.assumptions)


def test_latent_attention_is_recognised():
    shape = shape_from_config(DEEPSEEK_V3)
    assert shape.mla is not None
    assert (shape.mla.rank, shape.mla.rope_size) == (512, 64)


def test_multi_query_has_one_kv_head():
    assert shape_from_config({**LLAMA2_7B, "multi_query": True}).kv_heads == 1


def test_mxfp4_leaves_all_but_the_experts_in_sixteen_bits():
    shape = shape_from_config(GPT_OSS_20B)
    assert shape.experts is not None
    assert shape.kept_16bit_parameters == shape.parameters - shape.experts.parameters


@pytest.mark.parametrize(
    ("section", "bytes_each", "compute", "weight_only"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 0.531, "16-bit", True),
        ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64}, 0.5625, "16-bit", True),
        ({"quant_method": "gptq", "bits": 8, "group_size": -1}, 1.0, "16-bit", True),
        ({"quant_method": "fp8"}, 1.0, "fp8", False),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, 0.5625, "16-bit", True),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, 0.5625, "fp4", False),
        ({"quant_method": "modelopt", "quant_algo": "FP8"}, 1.0, "fp8", False),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {
                        "weights": {"num_bits": 8, "type": "float"},
                        "input_activations": {"num_bits": 8},
                    }
                },
            },
            1.0,
            "fp8",
            False,
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {
                        "weights": {"num_bits": 4, "type": "int", "group_size": 128},
                        "input_activations": None,
                    }
                },
            },
            0.531,
            "16-bit",
            True,
        ),
    ],
)
def test_quantization_sections_of_every_tool_are_read(section, bytes_each, compute, weight_only):
    stored = shape_from_config({**LLAMA_8B, "quantization_config": section}).quantization
    assert stored is not None
    assert stored.bytes_per_parameter == pytest.approx(bytes_each, abs=0.001)
    assert (stored.compute, stored.weight_only) == (compute, weight_only)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_hidden_layers": None}, "num_hidden_layers"),
        ({"vocab_size": None}, "vocab_size is missing"),
        ({"num_hidden_layers": "many"}, "whole number"),
        ({"num_hidden_layers": True}, "whole number"),
        ({"hidden_size": 0}, "above zero"),
        ({"hidden_size": 4097}, "head_dim is missing"),
        ({"is_encoder_decoder": True}, "encoder-decoder"),
        ({"quantization_config": {"quant_method": "new-idea"}}, "new-idea"),
        ({"num_experts": 8}, "num_experts_per_tok"),
    ],
)
def test_what_cannot_be_read_is_an_error_that_names_the_field(change, words):
    with pytest.raises(CapacityError, match=words):
        shape_from_config({**LLAMA_8B, **change})


def test_a_batch_reads_more_experts_than_one_sequence():
    shape = shape_from_config(MIXTRAL_8X7B)
    assert shape.parameters_read(1) == pytest.approx(shape.active)
    # 2 of 8 experts a token: 8 tokens leave an expert out with chance 0.75^8 = 0.1
    untouched = shape.experts.parameters * 0.75**8
    assert shape.parameters_read(8) == pytest.approx(shape.parameters - untouched)
    assert shape.parameters_read(1000) == pytest.approx(shape.parameters)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": 0}, "parameters"),
        ({"layers": 0}, "layers"),
        ({"kv_heads": 0}, "kv heads"),
        ({"window_layers": 4}, "window"),
        ({"window": 8, "window_layers": 40}, "cannot hold"),
        ({"active_parameters": 9e9}, "active"),
    ],
)
def test_impossible_shapes_are_refused(change, words):
    numbers = {"parameters": 8e9, "layers": 32, "kv_heads": 8, "head_size": 128}
    with pytest.raises(CapacityError, match=words):
        ModelShape(**{**numbers, **change})
