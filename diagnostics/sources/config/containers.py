"""Reads one container of a deployment: its image, command, environment and GPUs, in every dialect met."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from diagnostics.model.samples import Provenance, Setting
from diagnostics.sources.config.command import CommandSettings, read_program, read_words
from diagnostics.sources.config.hardware import match_gpu
from diagnostics.sources.config.options import VLLM, as_text, flatten, option_name, truth
from diagnostics.sources.config.programs import Program, find_program, image_engine, image_version
from diagnostics.sources.config.shell import Words, inner_script, split_commands

_GPU_RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "google.com/tpu", "gpu.intel.com/xe")
_SELECTORS = re.compile(
    r"gpu[.-]?(?:product|name|type|model)|accelerator|instance-type|gpu_nvidia_class", re.I
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_REPLICAS = {
    "replicas": ("replicas", "replicaCount", "num_replicas"),
    "min_replicas": ("minReplicas", "min_replicas"),
    "max_replicas": ("maxReplicas", "max_replicas"),
}
_KWARGS = ("vllmConfig", "engine_kwargs", "engineArgs", "engine_args")


class Context(Struct):
    """What the mappings around a container say about it."""

    kind: str = ""
    name: str = ""
    container: str = ""
    gpu: str | None = None
    gpu_count: str | None = None
    replicas: str | None = None
    min_replicas: str | None = None
    max_replicas: str | None = None
    group_size: str | None = None
    model: str | None = None
    environment: dict[str, str] = field(default_factory=dict)


def enter(node: dict[str, Any], context: Context) -> Context:
    """Take what one mapping adds to the facts that hold inside it."""
    inner = replace(context)
    metadata = node.get("metadata")
    if isinstance(node.get("kind"), str) and isinstance(metadata, dict):
        inner = Context(kind=node["kind"], name=_object_name(metadata))
    for part in (node, *_nested(node, ("deploy", "deployment_config", "autoscaling_config"))):
        for name, keys in _REPLICAS.items():
            count = next((part[key] for key in keys if _is_number(part.get(key))), None)
            if count is not None:
                setattr(inner, name, str(count))
    if _is_number(node.get("size")) and ("workerTemplate" in node or "leaderTemplate" in node):
        inner.group_size = str(node["size"])
    inner.gpu = _selected_gpu(node) or inner.gpu
    inner.gpu_count = _gpu_count(node) or inner.gpu_count
    inner.model = _named_model(node) or inner.model
    return inner


def _object_name(metadata: dict[str, Any]) -> str:
    name = str(metadata.get("name") or metadata.get("generateName") or "")
    return "" if "${" in name else name  # a chart's template, filled in only when it is installed


def _nested(node: dict[str, Any], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Mappings under some keys, and under the same keys inside those."""
    members = [node[key] for key in keys if isinstance(node.get(key), dict)]
    return members + [inner for member in members for inner in _nested(member, keys)]


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and value.isdigit()


def _selected_gpu(node: dict[str, Any]) -> str | None:
    """The GPU that a node selector, an affinity or an accelerator type asks for."""
    wanted: list[str] = []
    selector = node.get("nodeSelector") or node.get("nodeSelectorTerms") or {}
    if isinstance(selector, dict):
        wanted += [str(value) for key, value in selector.items() if _SELECTORS.search(str(key))]
    if _SELECTORS.search(str(node.get("key", ""))) and isinstance(node.get("values"), list):
        wanted += [str(value) for value in node["values"]]
    affinity = node.get("affinity")
    if isinstance(affinity, dict):
        wanted += _affinity_values(affinity, 0)
    if isinstance(node.get("accelerator_type"), str):
        wanted.append(node["accelerator_type"])
    names = {name for name in map(match_gpu, wanted) if name}
    return names.pop() if len(names) == 1 else None


def _affinity_values(node: Any, depth: int) -> list[str]:
    """Values that match expressions of an affinity require for a GPU label."""
    if depth > 8:
        return []
    if isinstance(node, list):
        return [value for member in node for value in _affinity_values(member, depth + 1)]
    if not isinstance(node, dict):
        return []
    if node.get("operator") == "In" and _SELECTORS.search(str(node.get("key", ""))):
        values = node.get("values")
        return [str(value) for value in values] if isinstance(values, list) else []
    return [value for member in node.values() for value in _affinity_values(member, depth + 1)]


def _gpu_count(node: dict[str, Any]) -> str | None:
    """GPUs of one replica, from resource limits, device reservations or a chart's own key."""
    resources = node.get("resources")
    if isinstance(resources, dict):
        for kind in ("limits", "requests"):
            amounts = resources.get(kind)
            if isinstance(amounts, dict):
                found = next(
                    (str(amounts[key]) for key in _GPU_RESOURCES if _is_number(amounts.get(key))), None
                )
                if found:
                    return found
    if _is_number(node.get("requestGPU")):
        return str(node["requestGPU"])
    return _reserved_devices(node)


def _reserved_devices(node: dict[str, Any]) -> str | None:
    """GPUs that a Compose service reserves."""
    here: Any = node.get("deploy")
    for key in ("resources", "reservations", "devices"):
        here = here.get(key) if isinstance(here, dict) else None
    for device in here if isinstance(here, list) else []:
        if isinstance(device, dict):
            if isinstance(device.get("device_ids"), list):
                return str(len(device["device_ids"]))
            if _is_number(device.get("count")):
                return str(device["count"])
    return None


def _named_model(node: dict[str, Any]) -> str | None:
    """A model that is named beside the command: by a chart, by Ray, by KServe."""
    for key in ("modelURL", "model_source", "storageUri", "model_id"):
        value = node.get(key)
        if isinstance(value, str) and value:
            return value.removeprefix("hf://")
    loading = node.get("model_loading_config")
    return _named_model(loading) if isinstance(loading, dict) else None


def read_container(node: dict[str, Any], context: Context, where: str) -> CommandSettings | None:
    """Read a mapping as a container; None when it starts no engine."""
    place = " ".join(part for part in (where, context.kind, context.name) if part) or "manifest"
    kwargs = next((node[key] for key in _KWARGS if isinstance(node.get(key), dict)), None)
    result = _from_command(node, context, place) if kwargs is None else _from_kwargs(node, kwargs, place)
    if result is None:
        return None
    known = {setting.name for setting in result.settings}
    facts = {
        "gpu": context.gpu,
        "gpu_count": context.gpu_count,
        "replicas": context.replicas,
        "min_replicas": context.min_replicas,
        "max_replicas": context.max_replicas,
        "group_size": context.group_size,
        "model": context.model,
        "max_ongoing_requests": _ongoing(node),
    }
    for name, value in facts.items():
        if value and name not in known:
            result.settings.append(Setting(name, value, Provenance.CONFIGURED, place))
    result.model = result.model or context.model
    return result


def _ongoing(node: dict[str, Any]) -> str | None:
    deployment = node.get("deployment_config")
    value = (
        deployment.get("max_ongoing_requests")
        if isinstance(deployment, dict)
        else node.get("max_ongoing_requests")
    )
    return str(value) if _is_number(value) else None


def _image(node: dict[str, Any]) -> str:
    """The image, written as one text or as repository and tag."""
    image = node.get("image")
    if isinstance(image, str):
        return image
    parts = image if isinstance(image, dict) else node
    repository = (
        parts.get("repository") or parts.get("name") if isinstance(image, dict) else parts.get("repository")
    )
    return f"{repository}:{parts.get('tag') or ''}" if isinstance(repository, str) else ""


def _environment(node: dict[str, Any]) -> dict[str, str]:
    """Variables of a container, as a list of names and values, of assignments, or as a mapping."""
    found: dict[str, str] = {}
    for key in ("env", "environment", "extraEnv", "extraEnvVars"):
        variables = node.get(key)
        if isinstance(variables, dict):
            found.update(
                {str(name): as_text(value) for name, value in variables.items() if isinstance(value, str)}
            )
        for member in variables if isinstance(variables, list) else []:
            if isinstance(member, str):
                name, equals, value = member.partition("=")
                if equals:
                    found[name] = value
            elif isinstance(member, dict) and isinstance(member.get("value"), str):
                found[str(member.get("name"))] = member["value"]
    return found


def _words(value: Any) -> list[str]:
    """Words of a command that is written as a list or as one text."""
    if isinstance(value, list):
        return [as_text(member) for member in value if isinstance(member, str)]
    if isinstance(value, str):
        commands = split_commands(value)
        return commands[0].words if len(commands) == 1 else ["sh", "-c", value] if commands else []
    return []


def _from_command(node: dict[str, Any], context: Context, place: str) -> CommandSettings | None:
    """Read image, command and arguments."""
    image_part = node.get("image")
    own: dict[str, Any] = image_part if isinstance(image_part, dict) else {}
    words = [word for key in ("entrypoint", "command", "args", "extraArgs") for word in _words(node.get(key))]
    words = words or [word for key in ("command", "args") for word in _words(own.get(key))]
    image = _image(node)
    engine = image_engine(image) or _served_format(node)
    environment = {**context.environment, **_environment(node)}
    version = image_version(image)
    if words:
        result = read_words([Words(words)], place, environment=environment, version=version)
        if result.engine is not None:
            return result
    if engine is None or not (words or image):
        return None
    starts_something = bool(words) and not words[0].startswith("-") and not _bare_arguments(words, engine)
    if starts_something:
        shown = (inner_script(words) or " ".join(words))[:100]
        program = Program(engine, [], version=version, environment=environment)
        result = read_program(program, place)
        result.notices.append(f"the container runs something of its own, which was not read: {shown}")
        return result
    rest = words[1:] if words[:1] == ["serve"] and engine == VLLM else words
    return read_program(Program(engine, rest, version=version, environment=environment), place)


def _bare_arguments(words: list[str], engine: str) -> bool:
    """Arguments for the image's own entry point may begin with ``serve`` or with the model."""
    if engine != VLLM or find_program(words) is not None:
        return False
    named = "/" in words[0][1:] and not words[0].startswith(("/", "."))
    return words[0] == "serve" or (named and all(word.startswith("-") for word in words[1:2]))


def _served_format(node: dict[str, Any]) -> str | None:
    """KServe names a format; its runtime for these starts vLLM and hands the arguments on."""
    model_format = node.get("modelFormat")
    name = str(model_format.get("name", "")).lower() if isinstance(model_format, dict) else ""
    return VLLM if name in {"vllm", "huggingface"} and node.get("args") else None


def _from_kwargs(node: dict[str, Any], kwargs: dict[str, Any], place: str) -> CommandSettings:
    """Read options that a chart or a Serve configuration holds as a mapping."""
    extra = _words(kwargs.get("extraArgs"))
    image = _image(node)
    result = read_program(
        Program(VLLM, extra, version=image_version(image), environment=_environment(node)), place
    )
    written = {setting.name for setting in result.settings}
    for key, value in kwargs.items():
        if key == "extraArgs":
            continue
        name = option_name(VLLM, _CAMEL.sub("_", str(key)).lower())
        for member, text in flatten(name, value):
            if member not in written:
                result.settings.append(Setting(member, truth(text) or text, Provenance.CONFIGURED, place))
    return result
