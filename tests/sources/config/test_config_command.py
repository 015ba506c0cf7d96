from __future__ import annotations

import time

import pytest

from diagnostics.model.samples import Provenance
from diagnostics.sources.config.command import CommandSettings, find_commands, read_command


def values(result: CommandSettings) -> dict[str, str]:
    return {setting.name: setting.value for setting in result.settings}


def read(text: str) -> CommandSettings:
    return read_command(text, "launch command")


def test_vllm_serve_with_positional_model_and_negated_switch() -> None:
    result = read(
        "$ vllm serve Qwen/Qwen3-235B-A22B-Instruct-2507-FP8 --max-model-len 41001 --tensor-parallel-size 8 "
        "--enable-expert-parallel --no-enable-prefix-caching --enable-chunked-prefill"
    )
    assert (result.engine, result.model) == ("vllm", "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8")
    assert values(result) == {
        "model": "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8",
        "max_model_len": "41001",
        "tensor_parallel_size": "8",
        "enable_expert_parallel": "True",
        "enable_prefix_caching": "False",
        "enable_chunked_prefill": "True",
    }
    assert {setting.provenance for setting in result.settings} == {Provenance.CONFIGURED}
    assert {setting.where for setting in result.settings} == {"launch command"}
    assert result.notices == []


def test_a_command_that_a_person_quotes_is_assumed() -> None:
    result = read_command("vllm serve a/b --port 80", "remark", Provenance.ASSUMED)
    assert {setting.provenance for setting in result.settings} == {Provenance.ASSUMED}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--max_num_seqs=64", {"max_num_seqs": "64"}),
        (
            "-tp 4 -pp=2 -dp 8",
            {"tensor_parallel_size": "4", "pipeline_parallel_size": "2", "data_parallel_size": "8"},
        ),
        ("-q awq -O3", {"quantization": "awq", "optimization_level": "3"}),
        ("--compilation-config.level 3", {"compilation_config.level": "3"}),
        ("-O.cudagraph_mode=FULL", {"compilation_config.cudagraph_mode": "FULL"}),
        ("--enable-chunked-prefill False", {"enable_chunked_prefill": "False"}),
        ("--enable-chunked-prefill=true", {"enable_chunked_prefill": "True"}),
        (
            "--served-model-name one two --enforce-eager",
            {"served_model_name": "one two", "enforce_eager": "True"},
        ),
        ("--cudagraph-capture-sizes 1 2 4", {"cudagraph_capture_sizes": "1 2 4"}),
        ("--speculative-config.method eagle3", {"speculative_method": "eagle3"}),
        ("\u2013max-num-seqs 12", {"max_num_seqs": "12"}),
    ],
)
def test_spellings_of_vllm(flags: str, expected: dict[str, str]) -> None:
    found = values(read(f"vllm serve a/b {flags}"))
    assert found == {"model": "a/b", **expected}


def test_a_model_behind_a_bare_switch_is_still_the_model() -> None:
    assert read("vllm serve --enable-prefix-caching a/b").model == "a/b"


def test_json_values_are_kept_and_flattened() -> None:
    found = values(
        read(
            """vllm serve a/b --speculative-config '{"method": "ngram", "num_speculative_tokens": 5,
            "prompt_lookup_max": 4}' --compilation-config '{"cudagraph_capture_sizes": [1, 2]}'"""
        )
    )
    assert found["speculative_method"] == "ngram"
    assert found["num_speculative_tokens"] == "5"
    assert found["speculative_config.prompt_lookup_max"] == "4"
    assert found["cudagraph_capture_sizes"] == "[1,2]"
    assert found["speculative_config"].startswith("{")


def test_backslashes_before_json_as_a_shell_history_prints_it() -> None:
    found = values(
        read(r"vllm serve a/b --kv-transfer-config \{\"kv_connector\":\"LMCacheMPConnector\"\,\"a\":1\}")
    )
    assert found["kv_transfer_config.kv_connector"] == "LMCacheMPConnector"


def test_of_an_option_given_twice_the_last_counts_and_is_noticed() -> None:
    result = read("vllm serve a/b --max-num-seqs 4 --max_num_seqs=8")
    assert values(result)["max_num_seqs"] == "8"
    assert result.notices == ["--max_num_seqs is given twice (4, then 8): the last one counts"]


def test_sglang_names_and_negative_values() -> None:
    result = read(
        "$ python -m sglang.launch_server --model-path Qwen2.5-VL-7B --speculative-algorithm EAGLE3 "
        "--chunked-prefill-size -1 --cuda-graph-max-bs 1 --tp 1 --data-parallel-size 8 --disable-radix-cache"
    )
    assert (result.engine, result.model) == ("sglang", "Qwen2.5-VL-7B")
    found = values(result)
    assert found["chunked_prefill_size"] == "-1"
    assert (found["tp_size"], found["dp_size"], found["disable_radix_cache"]) == ("1", "8", "True")


@pytest.mark.parametrize(
    ("command", "engine", "expected"),
    [
        ("python -m vllm.entrypoints.openai.api_server --model a/b", "vllm", {"model": "a/b"}),
        ("sglang serve --model-path a/b --ep 8", "sglang", {"ep_size": "8"}),
        ("text-generation-launcher --model-id a/b --num-shard 2", "tgi", {"num_shard": "2", "model": "a/b"}),
        (
            "./llama-server -m x.gguf -c 32768 -np 4 -b 2048 -ub 512 -ngl 99 -ctk q8_0 --no-mmap",
            "llama.cpp",
            {
                "ctx_size": "32768",
                "parallel": "4",
                "batch_size": "2048",
                "ubatch_size": "512",
                "mmap": "False",
            },
        ),
        (
            "trtllm-serve a/b --tp_size 4 --kv_cache_free_gpu_memory_fraction 0.8",
            "tensorrt-llm",
            {"model": "a/b", "free_gpu_memory_fraction": "0.8"},
        ),
        (
            "lmdeploy serve api_server a/b --tp 2 --cache-max-entry-count 0.5",
            "lmdeploy",
            {"model": "a/b", "tp": "2", "cache_max_entry_count": "0.5"},
        ),
    ],
)
def test_other_engines(command: str, engine: str, expected: dict[str, str]) -> None:
    result = read(command)
    assert result.engine == engine
    assert expected.items() <= values(result).items()


def test_environment_before_the_command_and_secrets() -> None:
    result = read(
        "HF_TOKEN=hf_abc VLLM_USE_V1=1 EDITOR=vi vllm serve a/b --api-key sk-123 --max-num-batched-tokens 9"
    )
    assert values(result) == {"vllm_use_v1": "1", "model": "a/b", "max_num_batched_tokens": "9"}


def test_bench_options_are_prefixed() -> None:
    result = read("vllm bench serve --model a/b --request-rate inf --max-concurrency 32")
    assert (result.engine, result.model) == ("bench:vllm", "a/b")
    assert values(result) == {
        "bench_model": "a/b",
        "bench_request_rate": "inf",
        "bench_max_concurrency": "32",
        "bench_kind": "serve",
    }


def test_a_bench_that_holds_the_engine_itself_also_configures_it() -> None:
    found = values(
        read(
            "$ VLLM_USE_V1=1 python benchmarks/benchmark_throughput.py --model a/b --num-prompts 1000 "
            "--input-len 128 --max-model-len 4096"
        )
    )
    assert found["bench_num_prompts"] == "1000"
    assert (found["max_model_len"], found["model"], found["bench_kind"]) == ("4096", "a/b", "throughput")
    assert "num_prompts" not in found


def test_docker_run_gives_engine_version_and_gpus() -> None:
    result = read(
        "docker run --runtime nvidia --gpus 2 -v ~/.cache:/root/.cache \\\n"
        "  --env HF_TOKEN=hf_1 -p 8000:8000 \\\n"
        "  vllm/vllm-openai:v0.11.0 --model a/b -tp 2 --num-scheduler-steps 8"
    )
    assert (result.engine, result.engine_version, result.model) == ("vllm", "0.11.0", "a/b")
    found = values(result)
    assert (found["gpu_count"], found["engine_version"], found["tensor_parallel_size"]) == (
        "2",
        "0.11.0",
        "2",
    )
    assert any("--num-scheduler-steps" in notice for notice in result.notices)


def test_a_trailing_comment_is_a_remark() -> None:
    result = read("$ vllm serve a/b --quantization fp8     # GPU 0: NVIDIA A10")
    gpu = next(setting for setting in result.settings if setting.name == "gpu")
    assert (gpu.value, gpu.provenance) == ("A10", Provenance.ASSUMED)


def test_variables_are_filled_where_they_are_known() -> None:
    result = read('export TP=4; sh -c "vllm serve a/b -tp $TP --max-num-seqs ${N:-64} --block-size $B"')
    found = values(result)
    assert (found["tensor_parallel_size"], found["max_num_seqs"]) == ("4", "64")
    assert "block_size" not in found
    assert "comes from B" in result.notices[0]


def test_hostile_text_is_text() -> None:
    result = read("vllm serve a/b --max-num-seqs $(touch /tmp/owned) --port `id`; rm -rf /")
    assert values(result) == {"model": "a/b"}
    assert len(result.notices) == 2


def test_an_open_quote_is_read_as_well_as_possible() -> None:
    result = read('vllm serve "a/b --max-num-seqs 8')
    assert values(result) == {"model": "a/b", "max_num_seqs": "8"}
    assert "never closed" in result.notices[0]


def test_text_without_a_command_gives_nothing() -> None:
    for text in ("", "ls -l", "'", "python train.py --model a", "vllm", "{" * 10_000):
        assert read(text) == CommandSettings()


def test_commands_are_found_in_a_log_and_sentences_are_not() -> None:
    text = (
        "INFO 01-01 starting, see `vllm serve --help`\n"
        "vllm serve is slow when the queue is long\n"
        "| tool | vllm bench serve --x |\n"
        "user@host:~/x$ CUDA_VISIBLE_DEVICES=0 nohup vllm serve a/b \\\n"
        "   --max-num-seqs 4 > out.log 2>&1 &\n"
        "ExecStart=/opt/bin/vllm serve c/d --port 80\n"
        "root  123 99.0 1.0 9 9 ? Sl 10:02 103:11 python3 -m vllm.entrypoints.openai.api_server --model e/f\n"
        "vllm serve g/h\n  --max-num-seqs 64\n  --enforce-eager\nthanks\n"
    )
    found = find_commands(text)
    assert [(command.line, command.prompted) for command in found] == [
        (4, True),
        (6, False),
        (7, False),
        (8, False),
    ]
    assert [read(command.text).model for command in found] == ["a/b", "c/d", "e/f", "g/h"]
    assert values(read(found[3].text))["enforce_eager"] == "True"


def test_json_over_several_lines_belongs_to_its_command() -> None:
    text = """$ vllm serve a/b --speculative-config '{
  "method": "mtp",
  "num_speculative_tokens": 1}'
next
"""
    (command,) = find_commands(text)
    assert values(read(command.text))["speculative_method"] == "mtp"


def test_large_and_hostile_logs_take_little_time() -> None:
    started = time.monotonic()
    assert find_commands("vllm serve 'open\n" * 50_000) == []
    assert find_commands("vllm serve " * 100_000) == []
    assert len(find_commands("vllm serve a/b --port 1\n" * 5_000)) == 200
    read("vllm serve a " + '"' * 15_001)
    read("vllm serve a --speculative-config '" + '{"a":' * 3_000 + "'")
    assert time.monotonic() - started < 10
