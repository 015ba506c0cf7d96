"""Reads deployments as evidence: Kubernetes objects, Helm values, Compose files, Ray Serve, option files."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from diagnostics.model.samples import Provenance, Setting
from diagnostics.sources.config.command import CommandSettings
from diagnostics.sources.config.containers import Context, enter, read_container
from diagnostics.sources.config.options import SGLANG, TRTLLM, VLLM, flatten, names, option_name, parse_object
from diagnostics.sources.config.yamltext import SIZE_LIMIT, YamlError, load_documents

_MARKER = re.compile(
    r"(?m)^\s{0,12}(?:-\s)?[\"']?(?:apiVersion|kind|services|applications|llm_configs|servingEngineSpec|modelSpec|image"
    r"|vllmConfig|engine_kwargs|containers|modelArtifacts|[a-z]+(?:[-_][a-z]+)+)[\"']?\s*:"
)
_WORKLOADS = names(
    """Deployment StatefulSet DaemonSet Pod Job CronJob ReplicaSet LeaderWorkerSet InferenceService
    ServingRuntime ClusterServingRuntime LLMInferenceService RayService RayCluster RayJob
    DynamoGraphDeployment InferencePool List VLLMRuntime Rollout"""
)
_OPTION_FILE = {
    TRTLLM: names(
        """kv_cache_config cuda_graph_config enable_attention_dp scheduler_config enable_iter_perf_stats
    print_iter_log return_perf_metrics cache_transceiver_config moe_config"""
    ),
    SGLANG: names(
        """mem_fraction_static chunked_prefill_size max_running_requests schedule_conservativeness tp_size
    cuda_graph_max_bs disable_radix_cache"""
    ),
    VLLM: names(
        """max_num_seqs max_num_batched_tokens max_model_len gpu_memory_utilization kv_cache_dtype
    enforce_eager tensor_parallel_size enable_prefix_caching compilation_config async_scheduling
    enable_chunked_prefill max_cudagraph_capture_size speculative_config data_parallel_size
    pipeline_parallel_size"""
    ),
}
_SHOWN = 12
_VISITS = 50_000
_DEPTH = 50


class ManifestSettings(Struct):
    """What a deployment's configuration says.

    Attributes:
        settings: everything found; with the label ``workload`` when several engines are described.
        notices: what a person should know: variables without a value, options repeated or renamed.
        workloads: one entry for each container that starts an engine or a bench tool.
    """

    settings: list[Setting] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    workloads: list[CommandSettings] = field(default_factory=list)

    @property
    def engine(self) -> str | None:
        """The engine, when all workloads agree on it."""
        engines = {workload.engine for workload in self.workloads if workload.engine}
        return engines.pop() if len(engines) == 1 else None


def recognise(text: str) -> bool:
    """Tell whether a text is a deployment's configuration that says something about an engine."""
    if len(text) > SIZE_LIMIT or not _MARKER.search(text):
        return False
    try:
        documents = load_documents(text)
    except YamlError:
        return False
    if any(isinstance(document, dict) and document.get("kind") in _WORKLOADS for document in documents):
        return True
    # A version alone proves nothing: results of bench tools name an image as well.
    return any(setting.name != "engine_version" for setting in _read_documents(documents, "").settings)


def read_manifest(text: str, where: str = "manifest") -> ManifestSettings:
    """Read a deployment's configuration.

    Args:
        text: YAML with any number of documents, or JSON.
        where: where it was found, in words for a person.

    Returns:
        Settings in the engine's own names, besides ``gpu``, ``gpu_count`` (in one replica), ``replicas``,
        ``engine_version`` and ``model``. Text that cannot be read gives a notice, never an error.
    """
    try:
        return _read_documents(load_documents(text), where)
    except YamlError as error:
        return ManifestSettings(notices=[f"{where}: not readable as YAML: {error}"])


def _read_documents(documents: list[Any], where: str) -> ManifestSettings:
    found: list[tuple[Context, CommandSettings]] = []
    for document in documents:
        if not isinstance(document, dict):
            continue
        option_file = _read_option_file(document, where)
        if option_file is not None:
            found.append((Context(), option_file))
        else:
            _Walk(where, found).visit(document, Context(), 0)
    result = ManifestSettings(workloads=[settings for _, settings in found])
    names_of = _distinct([context for context, _ in found])
    several = len(set(names_of)) > 1
    if several:
        result.notices.append(_several(where, list(dict.fromkeys(names_of))))
    for (context, settings), name in zip(found, names_of, strict=True):
        labels = {"workload": name} if several and name else {}
        place = f", container {context.container}" if name != context.name else ""
        for one in settings.settings:
            setting = Setting(one.name, one.value, one.provenance, one.where + place, labels or one.labels)
            if setting not in result.settings:
                result.settings.append(setting)
        prefix = f"{name}: " if labels else ""
        result.notices += [prefix + notice for notice in settings.notices]
    return result


def _distinct(contexts: list[Context]) -> list[str]:
    """Names of workloads; where one has several engines, with the container's name behind it."""
    # Leader and workers of a group are one engine.
    engines = Counter(context.name for context in contexts if context.kind != "LeaderWorkerSet")
    return [f"{c.name}/{c.container}" if engines[c.name] > 1 and c.container else c.name for c in contexts]


def _several(where: str, names_of: list[str]) -> str:
    """What a person should know who gave a configuration of several engines."""
    shown = ", ".join(name or "one without a name" for name in names_of[:_SHOWN])
    more = f" and {len(names_of) - _SHOWN} more" if len(names_of) > _SHOWN else ""
    return (
        f"{where or 'manifest'}: describes {len(names_of)} engines ({shown}{more}); what they set differently is "
        "used only for a replica with the name or the model of one of them"
    )


class _Walk(Struct):
    """Visits mappings from the outside in; what outer ones say holds for the containers inside."""

    where: str
    found: list[tuple[Context, CommandSettings]]
    visits: int = 0

    def visit(self, node: Any, context: Context, depth: int) -> None:
        """Visit one value and everything in it."""
        self.visits += 1
        if depth > _DEPTH or self.visits > _VISITS:
            return
        if isinstance(node, list):
            for member in node:
                self.visit(member, context, depth + 1)
            return
        if not isinstance(node, dict):
            return
        context = enter(node, context)
        if context.kind and "image" in node and isinstance(node.get("name"), str):
            context.container = node["name"]
        settings = read_container(node, context, self.where)
        if settings is not None:
            self.found.append((context, settings))
        for key, member in node.items():
            if not isinstance(member, (dict, list)):
                continue
            inner = context
            if depth == 1 and isinstance(member, dict) and not context.kind and _is_service(member):
                inner = replace(context, name=str(key))
            self.visit(member, inner, depth + 1)


def _is_service(member: dict[str, Any]) -> bool:
    return bool({"image", "command", "build"} & member.keys())


def _read_option_file(document: dict[str, Any], where: str) -> CommandSettings | None:
    """Read a flat file of options, such as the one given to ``--config``."""
    keys = {str(key).replace("-", "_") for key in document}
    for engine, known in _OPTION_FILE.items():
        if keys & known and len(keys & known) >= min(2, len(keys)):
            result = CommandSettings(engine)
            for key, value in document.items():
                name = option_name(engine, str(key))
                for member, text in flatten(name, _unpacked(value)):
                    result.settings.append(
                        Setting(member, text, Provenance.CONFIGURED, where or "option file")
                    )
            result.model = next((one.value for one in result.settings if one.name == "model"), None)
            return result
    return None


def _unpacked(value: Any) -> Any:
    """Open JSON that is written as text inside YAML."""
    members = parse_object(value) if isinstance(value, str) else None
    return value if members is None else members
