from __future__ import annotations

from typing import Any

import pytest

from diagnostics.sources.config.answers import engine_of, read, recognise

SGLANG: dict[str, Any] = {
    "model_path": "Qwen/Qwen3-32B",
    "host": "10.0.0.7",
    "port": 30000,
    "api_key": "sk-secret",
    "tp_size": 2,
    "mem_fraction_static": 0.85,
    "max_running_requests": None,
    "chunked_prefill_size": 8192,
    "disable_radix_cache": False,
    "schedule_policy": "fcfs",
    "cuda_graph_bs": [1, 2, 4],
    "version": "0.5.3",
    "internal_states": [{"max_total_num_tokens": 400000, "effective_max_running_requests_per_dp": 256}],
}
VLLM: dict[str, Any] = {
    "vllm_config": {
        "model_config": {"model": "a/b", "max_model_len": 8192, "dtype": "torch.bfloat16"},
        "scheduler_config": {"max_num_seqs": 256, "max_num_batched_tokens": 2048, "policy": "fcfs"},
        "cache_config": {"gpu_memory_utilization": 0.9, "cache_dtype": "auto", "enable_prefix_caching": True},
        "parallel_config": {"tensor_parallel_size": 2},
        "speculative_config": {"method": "eagle3", "num_speculative_tokens": 3},
    }
}
MODELS: dict[str, Any] = {
    "object": "list",
    "data": [
        {"id": "m", "object": "model", "root": "a/b", "max_model_len": 32768},
        {"id": "l", "object": "model", "root": "/x", "parent": "m", "max_model_len": None},
    ],
}
TGI: dict[str, Any] = {
    "model_id": "a/b",
    "max_concurrent_requests": 128,
    "max_input_tokens": 4095,
    "max_total_tokens": 4096,
    "version": "3.3.7",
}
PROPS: dict[str, Any] = {
    "default_generation_settings": {"n_ctx": 8192},
    "total_slots": 4,
    "model_path": "x.gguf",
    "build_info": "b6000-abc",
}
MODEL: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "num_hidden_layers": 32,
    "intermediate_size": 14336,
    "torch_dtype": "bfloat16",
    "sliding_window": None,
    "quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128},
}


def values(answer: object) -> dict[str, str]:
    return {setting.name: setting.value for setting in read(answer, "answer")}


@pytest.mark.parametrize(
    ("answer", "kind", "engine"),
    [
        (SGLANG, "sglang server_info", "sglang"),
        (VLLM, "vllm server_info", "vllm"),
        (MODELS, "models", None),
        (TGI, "tgi info", "tgi"),
        (PROPS, "llama.cpp props", "llama.cpp"),
        (MODEL, "model config", None),
    ],
)
def test_recognised(answer: object, kind: str, engine: str | None) -> None:
    assert recognise(answer) == kind
    assert engine_of(kind) == engine


@pytest.mark.parametrize(
    "answer", [{}, [], None, 3, "x", {"data": []}, {"object": "list", "data": [3]}, {"model_id": 1}]
)
def test_others_are_not(answer: object) -> None:
    assert recognise(answer) is None
    assert read(answer, "x") == []


def test_sglang_without_hosts_and_keys() -> None:
    assert values(SGLANG) == {
        "model": "Qwen/Qwen3-32B",
        "tp_size": "2",
        "mem_fraction_static": "0.85",
        "chunked_prefill_size": "8192",
        "disable_radix_cache": "False",
        "schedule_policy": "fcfs",
        "cuda_graph_bs": "[1,2,4]",
        "engine_version": "0.5.3",
        "max_total_num_tokens": "400000",
        "effective_max_running_requests_per_dp": "256",
    }


def test_vllm_under_the_names_of_its_options() -> None:
    found = values(VLLM)
    assert (found["max_num_seqs"], found["max_num_batched_tokens"]) == ("256", "2048")
    assert (found["kv_cache_dtype"], found["scheduling_policy"]) == ("auto", "fcfs")
    assert (found["speculative_method"], found["num_speculative_tokens"]) == ("eagle3", "3")


def test_models_info_and_props() -> None:
    assert values(MODELS) == {"max_model_len": "32768", "model": "a/b", "lora_adapters_listed": "1"}
    assert values(TGI)["max_concurrent_requests"] == "128"
    assert values(PROPS) == {
        "parallel": "4",
        "total_slots": "4",
        "n_ctx_slot": "8192",
        "model": "x.gguf",
        "engine_version": "b6000-abc",
    }


def test_model_configuration() -> None:
    found = values(MODEL)
    assert (found["num_key_value_heads"], found["num_hidden_layers"]) == ("8", "32")
    assert (found["quantization_config.quant_method"], found["quantization_config.bits"]) == ("awq", "4")
    assert "sliding_window" not in found
    seeing = {"text_config": {**MODEL, "num_hidden_layers": 28}, "dtype": "float16"}
    assert values(seeing)["num_hidden_layers"] == "28"
