"""Sound inputs of every grammar, to be damaged: what the tests have at hand, and short texts of the rest."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path

from support.carriers import dump, openmetrics, query_range
from support.vllm import vllm

_TESTS = Path(__file__).parents[1]
_SAMPLES = _TESTS.parent / "sample_data"
_BENCH = _TESTS / "sources" / "bench" / "samples"
_LARGEST_BENCH = 60_000
_HEAD = 20_000

_SGLANG_METRICS = """# HELP sglang:num_running_reqs The number of running requests.
# TYPE sglang:num_running_reqs gauge
sglang:num_running_reqs{engine_type="unified",model_name="a/b",tp_rank="0",dp_rank="0"} 162.0
sglang:num_queue_reqs{engine_type="unified",model_name="a/b",tp_rank="0",dp_rank="0"} 2826.0
sglang:token_usage{model_name="a/b",tp_rank="0",dp_rank="0"} 0.28
sglang:max_total_num_tokens{model_name="a/b"} 412345
sglang:num_retracted_reqs_total{model_name="a/b",priority="1"} 3
# TYPE sglang:time_to_first_token_seconds histogram
sglang:time_to_first_token_seconds_sum{model_name="a\\"b\\n"} 2.2e+06
sglang:time_to_first_token_seconds_bucket{le="0.1",model_name="a/b"} 1.0
sglang:time_to_first_token_seconds_bucket{le="+Inf",model_name="a/b"} 11008.0
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-1",Hostname="node-1",pod="llm-0",modelName="NVIDIA H100 80GB HBM3"} 1410
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-1",Hostname="node-1",exported_pod="llm-0"} 688.2
tgi_queue_size 4
llamacpp:requests_processing 2
http_requests_total{handler="/v1/chat/completions",status="2xx"} 12 # {trace_id="a#b"} 0.1 1795946531.0
"""
_SGLANG_LOG = """[2026-11-29 10:01:00] server_args=ServerArgs(model_path='a/b', tp_size=2, mem_fraction_static=0.85, max_running_requests=None, x=['a', 'b'])
[2026-11-29 10:01:02 TP0] Load weight begin. avail mem=78.50 GB
[2026-11-29 10:01:16 TP0] Load weight end. elapsed=14.20 s, type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=63.21 GB, mem usage=15.29 GB.
[2026-11-29 10:01:17 TP0] KV Cache is allocated. #tokens: 412345, K size: 25.17 GB, V size: 25.17 GB
[2026-11-29 10:01:36 TP0] Capture cuda graph end. Time elapsed: 18.44 s. mem usage=1.51 GB. avail mem=11.19 GB.
[2026-11-29 10:01:36 TP0] max_total_num_tokens=412345, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=2048, context_len=32768
[2026-11-29 10:02:11 DP1 TP0] Decode batch, #running-req: 61, #full token: 81234, full token usage: 0.42, mamba num: 12, mamba usage: 0.20, accept len: 2.91, cuda graph: True, gen throughput (token/s): 2410.55, #queue-req: 0
[2026-11-29 10:02:12 DP0 TP1] Prefill batch. #new-seq: 3, #new-token: 4096, #cached-token: 512, token usage: 0.21, #running-req: 40, #queue-req: 7,
[2026-11-29 10:02:14 TP0] KV cache pool is full. Retract requests. #retracted_reqs: 3, #new_token_ratio: 0.5812 -> 0.9301
[2026-11-29 10:02:15] INFO:     10.0.0.7:1234 - "POST /v1/chat/completions HTTP/1.1" 200 OK
"""
_VLLM_LINE = (
    "INFO 11-29 10:02:{second:02d} [loggers.py:259] Engine 000: Avg prompt throughput: 812.4 tokens/s, Avg generation "
    "throughput: 301.7 tokens/s, Running: {running} reqs, Waiting: 12 reqs, Preemptions: 3, GPU KV cache usage: 93.8%, "
    "Prefix cache hit rate: 41.2%"
)
_LINES = [_VLLM_LINE.format(second=s, running=41 + s) for s in range(0, 60, 10)]
_VLLM_START = """INFO 11-29 10:01:00 [api_server.py:1] vLLM API server version 0.11.2
INFO 11-29 10:01:00 [utils.py:233] non-default args: {'model': 'a/b', 'max_num_seqs': 64, 'compilation_config': {"level": 3, "x": [1, 2]}}
INFO 11-29 10:01:30 [gpu_model_runner.py:1] Model loading took 14.9889 GiB and 13.102211 seconds
INFO 11-29 10:01:40 [kv_cache_utils.py:1] GPU KV cache size: 434,928 tokens
INFO 11-29 10:01:40 [kv_cache_utils.py:1] Maximum concurrency for 32,768 tokens per request: 13.27x
ERROR 11-29 10:01:41 [core.py:1] torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.1 GiB
WARNING 11-29 10:02:01 [scheduler.py:1] Sequence group 17 is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space.
"""
_OTHER_ENGINES = """2026-11-29T10:02:11.482913Z  INFO chat_completions{total_time="2.318s" validation_time="1.2ms" queue_time="310µs" inference_time="2.316s" time_per_token="18.1ms" seed="None"}: text_generation_router::server: router/src/server.rs:625: Success
{"timestamp":"2026-11-29T10:02:11Z","level":"INFO","message":"Success","target":"text_generation_router::server","span":{"total_time":"2.3s","queue_time":"310µs"}}
[11/29/2026-10:02:11] [TRT-LLM] [RANK 0] [I] iter = 812, global_rank = 0, rank = 0, currank_total_requests = 61/64, host_step_time = 21.40ms, prev_device_step_time = 20.10ms, timestamp = 2026-11-29 10:02:11, num_scheduled_requests: 61, states = {'num_ctx_requests': 1, 'num_ctx_tokens': 2048, 'num_generation_tokens': 60}
[TensorRT-LLM][INFO] [MemUsageChange] Allocated 45.20 GiB for max tokens in paged KV cache (370112).
slot launch_slot_: id  2 | task 41 | processing task
slot print_timing: id  2 | task 41 |
prompt eval time =     312.40 ms /   913 tokens (    0.34 ms per token,  2922.54 tokens per second)
       eval time =    2210.12 ms /   128 tokens (   17.27 ms per token,    57.92 tokens per second)
slot      release: id  2 | task 41 | stop processing: n_tokens = 1041, truncated = 0
srv  update_slots: all slots are idle
llama_kv_cache: size = 1024.00 MiB (  8192 cells,  32 layers,  4/1 seqs), K (f16): 512.00 MiB, V (f16): 512.00 MiB
NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.
"""
_DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: vllm-llama
spec:
  replicas: 3
  template:
    spec:
      nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB}
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.8.5.post1
          command: ["/bin/sh", "-c"]
          args:
            - |
              vllm serve meta-llama/Llama-3.1-70B-Instruct \\
                --tensor-parallel-size $(TP) --max-num-seqs ${MAX_SEQS:-64} --gpu-memory-utilization 0.90 \\
                --speculative-config '{"method": "ngram", "num_speculative_tokens": 5}'
          env:
            - {name: TP, value: "4"}
            - {name: VLLM_USE_V1, value: "1"}
          resources: {limits: {nvidia.com/gpu: "4"}}
---
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: sg}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate: &w
      spec:
        containers:
          - {name: s, image: "lmsysorg/sglang:v0.5.3", command: [python3, -m, sglang.launch_server, --model-path, a/b, --tp, "16"]}
    leaderTemplate: *w
"""
_COMPOSE = """x-common: &common
  ipc: host
services:
  llm:
    <<: *common
    image: lmsysorg/sglang:v0.5.3-cu126
    command: >
      python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B --tp 2 --context-length 32768
    deploy: {resources: {reservations: {devices: [{capabilities: [gpu], count: 2}]}}}
"""
_HELM = """servingEngineSpec:
  modelSpec:
  - name: "llama3"
    repository: "vllm/vllm-openai"
    modelURL: "meta-llama/Llama-3.1-8B-Instruct"
    replicaCount: 2
    requestGPU: 1
    vllmConfig: {maxModelLen: 4096, dtype: "bfloat16", extraArgs: ["--max-num-seqs", "64"]}
"""
_COMMANDS = """$ CUDA_VISIBLE_DEVICES=0,1 VLLM_USE_V1=1 vllm serve "meta-llama/Llama-3.1-8B-Instruct" \\
    --tensor-parallel-size 2 --max-num-seqs=64 --compilation-config '{"cudagraph_mode": "FULL"}' -O3
docker run --gpus all -p 8000:8000 -e HF_TOKEN=x vllm/vllm-openai:v0.11.0 --model a/b --max-model-len 32k
python -m sglang.launch_server --model-path a/b --tp 8 --dp 8 --enable-dp-attention --mem-fraction-static .85
text-generation-launcher --model-id a/b --num-shard 2 --max-batch-prefill-tokens 4096
llama-server -m x.gguf -c 8192 -np 4 -ngl 99
trtllm-serve a/b --max_batch_size 64 --kv_cache_free_gpu_memory_fraction 0.9
"""
_PASTE = f"""Hi all, our server is slow since yesterday, 40 users on an A100. We run

{_COMMANDS}
and the log says

```
{_LINES[0]}
{_LINES[1]}
```

curl localhost:8000/metrics gives
vllm:num_requests_running{{model_name="a/b"}} 64.0
vllm:num_requests_waiting{{model_name="a/b"}} 112.0
vllm:gpu_cache_usage_perc{{model_name="a/b"}} 0.31

| concurrency | req/s | TTFT p99 (ms) | tok/s |
|---|---|---|---|
| 1 | 0.4 | 120 | 40 |
| 64 | 9.1 | 2300 | 1100 |

What should I change? $ kubectl logs
"""
_ANSWERS = (
    {"model_path": "a/b", "tp_size": 2, "mem_fraction_static": 0.85, "max_running_requests": None, "chunked_prefill_size": 8192,
     "version": "0.5.3", "internal_states": [{"max_total_num_tokens": 400000}]},
    {"vllm_config": {"model_config": {"model": "a/b", "max_model_len": 8192}, "scheduler_config": {"max_num_seqs": 256},
                     "cache_config": {"gpu_memory_utilization": 0.9}, "parallel_config": {"tensor_parallel_size": 2}}},
    {"object": "list", "data": [{"id": "m", "object": "model", "root": "a/b", "max_model_len": 32768}]},
    {"model_id": "a/b", "max_concurrent_requests": 128, "max_total_tokens": 4096, "version": "3.3.7"},
    {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 4, "model_path": "x.gguf"},
    {"architectures": ["LlamaForCausalLM"], "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096,
     "num_hidden_layers": 32, "torch_dtype": "bfloat16", "quantization_config": {"quant_method": "fp8", "ignored_layers": ["a"]}},
    [{"iter": 812, "iterLatencyMS": 21.4, "numActiveRequests": 61, "numQueuedRequests": 3, "kvCacheStats": {"maxNumBlocks": 6239}}],
)  # fmt: skip
TOML = """fail-on = "warning"
slo = ["ttft_p99=2s"]
interval = "30s"
[severity]
cap-throttled = "warning"
[[ignore]]
rule = "cap-throttled"
reason = "known"
until = 2027-01-31
replica = "vllm-*"
[names]
my_queue = "waiting"
[runbooks]
cap-throttled = "https://wiki.example/cap"
[dashboard]
allow = ["http://prom:9090"]
[watch]
webhook = "https://hooks.example/x"
"""


def _prefixed() -> list[str]:
    """The same lines under every prefix that a carrier puts before them."""
    at = "2026-11-29T10:02:12.500000000Z"
    shapes = (
        *(f"{p}{{}}" for p in (
            "", f"{at} stderr F ", f"{at} ", "[pod/llm-0/vllm] ", f"[pod/llm-0/vllm] {at} ", "llm-0 vllm ", "\x1b[36mvllm-1  | \x1b[0m",
            "Nov 29 10:02:11 gpu1 docker[811]: ", "2026-11-29T10:02:12+0000 gpu1 vllm[811]: ", "(ServeReplica:llm:vLLM pid=4410, ip=10.0.0.7) ",
            "(EngineCore_DP0 pid=1) ", f'{at} {{app="x", pod="llm-0"}} ',
        )),
    )  # fmt: skip
    texts = ["\n".join(shape.replace("{}", line) for line in _LINES) + "\n" for shape in shapes]
    records = (
        [{"log": line + "\n", "stream": "stderr", "time": at} for line in _LINES],
        [{"line": line, "timestamp": "1795946532500000000", "labels": {"pod": "llm-0"}} for line in _LINES],
        [
            {"asctime": "2026-11-29 10:02:11,000", "message": line[39:], "levelname": "INFO"}
            for line in _LINES
        ],
    )
    texts += ["\n".join(json.dumps(entry) for entry in entries) + "\n" for entries in records]
    texts.append(json.dumps([{"line": line, "timestamp": 1795946532.5} for line in _LINES]))
    return texts


@cache
def corpus() -> dict[str, tuple[bytes, ...]]:
    """Sound inputs by grammar."""
    recording = vllm(12, running=[*range(12)], waiting=3.0)
    bench = sorted(p for p in _BENCH.rglob("*") if p.is_file() and p.stat().st_size <= _LARGEST_BENCH)
    texts: dict[str, list[str]] = {
        "dump": [(_TESTS / "sources" / "captures" / "metrics.txt").read_text("utf-8"), dump(recording, 3), _SGLANG_METRICS],
        "openmetrics": [openmetrics(recording), _SGLANG_METRICS.replace("\n", " 1795946531.25\n")],
        "query-range": [query_range(recording)],
        "log": [
            (_SAMPLES / "concurrency-cap" / "engine.log").read_text("utf-8")[:_HEAD],
            _VLLM_START + "\n".join(_LINES), _SGLANG_LOG, _SGLANG_LOG + "\n".join(_LINES), _OTHER_ENGINES,
        ],
        "prefixed-log": _prefixed(),
        "manifest": [_DEPLOYMENT, _COMPOSE, _HELM],
        "command": [_COMMANDS, *_COMMANDS.splitlines()],
        "answer": [json.dumps(answer) for answer in _ANSWERS],
        "bench": [p.read_text("utf-8", "replace") for p in bench],
        "paste": [_PASTE, _PASTE + _DEPLOYMENT, _PASTE + _SGLANG_METRICS],
    }  # fmt: skip
    found = {name: tuple(text.encode() for text in members) for name, members in texts.items()}
    found["compressed"] = tuple(
        gzip.compress(found[name][0][:_HEAD], mtime=0) for name in ("dump", "log", "bench")
    )
    return found
