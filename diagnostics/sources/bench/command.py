"""Benchmark command lines and remarks beside a pasted result; they carry the settings the result lacks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from diagnostics.model.bench import BenchRun, BenchStep
from diagnostics.sources.bench.names import weight_format_in
from diagnostics.sources.bench.values import count, derive, model_name, number, positive, set_load

_PROGRAM = re.compile(
    r"vllm\s+bench\s+(?:serve|throughput|latency|sweep)|benchmark_(?:serving|throughput|latency)\.py|bench_serving"
    r"|bench_one_batch|bench_offline_throughput|\b(?:test|bench)_serving\.py|guidellm\s+benchmark|aiperf\s+profile|genai-perf\s+profile"
)
_PRICE = re.compile(
    r"(\d+(?:\.\d+)?)\s*(USD|EUR|GBP|\$|€)\s*(?:per|/|an)\s*h(?:our|r)?\b(?:\s+for\s+(\d+)\s*x\s*([^,;\n]+))?",
    re.I,
)
_DISTINCT = re.compile(r"\b(\d+)\s+(?:distinct|different|unique)\s+prompts?\b", re.IGNORECASE)
_SAME = re.compile(r"\b(?:same|identical|single)\s+prompt\b(?!s)", re.IGNORECASE)
_CACHING = re.compile(r"\bprefix\s+cach(?:ing|e)\s+(on|off|enabled|disabled)\b", re.IGNORECASE)
_TP = re.compile(r"\btp\s*=\s*(\d+)", re.IGNORECASE)
_MAX_COMMAND = 8000
_MAX_REMARK, _MAX_REMARKS = 400, 400
_SEQUENCE = re.compile(r"\bseq(?:uence)?_?len(?:gth)?\s*[:=]\s*(\d+)", re.IGNORECASE)
_INPUT_FLAGS = (
    "random-input-len",
    "random-input",
    "input-len",
    "sonnet-input-len",
    "synthetic-input-tokens-mean",
)
_OUTPUT_FLAGS = (
    "random-output-len",
    "random-output",
    "output-len",
    "sonnet-output-len",
    "hf-output-len",
    "custom-output-len",
)


def find_commands(text: str) -> list[dict[str, str]]:
    """Flags of every benchmark command in a text; ``program`` holds the program's words."""
    found = []
    joined = re.sub(r"\\\r?\n\s*", " ", text)
    for line in joined.splitlines():
        match = _PROGRAM.search(line) if len(line) < _MAX_COMMAND else None
        if match:
            flags = _flags(line[match.end() :])
            flags["program"] = match.group(0)
            found.append(flags)
    return found


def _flags(rest: str) -> dict[str, str]:
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    flags: dict[str, str] = {}
    for i, word in enumerate(words):
        if not word.startswith("-") or number(word) is not None:
            continue
        name, _, value = word.lstrip("-").partition("=")
        following = words[i + 1] if i + 1 < len(words) else ""
        if not value and following and not (following.startswith("-") and number(following) is None):
            value = following
        flags[name.replace("_", "-")] = value or "true"
    return flags


def tool_of(program: str) -> str:
    """The tool behind a program's words."""
    for mark, tool in (
        ("throughput", "vllm bench throughput"),
        ("latency", "vllm bench latency"),
        ("bench_serving", "sglang bench_serving"),
        ("one_batch", "sglang bench_one_batch"),
        ("guidellm", "guidellm"),
        ("aiperf", "aiperf"),
        ("genai", "genai-perf"),
    ):
        if mark in program and "offline" not in program:
            return tool
    return "sglang bench_offline_throughput" if "offline" in program else "vllm bench serve"


def apply_command(run: BenchRun, step: BenchStep, flags: dict[str, str]) -> None:
    """Fill what the result lacks from the command's flags; origin ``command``."""
    _apply_deployment(run, flags)
    for spec, names in (("input_len_spec", _INPUT_FLAGS), ("output_len_spec", _OUTPUT_FLAGS)):
        length = next((count(flags[name]) for name in names if name in flags), None)
        if length is not None:
            derive(run, spec, _length_spec(length, flags, run.tool), "command")
    derive(
        run,
        "dataset",
        flags.get("dataset-path") or flags.get("dataset-name") or flags.get("dataset"),
        "command",
    )
    derive(run, "client_protocol", flags.get("backend") or flags.get("endpoint-type"), "command")
    derive(run, "seed", count(flags.get("seed")), "command")
    if "ignore-eos" in flags:
        derive(run, "ignore_eos", True, "command")
    derive(step, "requested", count(flags.get("num-prompts")), "command")
    if step.load_mode != "unknown":
        return
    offline = "throughput" in run.tool or "latency" in run.tool
    if offline:
        step.load_mode, step.arrival = "offline", "none"
        derive(step, "batch_size", count(flags.get("batch-size")), "command")
    else:
        set_load(
            step,
            positive(flags.get("request-rate")) or "inf",
            flags.get("max-concurrency"),
            burstiness=flags.get("burstiness", 1),
        )
        for name in ("requested_rps", "concurrency_cap", "load_mode"):
            step.origins[name] = "command"


def _length_spec(length: int, flags: dict[str, str], tool: str) -> str:
    """SGLang: lengths lie in [ratio x length, length]; vLLM: length x (1 +- ratio)."""
    ratio = number(flags.get("random-range-ratio"))
    if tool.startswith("sglang"):
        return f"fixed {length}" if ratio == 1 else f"uniform {int(length * (ratio or 0))}-{length}"
    if ratio:
        return f"uniform {int(length * (1 - ratio))}-{int(length * (1 + ratio))}"
    return f"fixed {length}"


def _apply_deployment(run: BenchRun, flags: dict[str, str]) -> None:
    derive(
        run, "model", model_name(flags.get("model") or flags.get("model-path") or flags.get("m")), "command"
    )
    derive(run, "weight_format", flags.get("quantization"), "command")
    derive(run, "weight_format", weight_format_in(run.model), "named")
    numbers: tuple[tuple[str, tuple[str, ...]], ...] = (
        ("tp", ("tensor-parallel-size", "tp", "tp-size")),
        ("pp", ("pipeline-parallel-size", "pp")),
        ("max_num_seqs", ("max-num-seqs",)),
        ("max_batched_tokens", ("max-num-batched-tokens",)),
        ("max_model_len", ("max-model-len",)),
    )
    for field_name, names in numbers:
        derive(run, field_name, next((count(flags[n]) for n in names if n in flags), None), "command")
    if "enable-prefix-caching" in flags or "no-enable-prefix-caching" in flags:
        derive(run, "prefix_caching", "no-enable-prefix-caching" not in flags, "command")
    if "enforce-eager" in flags:
        run.extra["setting:enforce_eager"] = True
    if "load-format" in flags:
        run.extra["setting:load_format"] = flags["load-format"]


def apply_remarks(run: BenchRun, text: str) -> None:
    """Price, identical prompts, caching and lengths out of an author's remarks; origin ``named``."""
    text = "\n".join(line[:_MAX_REMARK] for line in text.splitlines()[:_MAX_REMARKS])
    price = _PRICE.search(text)
    if price:
        machines = count(price.group(3)) or 1
        derive(run, "gpu_hourly", float(price.group(1)) / machines, "named")
        derive(run, "currency", {"$": "USD", "€": "EUR"}.get(price.group(2), price.group(2).upper()), "named")
        derive(run, "price_basis", price.group(0).strip(), "named")
        if price.group(3):
            derive(run, "gpus", machines, "named")
            derive(run, "gpu_model", price.group(4).strip(), "named")
    distinct = _DISTINCT.search(text)
    if distinct:
        derive(run, "distinct_prompts", int(distinct.group(1)), "named")
    elif _SAME.search(text):
        derive(run, "distinct_prompts", 1, "named")
    found: tuple[tuple[str, re.Pattern[str], Callable[[str], object]], ...] = (
        ("tp", _TP, int),
        ("input_len_spec", _SEQUENCE, lambda length: f"fixed {length}"),
        ("prefix_caching", _CACHING, lambda word: word.lower() in ("on", "enabled")),
    )
    for field_name, pattern, convert in found:
        match = pattern.search(text)
        if match and getattr(run, field_name) is None:
            setattr(run, field_name, convert(match.group(1)))
            run.origins[field_name] = "named"


def read_command(source: str, text: str) -> BenchRun | None:
    """A run out of a command line alone, without any result; None when there is no such line."""
    commands = find_commands(text)
    if not commands:
        return None
    flags = commands[0]
    run = BenchRun(source=source, format="bench-command", tool=tool_of(flags["program"]))
    step = BenchStep(valid=False, invalid_reason="only the command is known, not its result")
    run.steps.append(step)
    apply_command(run, step, flags)
    apply_remarks(run, text)
    run.warnings.append("a benchmark command without its result")
    return run
