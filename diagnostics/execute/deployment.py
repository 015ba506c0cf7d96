"""What the configuration says of one replica: its GPU, its degrees, its weights, what its log refused.

Rules that judge a deployment before its load read this. Nothing here is measured; whoever uses it says so.
"""

from __future__ import annotations

import json
import re

from msgspec import Struct

from diagnostics.capacity.checks import CapacityError
from diagnostics.capacity.hardware import Gpu, match_gpus
from diagnostics.capacity.model import ModelShape, shape_from_config
from diagnostics.capacity.precision import Precision, precision
from diagnostics.execute.facts import Facts
from diagnostics.model.findings import Window
from diagnostics.model.samples import LogEvent, Provenance, Setting

TP_NAMES = ("tensor_parallel_size", "tp_size", "num_shard", "tp")
PP_NAMES = ("pipeline_parallel_size", "pp_size", "pp")
# Sources that hold everything an operator set, so that what they do not name has its default.
_WHOLE = (
    "launch command",
    "asked",
    "manifest",
    "option file",
    "non-default args",
    "Namespace",
    "server_args",
)
# Engines that use one GPU unless told otherwise; others take all that they see.
_ONE_BY_DEFAULT = ("vllm", "sglang")
# How names of checkpoints say the format of the weights.
_FORMATS = (
    (re.compile(r"(?<![a-z0-9])(?:nv|mx)?fp4(?![a-z0-9])", re.I), "nvfp4"),
    (re.compile(r"(?<![a-z0-9])fp8(?![a-z0-9])", re.I), "fp8"),
    (re.compile(r"(?<![a-z0-9])(?:awq|gptq)(?![a-z])", re.I), "awq"),
    (re.compile(r"(?<![a-z0-9])(?:w8a8|int8)(?![a-z0-9])", re.I), "w8a8"),
    (re.compile(r"(?<![a-z0-9])(?:bnb|nf4|bitsandbytes)(?![a-z])", re.I), "bitsandbytes"),
    (re.compile(r"(?<![a-z0-9])(?:w4a16|int4|4[-_]?bits?|q4(?:_\w+)?)(?![a-z0-9])", re.I), "int4"),
)  # fmt: skip
# Published in a small format that their name does not say; nothing is inferred from the size of these.
_SMALL_UNSAID = re.compile(
    r"gpt-oss|deepseek|kimi|ministral-3|mistral-large-3|devstral|minimax|gguf|nemotron-3", re.I
)
_SIZE = re.compile(r"(?<![A-Za-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)[bB](?![A-Za-z0-9])")
# Experts share attention and embeddings: 8x7B has 0.83 of 56e9 parameters, 8x22B 0.80 of 176e9.
_SHARED_BY_EXPERTS = 0.8


class Format(Struct, frozen=True):
    """The format that weights are asked to have.

    Attributes:
        name: ``fp8``, ``nvfp4``, ``awq``, ``bitsandbytes``, or the engine's own word.
        online: the engine is told to make it at start, and the checkpoint's name does not say that it has it.
        where: words for a person.
    """

    name: str
    online: bool
    where: str
    provenance: Provenance


def gpus(facts: Facts, i: int) -> tuple[Gpu, ...]:
    """Rows of the hardware table that the GPU of replica i may be; empty when it is not known."""
    setting = facts.setting(i, "gpu")
    name = facts.options.gpu or (setting.value if setting else "")
    return match_gpus(name) if name else ()


def gpu_provenance(facts: Facts, i: int) -> Provenance:
    """How the GPU of replica i is known."""
    setting = facts.setting(i, "gpu")
    return setting.provenance if setting and not facts.options.gpu else Provenance.CONFIGURED


def has_whole_configuration(facts: Facts, i: int) -> bool:
    """Whether everything that was set for replica i is known, so that the rest has its default."""
    return any(word in s.where for s in facts.settings[i].values() for word in _WHOLE)


def degree(facts: Facts, i: int, names: tuple[str, ...]) -> int | None:
    """A parallel degree of replica i; 1 where a whole configuration names none; None when not known."""
    value = facts.number(i, *names)
    if value is not None:
        return int(value) if value >= 1 and value == int(value) else None
    return 1 if facts.engine in _ONE_BY_DEFAULT and has_whole_configuration(facts, i) else None


def model(facts: Facts, i: int) -> str:
    """The model's name as the configuration or the metrics have it; empty when nothing names it."""
    setting = facts.setting(i, "model", "model_path", "hf_repo", "served_model_name")
    return setting.value if setting else facts.model if facts.model != "model" else ""


def weights_format(facts: Facts, i: int) -> Format | None:
    """The quantized format of the weights of replica i; None when nothing says that they are quantized."""
    named = next((f for pattern, f in _FORMATS if pattern.search(model(facts, i))), None)
    own = facts.setting(i, "quantization_config.quant_method", "quantization_config.quant_algo")
    asked = facts.setting(i, "quantization", "quantize", "torchao_config")
    if own is not None:
        return Format(own.value.lower(), False, "the checkpoint's configuration", own.provenance)
    if asked is not None and asked.value.lower() not in ("none", "auto", "", "false"):
        word = asked.value.lower() if asked.name != "torchao_config" else "torchao"
        return Format(word, named is None, asked.where, asked.provenance)
    return Format(named, False, "the model's name", Provenance.INFERRED) if named else None


def config_fields(facts: Facts, i: int) -> dict[str, object] | None:
    """The fields of the model's configuration, where it is among the inputs."""
    fields: dict[str, object] = {}
    for name, setting in facts.settings[i].items():
        head, dot, rest = name.partition(".")
        if dot and head == "quantization_config":
            section = fields.setdefault(head, {})
            if isinstance(section, dict):
                section[rest] = _value(setting)
        elif not dot:
            fields[name] = _value(setting)
    if "num_hidden_layers" not in fields or "hidden_size" not in fields:
        return None
    return fields


def shape(facts: Facts, i: int) -> ModelShape | None:
    """The model's structure, where its configuration is among the inputs."""
    fields = config_fields(facts, i)
    if fields is None:
        return None
    try:
        return shape_from_config(fields)
    except CapacityError:
        return None


def _value(setting: Setting) -> object:
    try:
        return json.loads(setting.value)
    except ValueError:
        return {"True": True, "False": False}.get(setting.value, setting.value)


def parameters(facts: Facts, i: int) -> float | None:
    """Parameters as the model's name says them, a lower bound; None when it does not."""
    name = model(facts, i).rstrip("/").rsplit("/", 1)[-1]
    found = _SIZE.search(name)
    if found is None or (_SMALL_UNSAID.search(model(facts, i)) and weights_format(facts, i) is None):
        return None
    billions = float(found[2]) * (int(found[1]) * _SHARED_BY_EXPERTS if found[1] else 1)
    return billions * 1e9


def stored(facts: Facts, i: int) -> Precision | None:
    """The format in which weights lie in memory; None when its bytes are not known."""
    asked = weights_format(facts, i)
    dtype = facts.setting(i, "dtype", "torch_dtype")
    word = asked.name if asked else dtype.value if dtype and dtype.value not in ("auto", "half") else "bf16"
    try:
        return precision(word)
    except CapacityError:
        return None


def events(facts: Facts, *kinds: str) -> list[LogEvent]:
    """Log lines of these kinds, in the order of the logs."""
    return [event for event in facts.events if event.kind in kinds]


def refusals(facts: Facts, *kinds: str) -> list[LogEvent]:
    """Refusals of these kinds after which the same process did not become ready."""
    found: list[LogEvent] = []
    for event in facts.events:
        if event.kind == "ready":
            found = [f for f in found if f.labels != event.labels]
        elif event.kind in kinds:
            found.append(event)
    return found


def members(facts: Facts, about: list[LogEvent]) -> tuple[int, ...]:
    """Replicas that log lines speak of; all of them when no line names one."""
    named = {value for event in about for value in event.labels.values()}
    chosen = tuple(i for i, entity in enumerate(facts.entities) if entity.replica in named)
    return chosen or tuple(range(facts.size))


def moments(about: list[LogEvent]) -> Window:
    """From the first to the last of these lines; without times an open window."""
    times = [event.time for event in about if event.time is not None]
    return Window(min(times), max(times)) if times else Window(None, None)


def serves(facts: Facts) -> bool:
    """Whether the engine was seen at work, so that whatever it was given did start."""
    return bool(facts.has("running").any()) or any(event.kind == "ready" for event in facts.events)
