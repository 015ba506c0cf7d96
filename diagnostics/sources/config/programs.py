"""Tells which engine or bench tool a command starts, also behind wrappers and inside containers."""

from __future__ import annotations

import re

from msgspec import Struct, field

from diagnostics.sources.config.options import LLAMACPP, LMDEPLOY, SGLANG, TGI, TRTLLM, VLLM, names


class Program(Struct):
    """What a command starts.

    Attributes:
        engine: the engine, or ``bench:<tool>``.
        rest: the words behind the program: options and positional arguments.
        kind: of a bench: ``serve``, ``throughput``, ``latency`` or what the tool calls it.
        version: from a container image's tag, when the tag is a release.
        environment: variables that the command itself sets.
        facts: what the wrapper says, for example the number of GPUs given to a container.
    """

    engine: str
    rest: list[str]
    kind: str = ""
    version: str | None = None
    environment: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str] = field(default_factory=dict)


_IMAGES = (
    (re.compile(r"(?:^|/)vllm[\w.-]*(?=[:@]|$)|vllm-openai|/vllm-tpu|rocm/vllm", re.I), VLLM),
    (re.compile(r"(?:^|/)sglang[\w.-]*(?=[:@]|$)", re.I), SGLANG),
    (re.compile(r"text-generation-inference|/tgi(?=[:@]|$)", re.I), TGI),
    (re.compile(r"llama\.cpp|llama-cpp", re.I), LLAMACPP),
    (re.compile(r"tensorrt-llm|trtllm|tensorrt_llm", re.I), TRTLLM),
    (re.compile(r"lmdeploy", re.I), LMDEPLOY),
)
_RELEASE = re.compile(r"^v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc)\d+)?)(?=$|[-_+])")

_MODULES = {
    "vllm.entrypoints.openai.api_server": (VLLM, ""),
    "vllm.entrypoints.api_server": (VLLM, ""),
    "sglang.launch_server": (SGLANG, ""),
    "sglang_router.launch_server": (SGLANG, ""),
    "sglang.bench_serving": ("bench:sglang", "serve"),
    "sglang.bench_one_batch": ("bench:sglang", "latency"),
    "sglang.bench_one_batch_server": ("bench:sglang", "serve"),
    "sglang.bench_offline_throughput": ("bench:sglang", "throughput"),
    "tensorrt_llm.commands.serve": (TRTLLM, ""),
}
_SUBCOMMANDS = {
    ("vllm", "serve"): (VLLM, ""),
    ("vllm.entrypoints.cli.main", "serve"): (VLLM, ""),
    ("sglang", "serve"): (SGLANG, ""),
    ("trtllm-serve", "serve"): (TRTLLM, ""),
    ("guidellm", "benchmark"): ("bench:guidellm", "serve"),
    ("aiperf", "profile"): ("bench:aiperf", "serve"),
    ("genai-perf", "profile"): ("bench:genai-perf", "serve"),
    ("evalscope", "perf"): ("bench:evalscope", "serve"),
}
_BINARIES = {
    "text-generation-launcher": (TGI, ""),
    "text-generation-benchmark": ("bench:tgi", "latency"),
    "llama-server": (LLAMACPP, ""),
    "llama-server.exe": (LLAMACPP, ""),
    "llama-bench": ("bench:llama.cpp", "latency"),
    "llama-batched-bench": ("bench:llama.cpp", "throughput"),
    "trtllm-serve": (TRTLLM, ""),
    "inference-perf": ("bench:inference-perf", "serve"),
}
_SCRIPT = re.compile(
    r"^(?:(benchmark|bench)_(\w+)|profile_(restful_api|throughput|generation)|token_benchmark_ray)\.py$"
)
_PYTHON = re.compile(r"^(?:python|pypy|py)[\d.]*(?:\.exe)?$")
_WRAPPERS = names(
    """sudo nohup exec time env nice numactl stdbuf uv poetry pipenv srun mpirun torchrun taskset
    timeout setsid screen tmux conda micromamba accelerate nsys ncu tini dumb-init catchsegv chrt
    ionice unbuffer"""
)
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_MEANING = {"serving": "serve", "online": "serve", "restful_api": "serve", "offline_throughput": "throughput"}
_LONGEST_WRAPPER = 40


def image_engine(image: str) -> str | None:
    """Tell which engine a container image holds."""
    return next((engine for pattern, engine in _IMAGES if pattern.search(image)), None)


def image_version(image: str) -> str | None:
    """Read the release from an image's tag; None for ``latest``, digests and other words."""
    name = image.rpartition("/")[2].partition("@")[0]
    match = _RELEASE.match(name.partition(":")[2])
    return match.group(1) if match else None


def find_program(words: list[str]) -> Program | None:
    """Find what a simple command starts.

    Args:
        words: the command without leading assignments.

    Returns:
        None when it starts neither a known engine nor a known bench tool.
    """
    if not words:
        return None
    direct = _program_at(words, 0)
    if direct is not None:
        return direct
    head = _base(words[0])
    if head in _CONTAINERS:
        return _contained(words)
    if head in _WRAPPERS:
        for index in range(1, min(len(words), _LONGEST_WRAPPER)):
            found = _program_at(words, index)
            if found is not None:
                pairs = (word.partition("=") for word in words[1:index] if re.match(r"^[A-Z_a-z]\w*=", word))
                found.environment.update({name: value for name, _, value in pairs})
                return found
    return None


def _base(word: str) -> str:
    return word.replace("\\", "/").rpartition("/")[2]


def _program_at(words: list[str], index: int) -> Program | None:
    """Match the program that begins at one word."""
    name = _base(words[index])
    if _PYTHON.match(name):
        return _python_program(words, index + 1)
    following = words[index + 1] if index + 1 < len(words) else ""
    if name == "lmdeploy" and words[index + 1 : index + 3] == ["serve", "api_server"]:
        return Program(LMDEPLOY, words[index + 3 :])
    if (name, following) in _SUBCOMMANDS:
        engine, kind = _SUBCOMMANDS[(name, following)]
        return Program(engine, words[index + 2 :], kind)
    if name in _BINARIES:
        engine, kind = _BINARIES[name]
        return Program(engine, words[index + 1 :], kind)
    return _bench_at(words, index)


def _bench_at(words: list[str], index: int) -> Program | None:
    """Match the bench tools that have kinds of their own."""
    name, rest = _base(words[index]), words[index + 1 :]
    if name == "trtllm-bench":
        return _trtllm_bench(rest)
    if name in {"vllm", "vllm.entrypoints.cli.main"} and rest[:1] == ["bench"] and len(rest) > 1:
        return Program("bench:vllm", rest[2:], rest[1])
    return _script(words, index)


def _trtllm_bench(rest: list[str]) -> Program:
    kind = next((word for word in rest if word in {"throughput", "latency", "build"}), "")
    return Program("bench:tensorrt-llm", [word for word in rest if word != kind], kind)


def _script(words: list[str], index: int) -> Program | None:
    """Recognise the bench scripts that engines ship."""
    match = _SCRIPT.match(_base(words[index]))
    if match is None:
        return None
    kind = match.group(2) or match.group(3) or "serve"
    tool = {"benchmark": "vllm", "bench": "sglang"}.get(
        match.group(1) or "", "lmdeploy" if match.group(3) else "llmperf"
    )
    return Program(f"bench:{tool}", words[index + 1 :], _MEANING.get(kind, kind))


def _python_program(words: list[str], index: int) -> Program | None:
    """Look behind an interpreter's own options for a module or a script."""
    while index < len(words) and words[index].startswith("-") and words[index] != "-m":
        index += 2 if words[index] in {"-X", "-W"} else 1
    if index >= len(words):
        return None
    if words[index] != "-m":
        if _base(words[index]) == "api_server.py" and "vllm" in words[index]:
            return Program(VLLM, words[index + 1 :])
        return _program_at(words, index) if not _PYTHON.match(_base(words[index])) else None
    module = words[index + 1] if index + 1 < len(words) else ""
    if module in _MODULES:
        engine, kind = _MODULES[module]
        return Program(engine, words[index + 2 :], kind)
    return _program_at(words, index + 1) if module and not _PYTHON.match(_base(module)) else None


def _contained(words: list[str]) -> Program | None:
    """Read ``docker run``: options of the container, the image, and what runs in it."""
    for index in range(1, len(words)):
        engine = image_engine(words[index]) if _is_image(words, index) else None
        if engine is None:
            continue
        rest = words[index + 1 :]
        inner = next(
            (found for start in range(min(len(rest), 4)) if (found := _program_at(rest, start))), None
        )
        program = inner or Program(engine, rest)
        program.version = image_version(words[index])
        _read_container_options(words[1:index], program)
        return program
    return None


def _is_image(words: list[str], index: int) -> bool:
    """An image is no option and not the value of one that names or mounts something."""
    word, before = words[index], words[index - 1]
    valued = (
        before.startswith("-")
        and "=" not in before
        and before not in {"-d", "-it", "-ti", "-i", "-t", "--rm", "--init"}
    )
    return (
        not word.startswith("-")
        and "=" not in word
        and not (valued and (":" not in word or word.startswith("/")))
    )


def _read_container_options(options: list[str], program: Program) -> None:
    """Take environment and GPUs from the options in front of an image."""
    pairs = list(zip(options, [*options[1:], ""], strict=True))
    for option, following in pairs:
        name, equals, own = option.partition("=")
        value = own if equals else following
        if name in {"-e", "--env"}:
            key, is_set, content = value.partition("=")
            if is_set:
                program.environment[key] = content
        elif name == "--gpus":
            count = re.fullmatch(r"\d+", value.strip("\"'"))
            devices = re.search(r"device=([\d,]+)", value)
            if count:
                program.facts["gpu_count"] = count.group()
            elif devices:
                program.facts["gpu_count"] = str(len(devices.group(1).split(",")))
