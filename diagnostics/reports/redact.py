"""A diagnosis that may be shown in public: nothing in it tells where, on what or for whom it was made.

It works on the object, before any format, so that no format can leak. Names that the diagnosis itself knows
(replicas, deployments, models, inputs) become numbered names that stay the same throughout; whatever else
looks like an address, a path, a user, a key or somebody's text is removed by its shape.
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import PurePath
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from diagnostics.model.report import Diagnosis, Report
from diagnostics.reports.escape import terminal
from diagnostics.reports.redact_shapes import Names, scrub

T = TypeVar("T")

# Words of this product only; they never carry anything from an input.
_OWN_WORDS = frozenset(
    {"schema_version", "tool", "code", "rule", "severity", "role", "unit", "comparison", "provenance", "kind"}
    | {"when", "regime", "reason", "status", "primary", "runner_up", "explains", "passed", "worst_regime"}
)
_VERSION = re.compile(r"\d+(\.\d+){0,3}((rc|a|b|\.post|\.dev)\d+)?")
_ENGINE = re.compile(r"[a-z][a-z0-9_-]{0,20}")
# Who publishes models in the open: such a name says nothing about who uses it.
_PUBLISHERS = frozenset(
    {"01-ai", "ai21labs", "allenai", "amazon", "baichuan-inc", "baidu", "bigcode", "bigscience", "codellama"}
    | {
        "bytedance-seed",
        "coherelabs",
        "databricks",
        "deepseek-ai",
        "eleutherai",
        "facebook",
        "google",
        "qwen",
    }
    | {
        "huggingfaceh4",
        "huggingfacetb",
        "ibm-granite",
        "internlm",
        "lmsys",
        "meta-llama",
        "microsoft",
        "nvidia",
    }
    | {
        "minimaxai",
        "mistralai",
        "moonshotai",
        "mosaicml",
        "neuralmagic",
        "nousresearch",
        "openai",
        "opengvlab",
    }
    | {
        "openbmb",
        "redhatai",
        "stabilityai",
        "stepfun-ai",
        "tencent",
        "thudm",
        "tiiuae",
        "tinyllama",
        "upstage",
    }
    | {"xai-org", "yuhuili", "zai-org", "meituan-longcat"}
)
_PUBLIC_MODEL = re.compile(r"([A-Za-z0-9][\w.-]*)/[A-Za-z0-9][\w.-]*")
_RANK = re.compile(r" rank \d+$")


def redact(diagnosis: Diagnosis) -> Diagnosis:
    """The same diagnosis without hosts, addresses, paths, users, prompts and keys."""
    names = _known(diagnosis)
    # Points hold numbers only, and there are many of them.
    series = tuple(replace(s, replica=scrub(s.replica, names)) for s in diagnosis.series)
    walked = _walk(replace(diagnosis, series=()), names)
    return replace(walked, report=_finish(walked.report), series=series)


def is_public_model(name: str) -> bool:
    """Whether a model's name is that of a known publisher."""
    match = _PUBLIC_MODEL.fullmatch(name)
    return match is not None and match[1].lower() in _PUBLISHERS


def _known(diagnosis: Diagnosis) -> Names:
    """The names that the diagnosis knows, each with its neutral one."""
    report, names = diagnosis.report, Names()
    for entry in report.inputs:
        number = names.give(entry.source, "input")
        # The folder and the file alone, too: warnings name either.
        for part in (PurePath(entry.source).name, *PurePath(entry.source).parts[:-1]):
            names.alias(part, number)
    replicas = [r.replica for r in report.regimes] + [t.replica for t in report.time_to_first_token]
    replicas += [s.replica for s in diagnosis.series]
    for finding in report.findings:
        replicas += [*finding.scope.replicas, *(e.replica for e in finding.evidence)]
    for replica in replicas:
        base = _RANK.sub("", replica)
        host, colon, port = base.rpartition(":")
        neutral = names.give(base, "replica")
        if colon and port.isdigit():
            names.alias(host, neutral)
        names.alias(host.partition(".")[0] if colon else base.partition(".")[0], neutral)
    for deployment in report.deployments:
        names.give(deployment.name, "deployment")
        _model(deployment.model, names)
    for finding in report.findings:
        names.give(finding.scope.deployment, "deployment")
        _model(finding.scope.model, names)
        if finding.scope.run:
            names.give(finding.scope.run, "run")
    return names


def _model(name: str, names: Names) -> None:
    if is_public_model(name):
        names.keep(name)
    elif name:
        names.alias(PurePath(name).name, names.give(name, "model"))


def _walk(value: T, names: Names) -> T:
    """A copy in which every text is scrubbed, whatever holds it."""
    walked: Any = value
    if isinstance(value, Struct):
        own = {field: getattr(value, field) for field in value.__struct_fields__}
        changed = {k: v if k in _OWN_WORDS else _walk(v, names) for k, v in own.items()}
        walked = replace(value, **changed)
    elif isinstance(value, Enum):
        walked = value
    elif isinstance(value, str):
        walked = scrub(terminal(value), names)
    elif isinstance(value, dict):
        walked = {_walk(k, names): _walk(v, names) for k, v in value.items()}
    elif isinstance(value, tuple):
        walked = tuple(_walk(v, names) for v in value)
    elif isinstance(value, list):
        walked = [_walk(v, names) for v in value]
    return walked  # type: ignore[no-any-return]


def _finish(report: Report) -> Report:
    """What is decided by its place and not by its shape."""
    inputs = tuple(
        replace(
            i,
            engine=i.engine if i.engine and _ENGINE.fullmatch(i.engine) else None,
            engine_version=i.engine_version
            if i.engine_version and _VERSION.fullmatch(i.engine_version)
            else None,
        )
        for i in report.inputs
    )
    # A base of runbook links is an address inside a company.
    findings = tuple(
        replace(f, runbook=f"diagnose explain {f.rule}", team_runbook=None) for f in report.findings
    )
    # A baseline is a path or an address.
    compared = report.comparison
    if compared is not None:
        compared = replace(compared, asked=compared.asked.partition(" ")[0])
    return replace(report, inputs=inputs, findings=findings, comparison=compared)
