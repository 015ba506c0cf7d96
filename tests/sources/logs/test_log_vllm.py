"""vLLM: statistics, start and warnings of every era."""

import pytest

from diagnostics.model.samples import InputKind, Provenance
from diagnostics.sources.logs.collector import EVENT_KINDS
from diagnostics.sources.logs.reader import read_log, recognise

HEAD = "(EngineCore_DP0 pid=101) INFO 10-03 16:22:17 [core.py:1] "
V1 = (
    "INFO 07-28 06:42:{:02d} [loggers.py:118] Engine {:03d}: Avg prompt throughput: 0.0 tokens/s, "
    "Avg generation throughput: 240.8 tokens/s, Running: {} reqs, Waiting: 0 reqs, "
    "GPU KV cache usage: 93.9%, Prefix cache hit rate: 0.0%\n"
)


def read(*lines):
    return read_log("x", [line.rstrip("\n") + "\n" for line in lines], year=2026)


def last(capture):
    """The last value of each series, by name and the labels that are not the only engine's."""
    found = {}
    for index, value in zip(capture.series_of, capture.values, strict=True):
        series = capture.series[index]
        key = (series.name.removeprefix("vllm:log:"), *(f"{k}={v}" for k, v in sorted(series.labels.items())))
        found[key if len(key) > 1 else key[0]] = float(value)
    return found


def settings(capture):
    return {setting.name: setting.value for setting in capture.settings}


def events(capture, kind):
    return [event for event in capture.events if event.kind == kind]


V0 = (
    "INFO 09-22 23:46:42 metrics.py:351] Avg prompt throughput: 5902.0 tokens/s, Avg generation throughput: "
    "230.6 tokens/s, Running: 16 reqs, Swapped: 3 reqs, Pending: 11 reqs, GPU KV cache usage: 87.1%, "
    "CPU KV cache usage: 0.2%."
)


def test_v0_statistics():
    capture = read(V0, "INFO 09-22 23:46:42 metrics.py:367] Prefix cache hit rate: GPU: 26.68%, CPU: 0.00%")
    assert last(capture) == {
        "prompt_throughput": 5902.0,
        "generation_throughput": 230.6,
        "running": 16,
        "swapped": 3,
        "waiting": 11,
        "kv_usage": 87.1,
        "cpu_kv_usage": 0.2,
        "prefix_hit_rate": 26.68,
        "cpu_prefix_hit_rate": 0.0,
    }
    assert capture.kind is InputKind.LOG
    assert capture.engine == "vllm"


def test_first_v1_statistics_name_no_engine():
    capture = read(
        "INFO 03-05 18:47:03 loggers.py:78] Avg prompt throughput: 926.3 tokens/s, Avg "
        "generation throughput: "
        "23.2 tokens/s, Running: 1 reqs, Waiting: 2 reqs, GPU KV cache usage: 1.3%, Prefix "
        "cache hit rate: 0.0%"
    )
    assert last(capture)["waiting"] == 2
    assert last(capture)["kv_usage"] == 1.3


def test_optional_fields_in_place():
    capture = read(
        "(APIServer pid=1) INFO 07-29 06:32:21 [loggers.py:310] Engine 002: Avg prompt "
        "throughput: 0.0 tokens/s, "
        "Avg generation throughput: 33.8 tokens/s, Running: 1 reqs, Waiting: 5 reqs, Deferred: 4 reqs, "
        "Preemptions: 3, TPU KV cache usage: 15.2%, External prefix cache hit rate: 12.0%, "
        "MM cache hit rate: 66.7%, KV fetch: 2 waiting to start, 1 in progress, 0 completed waiting"
    )
    values = last(capture)
    assert values["deferred", "engine=2"] == 4
    assert values["preemptions", "engine=2"] == 3
    assert values["kv_usage", "engine=2"] == 15.2
    assert ("prefix_hit_rate", "engine=2") not in values
    assert any("MM cache hit rate" in name for name in capture.unused)


def test_the_cpu_build_prints_its_only_cache_as_cpu():
    capture = read(
        "(APIServer pid=1157) INFO 11-29 16:46:18 [loggers.py:335] Engine 000: Avg prompt "
        "throughput: 107.8 tokens/s, "
        "Avg generation throughput: 67.3 tokens/s, Running: 1 reqs, Waiting: 0 reqs, CPU KV "
        "cache usage: 0.2%, "
        "Prefix cache hit rate: 41.2%"
    )
    assert last(capture)["kv_usage", "engine=0"] == 0.2
    assert not any(series.name == "vllm:log:cpu_kv_usage" for series in capture.series)


def test_aggregated_engines():
    capture = read(V1.format(9, 0, 8).replace("Engine 000", "4 Engines Aggregated"))
    assert last(capture)["running", "engine=aggregated"] == 8


def test_interleaved_ranks_stay_apart():
    capture = read(
        *(V1.format(second, rank, 10 * rank + second) for second in (0, 10) for rank in (0, 1, 11))
    )
    values = last(capture)
    assert [values["running", f"engine={rank}"] for rank in (0, 1, 11)] == [10, 20, 120]
    assert len(capture.values) == 6 * 6


def test_speculation_line_belongs_to_the_engine_before_it():
    spec = (
        "(APIServer pid=101) INFO 07-28 06:42:{} [metrics.py:100] SpecDecoding metrics: Mean "
        "acceptance length: 2.33, "
        "Accepted throughput: 6.90 tokens/s, Drafted throughput: 10.40 tokens/s, Accepted: {} tokens, "
        "Drafted: 104 tokens, Per-position acceptance rate: 0.808, 0.519, Avg Draft acceptance rate: 66.3%"
    )
    capture = read(
        V1.format(18, 3, 1),
        spec.format(18, 69),
        V1.format(18, 0, 1),
        spec.format(18, 70),
        spec.format(33, 71),
    )
    values = last(capture)
    assert values["spec_accepted", "engine=3"] == 69
    assert values["spec_accepted", "engine=0"] == 70
    assert values["spec_accepted"] == 71  # of an interval whose statistics line is not here
    assert values["spec_drafted", "engine=3"] == 104
    assert values["spec_accept_length", "engine=3"] == 2.33
    assert values["spec_accept_rate", "engine=3"] == 66.3
    assert values["spec_accepted_per_pos", "engine=3", "position=1"] == 0.519


def test_speculation_of_the_only_engine_is_its_own_even_when_cut_off_from_it():
    spec = (
        "INFO 07-28 06:42:08 [metrics.py:96] SpecDecoding metrics: Draft acceptance rate: "
        "61.2%, Mean acceptance "
        "length: 2.84, Accepted: 306 tokens, Drafted: 500 tokens, Per-position acceptance "
        "rate: 0.812, 0.601, 0.423"
    )
    values = last(read(spec, V1.format(9, 0, 1)))
    assert values["spec_accept_rate", "engine=0"] == 61.2
    assert values["spec_accepted_per_pos", "engine=0", "position=2"] == 0.423


def test_v0_speculation_is_cumulative():
    values = last(
        read(
            "INFO 11-29 10:02:11 spec_decode.py:1] Speculative metrics: Draft acceptance rate: 0.612, System "
            "efficiency: 0.484, Number of speculative tokens: 5, Number of accepted tokens: "
            "30600, Number of draft "
            "tokens: 50000, Number of emitted tokens: 29000."
        )
    )
    assert values == {
        "spec_accept_rate": pytest.approx(61.2),
        "spec_accepted_total": 30600,
        "spec_drafted_total": 50000,
    }


def test_v0_preemption_is_a_count_since_the_start():
    capture = read(
        "WARNING 03-06 10:00:00 scheduler.py:1754] Sequence group 221 is preempted by "
        "PreemptionMode.RECOMPUTE mode "
        "because there is not enough KV cache space. This can affect the end-to-end performance. Increase "
        "gpu_memory_utilization or tensor_parallel_size to provide more KV cache memory. "
        "total_num_cumulative_preemption=101"
    )
    assert last(capture) == {"preemptions_total": 101}
    assert events(capture, "preemption")[0].fields == {"total": "101"}


BANNER = (
    "(APIServer pid=18392) INFO 11-29 17:07:36 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0"
)
ARGS = (
    "(APIServer pid=18392) INFO 11-29 17:07:36 [api_utils.py:286] non-default args: {'model_tag': 'm', "
    "'port': 18000, 'model': 'm', 'dtype': 'bfloat16', 'max_model_len': 8192, 'enforce_eager': True, "
    "'api_key': ['sk-1'], 'max_num_seqs': 64, 'speculative_config': {'method': 'ngram', "
    "'num_speculative_tokens': 4, 'prompt_lookup_min': 2}}"
)
CONFIG = (
    "(EngineCore pid=18732) INFO 11-29 17:07:44 [core.py:133] Initializing a V1 LLM "
    "engine (v0.32.0) with config: "
    "model='m', speculative_config=SpeculativeConfig(method='ngram', model=None, num_spec_tokens=4), "
    "tokenizer='m', dtype=torch.bfloat16, max_seq_len=8192, load_format=auto, tensor_parallel_size=2, "
    "pipeline_parallel_size=1, data_parallel_size=1, quantization=None, "
    "enforce_eager=False, kv_cache_dtype=fp8, "
    "aux=A(x=False, tensor_parallel_size=9), enable_prefix_caching=True, enable_chunked_prefill=True, "
    "compilation_config={'mode': <CompilationMode.NONE: 0>, 'cudagraph_capture_sizes': "
    "[1, 2, 4, 512], 'x': {}}"
)


def test_start_up_settings():
    capture = read(
        BANNER,
        ARGS,
        "(APIServer pid=18392) INFO 11-29 17:07:36 [model.py:2152] Using max model len 8192",
        "(APIServer pid=18392) INFO 11-29 17:07:36 [scheduler.py:1] "
        "Chunked prefill is enabled with max_num_batched_tokens=2048.",
        CONFIG,
        "(EngineCore pid=18732) INFO 11-29 17:07:53 [kv_cache_utils.py:2327] GPU KV cache "
        "size: 87,360 tokens, "
        "Maximum concurrency for 8,192 tokens per request: 10.66x",
        "(Worker_TP0 pid=1) INFO 11-29 17:07:53 [g.py:1] Model loading took 14.99 GiB memory "
        "and 13.102211 seconds",
        "(Worker_TP1 pid=2) INFO 11-29 17:07:53 [g.py:1] Model loading took 15.02 GiB memory "
        "and 14.5 seconds",
        "(Worker_TP0 pid=1) INFO 11-29 17:07:53 [g.py:1] Available KV cache memory: 53.10 GiB",
        "(Worker_TP0 pid=1) INFO 11-29 17:07:53 [g.py:1] Graph capturing finished in 21 secs, took 1.35 GiB",
        "INFO:     Application startup complete.",
    )
    found = settings(capture)
    expected = {
        "max_num_seqs": "64",
        "max_model_len": "8192",
        "dtype": "bfloat16",
        "max_num_batched_tokens": "2048",
        "tensor_parallel_size": "2",
        "kv_cache_dtype": "fp8",
        "enable_prefix_caching": "True",
        "speculative_method": "ngram",
        "num_speculative_tokens": "4",
        "kv_capacity_tokens": "87360",
        "max_concurrency": "10.66",
        "max_cudagraph_capture_size": "512",
        "kv_memory_gib": "53.10",
        "weights_gib": "14.99",
        "graph_memory_gib": "1.35",
    }
    assert {name: found.get(name) for name in expected} == expected
    assert "quantization" not in found
    assert "api_key" not in found
    assert found["speculative_config"].startswith("{'method': 'ngram'")
    assert capture.engine_version == "0.32.0"
    assert {setting.provenance for setting in capture.settings} == {Provenance.CONFIGURED}
    assert all("18392" not in str(setting.labels) for setting in capture.settings)
    assert [event.kind for event in capture.events] == ["startup", "stage", "stage", "ready"]
    assert events(capture, "stage")[0].fields == {"stage": "load-weights", "seconds": "14.5"}


def test_old_arguments_line():
    capture = read(
        "INFO 11-29 10:02:10 api_server.py:495] vLLM API server version 0.6.3",
        "INFO 11-29 10:02:11 api_server.py:496] args: Namespace(host=None, model='m', max_num_seqs=None, "
        "speculative_config=None, tensor_parallel_size=4, lora_modules=[A(b='c, d')], max_model_len=4096)",
        "INFO 11-29 10:02:30 gpu_executor.py:122] # GPU blocks: 27183, # CPU blocks: 2048",
    )
    found = settings(capture)
    assert found["tensor_parallel_size"] == "4"
    assert found["max_model_len"] == "4096"
    assert "max_num_seqs" not in found
    assert found["num_gpu_blocks"] == "27183"
    assert found["kv_capacity_tokens"] == str(27183 * 16)
    assert len(events(capture, "startup")) == 1
    assert capture.engine_version == "0.6.3"


def test_arguments_cut_short_give_what_is_whole():
    found = settings(read(ARGS[: ARGS.index("'max_num_seqs': 64") + len("'max_num_seqs': 6")]))
    assert found["max_model_len"] == "8192"
    assert "max_num_seqs" not in found


def test_ranks_of_data_parallel_engines_keep_their_own_capacity():
    size = (
        "(EngineCore_DP{} pid=10{}) INFO 10-03 16:22:17 [kv_cache_utils.py:864] GPU KV cache size: {} tokens"
    )
    capture = read(size.format(0, 1, "42,656"), size.format(1, 2, "40,000"))
    assert [(s.value, s.labels) for s in capture.settings] == [
        ("42656", {"engine": "0"}),
        ("40000", {"engine": "1"}),
    ]
    alone = read(size.format(0, 1, "42,656"))
    assert [(s.value, s.labels) for s in alone.settings] == [("42656", {})]


def test_a_restart_is_a_second_start():
    served = V1.format(9, 0, 1)
    capture = read(BANNER, ARGS, served, BANNER.replace("18392", "777"), ARGS.replace("64", "32"), served)
    assert len(events(capture, "startup")) == 2
    assert [s.value for s in capture.settings if s.name == "max_num_seqs"] == ["64", "32"]
    assert "pid" not in str([series.labels for series in capture.series])


def test_a_crash_loop_that_never_serves_is_counted():
    capture = read(BANNER, ARGS, CONFIG, BANNER, ARGS, CONFIG, BANNER, ARGS)
    assert len(events(capture, "startup")) == 3


def test_stages_of_a_start():
    capture = read(
        HEAD + "Time spent downloading weights for m: 92.315 seconds",
        HEAD + "Loading weights took 12.41 seconds",
        HEAD + "Dynamo bytecode transform time: 6.21 s",
        HEAD + "Compiling a graph for compile range (1, 8192) takes 28.40 s",
        HEAD + "Directly load the compiled graph(s) for dynamic shape from the cache, took 4.812 s",
        HEAD + "torch.compile took 34.61 s in total",
        HEAD + "Initial profiling/warmup run took 0.14 s",
        HEAD + "Graph capturing finished in 21 secs, took 1.35 GiB",
        HEAD + "init engine (profile, create kv cache, warmup model) took 71.84 s (compilation: 34.61 s)",
    )
    assert {e.fields["stage"]: e.fields["seconds"] for e in events(capture, "stage")} == {
        "download": "92.315",
        "load-weights": "12.41",
        "compile": "34.61",
        "compile-cache": "4.812",
        "profile": "0.14",
        "graph-capture": "21",
        "init-engine": "71.84",
    }


WARNINGS = [
    (
        "ValueError: To serve at least one request with the models's max seq len (221000), "
        "(10.12 GiB KV cache is "
        "needed, which is larger than the available KV cache memory (5.59 GiB). Based on the "
        "available memory, the "
        "estimated maximum model length is 122080. Try increasing `gpu_memory_utilization`",
        "kv-refused",
        {
            "max_model_len": "221000",
            "needed_gib": "10.12",
            "available_gib": "5.59",
            "estimated_max_len": "122080",
        },
    ),
    ("ValueError: No available memory for the cache blocks. Try increasing", "kv-refused", {}),
    (
        "ValueError: Free memory on device (60.1/79.1 GiB) on startup is less than desired "
        "GPU memory utilization "
        "(0.9, 71.2 GiB). Decrease GPU memory utilization",
        "memory-not-free",
        {"free_gib": "60.1", "total_gib": "79.1", "utilization": "0.9", "wanted_gib": "71.2"},
    ),
    ("RuntimeError: Engine core initialization failed. See root cause above.", "engine-dead", {}),
    (
        "ValueError: Total number of attention heads (32) must be divisible by tensor parallel size (3).",
        "tp-indivisible",
        {"heads": "32", "tp": "3"},
    ),
    (
        "WARNING 01-20 10:00:00 marlin_utils_fp8.py:80] Your GPU does not have native support "
        "for FP8 computation but "
        "FP8 quantization is being used. Weight-only FP8 compression will be used leveraging "
        "the Marlin kernel.",
        "no-native-fp8",
        {},
    ),
    (
        "WARNING 01-20 10:00:00 [m.py:80] Your GPU does not have native support for FP4 computation but "
        "FP4 quantization is being used. Weight-only FP4 compression will be used leveraging "
        "the Marlin kernel.",
        "marlin-fallback",
        {"format": "FP4"},
    ),
    (
        "(VllmWorkerProcess pid=191) WARNING 02-22 22:09:01 custom_all_reduce.py:136] Custom "
        "allreduce is disabled "
        "because it's not supported on more than two PCIe-only GPUs. To silence this warning, specify "
        "disable_custom_all_reduce=True explicitly.",
        "pcie-allreduce-disabled",
        {},
    ),
    (
        "INFO 07-12 10:00:00 [interface.py:581] Setting attention block size to 8320 tokens "
        "to ensure that attention "
        "page size is >= mamba page size.",
        "block-size",
        {"tokens": "8320"},
    ),
    (
        "WARNING 07-12 10:00:00 [a.py:5] AsyncLLM created with api_server_count more than 1; "
        "disabling stats logging "
        "to avoid incomplete stats.",
        "stats-disabled",
        {},
    ),
    (
        "INFO 07-12 10:00:00 [gptq_marlin.py:5] The model is convertible to gptq_marlin "
        "during runtime. Using it.",
        "startup-quantization",
        {"method": "gptq_marlin"},
    ),
]


@pytest.mark.parametrize(("line", "kind", "fields"), WARNINGS)
def test_a_warning_is_one_event_however_often_it_is_printed(line, kind, fields):
    capture = read(line, line)
    assert [(event.kind, event.fields) for event in capture.events] == [(kind, fields)]
    assert recognise([line]) == "vllm"
    assert kind in EVENT_KINDS


SHARED = [
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a "
        "total capacity of "
        "79.10 GiB of which 1.00 GiB is free.",
        "out-of-memory",
        {"scope": "gpu", "requested": "2.00 GiB", "gpu": "0", "total": "79.10 GiB"},
    ),
    (
        "Memory cgroup out of memory: Killed process 4410 (VLLM::EngineCor)",
        "out-of-memory",
        {"scope": "host", "process": "VLLM::EngineCor"},
    ),
    (
        "NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.",
        "xid",
        {"pci": "PCI:0000:3b:00", "xid": "79"},
    ),
    ("RuntimeError: NCCL error: unhandled cuda error", "nccl-error", {}),
]


@pytest.mark.parametrize(("line", "kind", "fields"), SHARED)
def test_faults_that_no_engine_owns(line, kind, fields):
    capture = read(V1.format(9, 0, 1), line)
    assert [(event.kind, event.fields) for event in capture.events] == [(kind, fields)]
    assert capture.events[0].time == capture.times[0]  # of the last dated line
    assert recognise([line]) is None


def test_text_of_users_is_not_read():
    prompt = "CUDA out of memory. Tried to allocate 2.00 GiB. " + V1.format(9, 0, 99)
    capture = read(
        f"INFO 07-15 04:27:39 [logger.py:41] Received request chatcmpl-1: prompt: '{prompt}', params: None",
        "INFO 07-15 04:27:39 [async_llm.py:270] Added request chatcmpl-0001.",
    )
    assert not capture.events
    assert not capture.series
    assert capture.unused["logged requests"] == 2


def test_aborted_requests_are_counted():
    line = "INFO 07-15 04:27:39 [async_llm.py:270] Aborted request chatcmpl-0001."
    assert events(read(line, line), "http-disconnect")[0].fields == {"count": "2"}
