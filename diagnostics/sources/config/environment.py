"""Environment variables as settings: which ones configure an engine, and which option each stands for."""

from __future__ import annotations

import re

from diagnostics.sources.config.options import LLAMACPP, TGI, is_secret, names, settle

_RELEVANT = re.compile(
    r"^(?:VLLM_|SGLANG_|SGL_|LLAMA_ARG_|TRTLLM_|TLLM_|LMCACHE_|DYN_|NCCL_|CUDA_VISIBLE_DEVICES$|OMP_NUM_THREADS$"
    r"|PYTORCH_CUDA_ALLOC_CONF$|HIP_VISIBLE_DEVICES$|ROCR_VISIBLE_DEVICES$)"
)
# The launcher reads each of its options from the environment as well; only these are worth keeping.
_TGI = names(
    """model_id num_shard sharded quantize dtype kv_cache_dtype max_concurrent_requests max_batch_size
    speculate max_input_tokens max_input_length max_total_tokens max_batch_prefill_tokens
    max_batch_total_tokens waiting_served_ratio max_waiting_tokens cuda_graphs cuda_memory_fraction
    attention prefix_caching lora_adapters disable_custom_kernels trust_remote_code"""
)
_LLAMA = {
    "n_parallel": "parallel",
    "n_gpu_layers": "n_gpu_layers",
    "ctx_size": "ctx_size",
    "batch": "batch_size",
    "ubatch": "ubatch_size",
    "flash_attn": "flash_attn",
    "hf_repo": "hf_repo",
    "model": "model",
    "cache_type_k": "cache_type_k",
    "cache_type_v": "cache_type_v",
    "endpoint_metrics": "metrics",
    "cont_batching": "cont_batching",
}
# Images and charts without a convention of their own often use the option's name in capitals.
_PLAIN = names(
    """max_num_seqs max_num_batched_tokens max_model_len gpu_memory_utilization tensor_parallel_size
    pipeline_parallel_size data_parallel_size kv_cache_dtype enable_prefix_caching
    enable_chunked_prefill max_running_requests mem_fraction_static chunked_prefill_size
    quantization max_loras"""
)


def environment_settings(environment: dict[str, str], engine: str | None) -> list[tuple[str, str]]:
    """Give the settings that environment variables make.

    Args:
        environment: names and values; secrets and names that configure nothing are left out.
        engine: whose options the variables may stand for, if known.
    """
    found: list[tuple[str, str]] = []
    for key, value in environment.items():
        name = key.lower()
        if is_secret(name) or not value or "$" in value:
            continue
        if engine == TGI and name in _TGI:
            found.append(settle("model" if name == "model_id" else name, value))
        elif engine == LLAMACPP and key.startswith("LLAMA_ARG_"):
            option = name.removeprefix("llama_arg_")
            found.append(settle(_LLAMA.get(option, option), value))
        elif name in _PLAIN:
            found.append(settle(name, value))
        elif _RELEVANT.match(key):
            found.append((name, value))
    return found
