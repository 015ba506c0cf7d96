"""What to collect next: at most three commands that would settle what is still open, in the user's own names."""

from __future__ import annotations

import shlex

from diagnostics.execute import bench, bench_replay
from diagnostics.execute.facts import Facts
from diagnostics.model.report import Verdict
from diagnostics.model.samples import Resolution
from diagnostics.signals.telemetry import POD_LABELS

MOST = 3
_DUMP_SECONDS = 30
# Port, page of the metrics and what the server needs for it to be there.
_PAGES = {
    "vllm": ("8000", "/metrics", ""),
    "sglang": ("30000", "/metrics", "--enable-metrics"),
    "tgi": ("80", "/metrics", ""),
    "llama.cpp": ("8080", "/metrics", "--metrics"),
    "tensorrt-llm": ("8000", "/prometheus/metrics", ""),
    "lmdeploy": ("23333", "/metrics", "--enable-metrics"),
}
# Pages on which a server tells how it was started.
_CONFIGURATION_PAGES = {"sglang": "server_info", "tgi": "info", "llama.cpp": "props"}
_PROCESSES = {"vllm": "vllm serve|api_server", "tensorrt-llm": "trtllm-serve", "lmdeploy": "lmdeploy serve"}
# Where a setting was learnt from which the others can be told: what is not in there has its default.
_WHOLE = ("asked", "command", "manifest", "non-default", "server_args", "answer", "labels of")
# A server that said one of these and nothing after it has no pages.
_NOT_STARTED = frozenset({"kv-refused", "memory-not-free", "tp-indivisible", "out-of-memory", "engine-dead"})


def collect_next(facts: Facts, verdict: Verdict) -> tuple[str, ...]:
    """Commands for a deployment whose verdict is open or unsure; empty when the data were enough.

    Args:
        facts: what was seen.
        verdict: what came of it.
    """
    thin = not facts.size or max(facts.resolution) is not Resolution.RANGE
    no_metrics = not facts.size or not (facts.has("ttft") | facts.has("itl")).any()
    if verdict.status == "healthy" or not (thin or no_metrics or facts.runs):
        return ()
    found = [_replay(facts)] if facts.runs else []
    if not (thin or no_metrics):
        return tuple(found)
    serves = not _never_started(facts)
    if serves:
        found.append(_dumps(facts))
    if not _configured(facts):
        found += _configuration(facts, serves)
    if no_metrics and (pod := _pod(facts)):
        found.append(f"kubectl logs {pod} {'--since=30m' if serves else '--previous'} | diagnose -")
    return tuple(found[:MOST])


def _never_started(facts: Facts) -> bool:
    """Whether all that was seen of a server is that it refused to start."""
    kinds = {event.kind for event in facts.events}
    seen = any(facts.has(signal).any() for signal in ("running", "waiting", "up"))
    return bool(kinds & _NOT_STARTED) and "ready" not in kinds and not seen


def _configured(facts: Facts) -> bool:
    """Whether the whole configuration is known, or at least the cap, for which it is wanted most."""
    if not facts.size:
        return False
    known = [setting for settings in facts.settings for setting in settings.values()]
    cap = any(facts.setting(i, "max_num_seqs", "max_running_requests") for i in range(facts.size))
    return cap or any(word in setting.where for setting in known for word in _WHOLE)


def _port(facts: Facts) -> str:
    port = facts.setting(0, "port") if facts.size else None
    return port.value if port else _PAGES.get(facts.engine, _PAGES["vllm"])[0]


def _address(facts: Facts) -> str:
    """Where the server listens, as far as the input tells."""
    replica = facts.entities[0].replica.rpartition("/")[2] if facts.size else ""
    if ":" in replica and replica.rsplit(":", 1)[1].isdecimal():
        return replica
    host = facts.setting(0, "host") if facts.size else None
    name = host.value if host and host.value not in ("0.0.0.0", "::") else "localhost"  # noqa: S104  compared, not bound
    return f"{name}:{_port(facts)}"


def _dumps(facts: Facts) -> str:
    """Scrapes some time apart; of a pod through a port of one's own, since its address is the cluster's."""
    _, page, needs = _PAGES.get(facts.engine, _PAGES["vllm"])
    pod, port = _pod(facts), shlex.quote(_port(facts))
    address = f"localhost:{_port(facts)}" if pod else _address(facts)
    forward = f"kubectl port-forward {pod} {port} & sleep 3; " if pod else ""
    url = shlex.quote(f"http://{address}{page}")
    note = f" # needs {needs} on the server" if needs else ""
    return (
        f"{forward}for i in 1 2 3 4 5 6; do curl -s {url} > metrics_$i.txt; sleep {_DUMP_SECONDS}; done;"
        f" diagnose metrics_*.txt --interval {_DUMP_SECONDS}s{note}"
    )


def _replay(facts: Facts) -> str:
    """A benchmark with production's lengths and arrival rate where they are known; else one that can be relied on."""
    model = next((run.model for run in bench.measured(facts) if run.model), None)
    return bench_replay.command(facts, model, _address(facts))


def _pod(facts: Facts) -> str:
    """A pod as kubectl wants it named, when the replicas are known by one."""
    if not facts.size or facts.entities[0].named_by not in POD_LABELS:
        return ""
    space, _, name = facts.entities[0].replica.rpartition("/")
    return (f"-n {shlex.quote(space)} " if space else "") + shlex.quote(name)


def _configuration(facts: Facts, serves: bool) -> list[str]:
    """How the server was started, which no metric of most engines carries; nothing where the engine is not known."""
    beside = f" metrics_*.txt --interval {_DUMP_SECONDS}s" if serves else ""
    if pod := _pod(facts):
        return [f"kubectl get pod {pod} -o yaml | diagnose -{beside}"]
    if serves and (page := _CONFIGURATION_PAGES.get(facts.engine)):
        return [f"curl -s {shlex.quote(f'http://{_address(facts)}/{page}')} | diagnose -{beside}"]
    if serves and (process := _PROCESSES.get(facts.engine)):
        return [f"pgrep -af '{process}' | cut -d' ' -f2- | diagnose -{beside}"]
    return []
