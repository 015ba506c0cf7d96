"""What to collect next: at most three commands that would settle what is still open, in the user's own names."""

from __future__ import annotations

import shlex

from diagnostics.execute import bench, bench_replay
from diagnostics.execute.facts import Facts
from diagnostics.model.report import Verdict
from diagnostics.model.samples import Resolution

MOST = 3
_PORTS = {"vllm": "8000", "sglang": "30000", "tgi": "80", "llama.cpp": "8080"}
_DUMP_SECONDS = 30


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
    found.append(_dumps(facts))
    if facts.size and not any(
        facts.setting(i, "max_num_seqs", "max_running_requests") for i in range(facts.size)
    ):
        found.append(_configuration(facts))
    if no_metrics and (pod := _pod(facts)):
        found.append(f"kubectl logs {pod} --since=30m | diagnose -")
    return tuple(found[:MOST])


def _address(facts: Facts) -> str:
    """Where the server listens, as far as the input tells."""
    replica = facts.entities[0].replica.rpartition("/")[2] if facts.size else ""
    if ":" in replica and replica.rsplit(":", 1)[1].isdigit():
        return replica
    host = facts.setting(0, "host") if facts.size else None
    port = facts.setting(0, "port") if facts.size else None
    name = host.value if host and host.value not in ("0.0.0.0", "::") else "localhost"  # noqa: S104  compared, not bound
    return f"{name}:{port.value if port else _PORTS.get(facts.engine, '8000')}"


def _dumps(facts: Facts) -> str:
    """Two scrapes some time apart; SGLang publishes nothing unless it is told to."""
    url = shlex.quote(f"http://{_address(facts)}/metrics")
    note = " # needs --enable-metrics on the server" if facts.engine == "sglang" else ""
    return (
        f"for i in 1 2 3 4 5 6; do curl -s {url} > metrics_$i.txt; sleep {_DUMP_SECONDS}; done;"
        f" diagnose metrics_*.txt --interval {_DUMP_SECONDS}s{note}"
    )


def _replay(facts: Facts) -> str:
    """A benchmark with production's lengths and arrival rate where they are known; else one that can be relied on."""
    model = next((run.model for run in bench.measured(facts) if run.model), None)
    return bench_replay.command(facts, model, _address(facts))


def _pod(facts: Facts) -> str:
    """A pod as kubectl wants it named, when the replicas are known by one."""
    space, _, name = (facts.entities[0].replica if facts.size else "").rpartition("/")
    if ":" in name or name in ("", "replica"):
        return ""
    return (f"-n {shlex.quote(space)} " if space else "") + shlex.quote(name)


def _configuration(facts: Facts) -> str:
    """The launch command, which no metric of vLLM or SGLang carries."""
    if pod := _pod(facts):
        return f"kubectl get pod {pod} -o yaml | diagnose - metrics_*.txt --interval {_DUMP_SECONDS}s"
    if facts.engine == "sglang":
        return f"curl -s {shlex.quote(f'http://{_address(facts)}/server_info')} > server_info.json"
    return "ps -o args= -C vllm > command.txt # then give command.txt beside the metrics"
