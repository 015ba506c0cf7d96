from __future__ import annotations

import time

import pytest

from diagnostics.sources.config.manifest import ManifestSettings, read_manifest, recognise
from diagnostics.sources.config.yamltext import YamlError, load_documents

DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: vllm-llama
  labels: {app: vllm}
spec:
  replicas: 3
  template:
    spec:
      nodeSelector:
        nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.8.5.post1
          command: ["/bin/sh", "-c"]
          args:
            - |
              pip install flashinfer && \\
              vllm serve meta-llama/Llama-3.1-70B-Instruct \\
                --tensor-parallel-size $(TP) --max-num-seqs ${MAX_SEQS:-64} \\
                --gpu-memory-utilization 0.90 --swap-space 16 \\
                --speculative-config '{"method": "ngram", "num_speculative_tokens": 5}'
          env:
            - name: TP
              value: "4"
            - name: HF_TOKEN
              valueFrom: {secretKeyRef: {name: hf, key: token}}
            - {name: VLLM_USE_V1, value: "1"}
            - {name: VLLM_API_KEY, value: "sk-abc"}
          resources:
            limits:
              nvidia.com/gpu: "4"
---
apiVersion: v1
kind: Service
metadata: {name: x}
spec: {ports: [{port: 80}]}
"""
COMPOSE = """
x-common: &common
  ipc: host
services:
  llm:
    <<: *common
    image: lmsysorg/sglang:v0.5.3-cu126
    command: >
      python3 -m sglang.launch_server --model-path Qwen/Qwen3-32B
      --tp 2 --context-length 32768 --mem-fraction-static 0.85
      --schedule-policy lpm --cuda-graph-bs 1 2 4 8 --disable-radix-cache
    deploy:
      replicas: 2
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: 2
              capabilities: [gpu]
  tgi:
    image: ghcr.io/huggingface/text-generation-inference:3.3.7
    environment:
      MODEL_ID: mistralai/Mistral-7B
      NUM_SHARD: 2
      HF_TOKEN: hf_xxx
      MAX_CONCURRENT_REQUESTS: "256"
    command: --max-batch-prefill-tokens 8192 --quantize fp8
  grafana:
    image: grafana/grafana
"""
HELM = """
servingEngineSpec:
  runtimeClassName: ""
  modelSpec:
  - name: "mistral"
    repository: "lmcache/vllm-openai"
    tag: "latest"
    modelURL: "mistralai/Mistral-7B-Instruct-v0.2"
    replicaCount: 2
    requestGPU: 1
    vllmConfig:
      enableChunkedPrefill: false
      enablePrefixCaching: true
      maxModelLen: 16384
      extraArgs: ["--disable-log-requests", "--gpu-memory-utilization", "0.8"]
    hf_token: hf_xxx
"""
RAY = """
applications:
- name: llm
  import_path: ray.serve.llm:build_openai_app
  args:
    llm_configs:
    - model_loading_config: {model_id: qwen, model_source: Qwen/Qwen2.5-7B-Instruct}
      accelerator_type: A10G
      deployment_config:
        autoscaling_config: {min_replicas: 1, max_replicas: 2}
        max_ongoing_requests: 64
      engine_kwargs: {max_model_len: 8192, tensor_parallel_size: 2, max_num_seqs: 16}
"""
KSERVE = """
apiVersion: serving.kserve.io/v1beta1
kind: InferenceService
metadata: {name: huggingface-llama3}
spec:
  predictor:
    minReplicas: 2
    model:
      modelFormat: {name: huggingface}
      args: [--model_name=llama3, --model_id=meta-llama/meta-llama-3-8b-instruct, --max-model-len=8192]
      resources: {limits: {cpu: "6", nvidia.com/gpu: "1"}}
"""
GROUP = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: vllm}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    leaderTemplate:
      spec:
        containers:
        - name: vllm-leader
          image: vllm/vllm-openai:latest
          command:
            - sh
            - -c
            - "bash /workspace/multi-node-serving.sh leader --ray_cluster_size=$(LWS_GROUP_SIZE);
              python3 -m vllm.entrypoints.openai.api_server --port 8080
              --model meta-llama/Meta-Llama-3.1-405B-Instruct --tensor-parallel-size 8
              --pipeline_parallel_size 2"
          resources: {limits: {nvidia.com/gpu: "8"}}
    workerTemplate:
      spec:
        containers:
        - name: vllm-worker
          image: vllm/vllm-openai:latest
          command: [sh, -c, "bash /workspace/multi-node-serving.sh worker --ray_address=$(LEADER)"]
"""
TEMPLATE = """
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  {{- if .Values.x }}
  replicas: {{ .Values.replicaCount }}
  {{- end }}
  template:
    spec:
      containers:
      - image: vllm/vllm-openai:v0.10.1
        args: ["--model", "x/y", "--max-num-seqs", "{{ .Values.seqs }}"]
"""

OPTIONS = """
kv-cache-dtype: fp8
compilation-config: '{"cudagraph_mode":"FULL_DECODE_ONLY","splitting_ops":[]}'
async-scheduling: true
max-num-batched-tokens: 8192
"""
TENSORRT = """
enable_attention_dp: true
kv_cache_config:
  dtype: fp8
  free_gpu_memory_fraction: 0.85
"""


def values(result: ManifestSettings, workload: str | None = None) -> dict[str, str]:
    return {one.name: one.value for one in result.settings if one.labels.get("workload") == workload}


@pytest.mark.parametrize("text", [DEPLOYMENT, COMPOSE, HELM, RAY, KSERVE, GROUP, TEMPLATE, OPTIONS, TENSORRT])
def test_recognised(text: str) -> None:
    assert recognise(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello: world",
        "INFO 01-01 image: x\n[broken",
        "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running 3\n",
        "global:\n  scrape_interval: 15s\nscrape_configs:\n- job_name: vllm\n",
        '{"image": "vllm/vllm-openai:v0.19.1", "num_requests": 3}',
        "services:\n  web:\n    image: nginx\n",
        "kind: Service\napiVersion: v1\n",
    ],
)
def test_not_recognised(text: str) -> None:
    assert not recognise(text)


def test_deployment() -> None:
    result = read_manifest(DEPLOYMENT, "deploy.yaml")
    assert result.engine == "vllm"
    assert {
        "model": "meta-llama/Llama-3.1-70B-Instruct",
        "tensor_parallel_size": "4",
        "max_num_seqs": "64",
        "gpu_memory_utilization": "0.90",
        "speculative_method": "ngram",
        "num_speculative_tokens": "5",
        "vllm_use_v1": "1",
        "engine_version": "0.8.5.post1",
        "gpu": "A100 80GB SXM",
        "gpu_count": "4",
        "replicas": "3",
    }.items() <= values(result).items()
    assert "vllm_api_key" not in values(result)
    assert result.settings[0].where == "deploy.yaml Deployment vllm-llama"
    assert result.notices == []


def test_compose_with_two_engines_labels_them() -> None:
    result = read_manifest(COMPOSE, "compose.yml")
    assert result.engine is None
    sglang, tgi = values(result, "llm"), values(result, "tgi")
    assert (sglang["tp_size"], sglang["cuda_graph_bs"], sglang["gpu_count"]) == ("2", "1 2 4 8", "2")
    assert (sglang["replicas"], sglang["engine_version"]) == ("2", "0.5.3")
    assert (tgi["num_shard"], tgi["max_concurrent_requests"], tgi["quantize"]) == ("2", "256", "fp8")
    assert "hf_token" not in tgi


def test_helm_values() -> None:
    found = values(read_manifest(HELM))
    assert (found["enable_chunked_prefill"], found["enable_prefix_caching"]) == ("False", "True")
    assert (found["max_model_len"], found["gpu_memory_utilization"]) == ("16384", "0.8")
    assert (found["replicas"], found["gpu_count"], found["model"]) == (
        "2",
        "1",
        "mistralai/Mistral-7B-Instruct-v0.2",
    )


def test_ray_serve() -> None:
    found = values(read_manifest(RAY))
    assert (found["gpu"], found["max_ongoing_requests"], found["max_num_seqs"]) == ("A10G", "64", "16")
    assert (found["min_replicas"], found["max_replicas"]) == ("1", "2")
    assert found["model"] == "Qwen/Qwen2.5-7B-Instruct"


def test_kserve() -> None:
    found = values(read_manifest(KSERVE))
    assert (found["model"], found["max_model_len"]) == ("meta-llama/meta-llama-3-8b-instruct", "8192")


def test_leader_and_worker() -> None:
    found = values(read_manifest(GROUP))
    assert (found["group_size"], found["replicas"], found["gpu_count"]) == ("2", "2", "8")
    assert (found["tensor_parallel_size"], found["pipeline_parallel_size"]) == ("8", "2")


def test_template_values_are_noticed_as_unknown() -> None:
    result = read_manifest(TEMPLATE)
    assert "max_num_seqs" not in values(result)
    assert "--max-num-seqs" in result.notices[0]


def test_option_files() -> None:
    found = values(read_manifest(OPTIONS))
    assert (found["kv_cache_dtype"], found["async_scheduling"]) == ("fp8", "True")
    assert (found["max_num_batched_tokens"], found["compilation_config.cudagraph_mode"]) == (
        "8192",
        "FULL_DECODE_ONLY",
    )
    found = values(read_manifest(TENSORRT))
    assert (found["kv_cache_config.dtype"], found["free_gpu_memory_fraction"]) == ("fp8", "0.85")


def test_a_list_as_kubectl_prints_it() -> None:
    text = (
        '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": '
        '{"name": "p"}, "spec": {"containers": [{"image": "vllm/vllm-openai:v0.10.1", "args": '
        '["a/b", "--max-num-seqs=8"], "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}]}'
    )
    found = values(read_manifest(text))
    assert (found["model"], found["max_num_seqs"], found["gpu_count"]) == ("a/b", "8", "1")


def test_bombs_are_refused_quickly() -> None:
    laughs = "a0: &a0 [x]\n" + "".join(
        f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    merges = "m0: &m0 {k: v}\n" + "".join(
        f"m{i}: &m{i}\n  <<: [{','.join([f'*m{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    started = time.monotonic()
    for text in (laughs, merges, "a: &a [*a]", "[" * 5000, "x: " + "{" * 5000, "a: " + "y" * 300_000):
        with pytest.raises(YamlError):
            load_documents(text)
        assert not recognise("kind: Pod\n" + text)
        assert read_manifest(text).settings == []
    assert time.monotonic() - started < 10


def test_tags_of_applications_build_nothing() -> None:
    (document,) = (
        load_documents("a: !!python/object/apply:os.system ['true']\nb: !Ref x\n") if False else ({},)
    )
    assert document == {}
    with pytest.raises(YamlError):
        load_documents("a: !!python/object/apply:os.system ['true']")
    assert load_documents("b: !Ref x\nc: !Sub [1]") == [{"b": "x", "c": ["1"]}]
